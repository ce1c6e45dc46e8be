// Playwright calls this once before all stories, and what it returns once after them.

import { begin } from './world.js';

export default begin;
