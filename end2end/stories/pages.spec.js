// Every page, whichever way it is looked at: light and dark, wide and narrow, with all scripts,
// without the WASM and without any.

import { violations } from '../harness/axe.js';
import { walk } from '../harness/keyboard.js';
import { PAGES } from '../harness/pages.js';
import { awake, expect, SCRIPTS, test } from '../harness/test.js';
import { world } from '../harness/world.js';

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };
/** The narrowest window WCAG asks for (1.4.10). */
const NARROWEST = { width: 320, height: 700 };

for (const { name, path, role, status = 200 } of PAGES) {
  for (const scripts of SCRIPTS) {
    test.describe(`${name}, scripts ${scripts}`, () => {
      test.use({ role, scripts });

      test('renders whole in every look', async ({ page, complaints }) => {
        if (status >= 400) complaints.expectStatus(status);
        const asked = [];
        page.on('request', (request) => asked.push(request.url()));
        const answer = await page.goto(path(world()));
        expect(answer.status()).toBe(status);
        if (scripts === 'on') {
          await awake(page);
          await expectIslandsToBeKnown(page);
        }
        expect(asked.length, asked.join('\n')).toBeLessThanOrEqual(8);
        await expect(page.locator('h1')).toHaveCount(1);
        await expect(page.locator('h1')).toBeVisible();
        await expect(page).toHaveTitle(/^.+ · Quittance$/u);

        for (const colorScheme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme });
          for (const size of [WIDE, NARROW]) {
            await page.setViewportSize(size);
            if (scripts !== 'off') await expectAccessible(page, `${colorScheme}, ${size.width} px`);
            await expectNoSidewaysScroll(page, size.width);
          }
        }
        await page.setViewportSize(NARROWEST);
        await expectNoSidewaysScroll(page, NARROWEST.width);
      });

      if (scripts === 'on') onlyWithScripts({ path, status });
    });
  }
}

function onlyWithScripts({ path, status }) {
  test('can be used with the keyboard alone', async ({ page, complaints }) => {
    if (status >= 400) complaints.expectStatus(status);
    await page.goto(path(world()));
    await awake(page);
    for (const size of [WIDE, NARROW]) {
      await page.setViewportSize(size);
      const { stops, faults } = await walk(page);
      expect(faults, `${size.width} px`).toEqual([]);
      expect(stops.length).toBeGreaterThan(1);
      // A page with a rail offers to skip it before anything else.
      if (await page.locator('nav.rail').count()) expect(stops[0].href).toBe('#main');
    }
  });
}

/** The browser only warns of an island that the WASM does not export; it stays dead. */
async function expectIslandsToBeKnown(page) {
  const islands = page.locator('leptos-island');
  const named = await islands.evaluateAll((all) => all.map((island) => island.dataset.component));
  const glue = await (await page.request.get('/pkg/quittance.js')).text();
  const exported = new Set([...glue.matchAll(/^export function (\w+)/gmu)].map(([, word]) => word));
  expect(named.filter((name) => !exported.has(name))).toEqual([]);
}

async function expectAccessible(page, look) {
  expect(await violations(page), look).toEqual([]);
}

async function expectNoSidewaysScroll(page, width) {
  const root = page.locator('html');
  const measure = () => root.evaluate((html) => ({ content: html.scrollWidth, window: html.clientWidth }));
  const { content, window } = await measure();
  expect(content, `the page is wider than a window of ${width} px`).toBeLessThanOrEqual(window);
}

test.describe('titles', () => {
  test.use({ scripts: 'off' });

  test('tell pages apart', async ({ page }) => {
    const seen = new Map();
    for (const { path, role, status } of PAGES) {
      const address = path(world());
      // Filters and roles change what a page shows, not which page it is.
      if (status !== 200 || role !== 'finance' || address.includes('?')) continue;
      await page.goto(address);
      const title = await page.title();
      expect(seen.get(title), title).toBeUndefined();
      seen.set(title, address);
    }
  });
});
