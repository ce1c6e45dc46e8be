// Saved views: filters under a name, above their list.

import { unique } from '../harness/sender.js';
import { expect, test } from '../harness/test.js';
import { stateOf } from '../harness/world.js';

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ scripts });

    test('a view is saved, shared, found again, refused twice and deleted', async ({ page, browser, javaScriptEnabled, baseURL }) => {
      const name = `${unique('Motion')} </a><script>alert(1)</script>`.slice(0, 60);
      await page.goto('/jobs');
      await expect(page.getByText(/Save this view/u)).toHaveCount(0);
      await page.goto('/jobs?state=failed&model=motion-2');
      const save = async () => {
        if (!(await page.getByLabel('Name of this view').isVisible())) {
          await page.getByText(/^Save this view/u).click();
        }
        await page.getByLabel('Name of this view').fill(name);
        await page.getByLabel('Who sees it').selectOption('everybody');
        await page.getByRole('button', { name: 'Save the view' }).click();
      };
      await save();
      await expect(page.getByRole('status').filter({ hasText: 'Saved' })).toBeVisible();
      const views = page.getByRole('navigation', { name: 'Saved views' });
      await expect(views.getByText(name)).toHaveAttribute('aria-current', 'page');

      await save();
      await expect(page.getByRole('alert')).toContainText('you have a view of this name here');
      await expect(page.getByLabel('Name of this view')).toHaveValue(name);

      const context = await browser.newContext({ baseURL, javaScriptEnabled, storageState: stateOf('viewer') });
      const other = await context.newPage();
      await other.goto('/jobs');
      await other.getByRole('navigation', { name: 'Saved views' }).getByText(name).click();
      await expect(other).toHaveURL(/\/jobs\?state=failed&model=motion(-|%2D)2$/u);
      await expect(other.getByRole('button', { name: `Delete “${name}”` })).toHaveCount(0);
      await context.close();

      await page.goto('/jobs');
      await page.getByText('Delete a saved view').click();
      await page.getByRole('button', { name: `Delete “${name}”` }).click();
      await expect(page.getByRole('status').filter({ hasText: 'Deleted' })).toBeVisible();
      await expect(page.getByText(name)).toHaveCount(0);
    });
  });
}
