// Light, dark, or as the system has it: chosen once, drawn by the server from then on.

import { awake, expect, test } from '../harness/test.js';

const root = (page) => page.locator('html');
const button = (page) => page.getByRole('button', { name: /^Theme: /u });
const lightness = (page) =>
  page.evaluate(() => {
    const canvas = document.createElement('canvas').getContext('2d');
    canvas.fillStyle = getComputedStyle(document.documentElement).backgroundColor;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data[0];
  });

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ scripts });

    test('the switch goes round, and the choice is kept', async ({ page, request }) => {
      await page.goto('/prices');
      if (scripts === 'on') await awake(page);
      await expect(root(page)).not.toHaveAttribute('data-theme');
      for (const theme of ['light', 'dark']) {
        const kept = page.waitForResponse((response) => response.url().endsWith('/theme'));
        await button(page).click();
        await kept;
        await expect(root(page)).toHaveAttribute('data-theme', theme);
        await expect(page).toHaveURL(/\/prices$/u);
        await page.reload();
        if (scripts === 'on') await awake(page);
        await expect(root(page)).toHaveAttribute('data-theme', theme);
      }

      // No flash: the theme is in the bytes of the page, before any script runs.
      const cookies = await page.context().cookies();
      const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
      const html = await (await request.get('/jobs', { headers: { cookie } })).text();
      expect(html).toMatch(/<html[^>]* data-theme="dark"/u);
      expect(html).toContain('<meta name="color-scheme" content="dark"');

      const kept = page.waitForResponse((response) => response.url().endsWith('/theme'));
      await button(page).click();
      await kept;
      await expect(root(page)).not.toHaveAttribute('data-theme');
    });
  });
}

test('a choice outranks the system, and no choice follows it', async ({ page }) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto('/prices');
  await awake(page);
  expect(await lightness(page)).toBeLessThan(80);
  await button(page).click();
  await expect(root(page)).toHaveAttribute('data-theme', 'light');
  expect(await lightness(page)).toBeGreaterThan(220);
});
