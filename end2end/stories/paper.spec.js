// The proof of a job on paper: whole, black on white, and signed with who printed it.

import { expect, test } from '../harness/test.js';
import { emailOf, world } from '../harness/world.js';

const ids = (page) => page.locator('.id').evaluateAll((all) => all.map((one) => one.innerText.trim()));

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ scripts, colorScheme: 'dark' });

    test('nothing of a proof is folded, cut or dark', async ({ page }) => {
      const job = world().shown.job;
      await page.goto(`/jobs/${job}`);
      await page.getByRole('link', { name: 'Print the proof' }).click();
      await expect(page).toHaveURL(new RegExp(`/jobs/${job}/print$`, 'u'));
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });

      const head = page.locator('.printed');
      await expect(head).toContainText(job);
      await expect(head).toContainText(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/u);
      await expect(head).toContainText(emailOf('finance'));
      await expect(page.getByText('This is how it prints')).toBeHidden();
      await expect(page.getByRole('navigation', { name: 'Console' })).toHaveCount(0);

      const shown = await ids(page);
      expect(shown.length).toBeGreaterThan(3);
      for (const id of shown) expect(id).not.toContain('…');
      for (const pre of await page.locator('.json pre').all()) await expect(pre).toBeVisible();

      // What is wider than a sheet would be cut off: A4 has 794 pixels, less its margins.
      await page.setViewportSize({ width: 718, height: 1000 });
      const cut = await page.evaluate(() => {
        const clipped = (one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible';
        const wide = [...document.querySelectorAll('main *')].filter(
          (one) => !one.closest('.unseen') && (one.getBoundingClientRect().right > innerWidth + 1 || clipped(one)),
        );
        return wide.map((one) => `${one.tagName}.${one.className}: ${one.textContent.slice(0, 60)}`);
      });
      expect(cut).toEqual([]);
      const [ink, paper] = await page.evaluate(() => {
        const style = getComputedStyle(document.body);
        return [style.color, style.backgroundColor];
      });
      expect([ink, paper]).toEqual(['rgb(0, 0, 0)', 'rgb(255, 255, 255)']);
    });

    test('the page on the screen prints without its rail, and unfolded', async ({ page }) => {
      await page.goto(`/jobs/${world().shown.job}`);
      await page.emulateMedia({ media: 'print' });
      await expect(page.locator('.rail')).toBeHidden();
      await expect(page.locator('.printed')).toBeVisible();
      await expect(page.locator('.json pre').first()).toBeVisible();
      for (const id of await ids(page)) expect(id).not.toContain('…');
    });
  });
}
