// `npm run shots`: every page, light and dark, wide and narrow, as a picture in target/shots, to be
// looked at by a person. It is no test.

import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from '@playwright/test';
import { launch } from './harness/browser.js';
import { PAGES } from './harness/pages.js';
import { awake } from './harness/test.js';
import { begin, stateOf, world } from './harness/world.js';

const SHOTS = fileURLToPath(new URL('../target/shots', import.meta.url));
const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } };

await rm(SHOTS, { recursive: true, force: true });
await mkdir(SHOTS, { recursive: true });
const end = await begin();
const browser = await chromium.launch(launch());
try {
  for (const { name, path, role } of PAGES) {
    const storageState = role ? stateOf(role) : undefined;
    const context = await browser.newContext({ baseURL: world().address, storageState });
    const page = await context.newPage();
    await page.goto(path(world()));
    await awake(page);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      for (const [size, viewport] of Object.entries(SIZES)) {
        await page.setViewportSize(viewport);
        const file = `${name.replaceAll(/[^a-z]+/gu, '-')}-${colorScheme}-${size}.png`;
        await page.screenshot({ path: `${SHOTS}/${file}`, fullPage: true, animations: 'disabled' });
      }
    }
    await context.close();
    console.log(name);
  }
} finally {
  await browser.close();
  await end();
}
