// Browser stories against a real server. `cargo x test` runs them; so does `npm test` in this
// directory once `cargo x front` and `cargo build` have built what they look at.

import { defineConfig } from '@playwright/test';
import { launch } from './harness/browser.js';
import { OUT } from './harness/world.js';

export default defineConfig({
  testDir: 'stories',
  outputDir: `${OUT}/results`,
  globalSetup: './harness/setup.js',
  fullyParallel: true,
  workers: 2,
  retries: 0,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  forbidOnly: !!process.env.CI,
  reporter: [['list', { printSteps: false }]],
  use: {
    launchOptions: launch(),
    viewport: { width: 1280, height: 900 },
    // Colours are measured, so none may be on its way to another.
    contextOptions: { reducedMotion: 'reduce' },
    screenshot: 'only-on-failure',
    trace: 'retain-on-failure',
  },
});
