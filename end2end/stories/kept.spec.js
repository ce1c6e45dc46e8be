// A session that ends while something is typed: nothing of it is lost, and nothing is sent by itself.

import { expect, signIn, test } from '../harness/test.js';
import { world } from '../harness/world.js';

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ role: null, scripts });

    test('what was typed is in its form again after signing in', async ({ page, baseURL, complaints }) => {
      complaints.expectStatus(401);
      const form = `/wallets/${world().wallets[0].wallet}/goodwill`;
      const reason = 'Three clips were cut short </textarea><script>alert(1)</script> and “nobody” said so';
      await page.goto(form);
      await signIn(page, 'finance');
      await page.getByLabel(/Amount in/u).fill('12.40');
      await page.getByLabel('Because of').selectOption('complaint');
      await page.getByLabel('Reason').fill(reason);

      // The session ends, as it does after a night.
      await page.context().clearCookies();
      await page.getByRole('button', { name: 'Show what it would do' }).click();
      await expect(page.getByText('Your session has ended')).toBeVisible();
      await expect(page.getByText('the form is there again with what you typed')).toBeVisible();
      await signIn(page, 'finance', 'not the password');
      await expect(page.getByRole('alert')).toContainText('do not match');
      await signIn(page, 'finance');

      await expect(page).toHaveURL(`${baseURL}${form}`);
      await expect(page.getByText('Your input was kept; check it and send it again')).toBeVisible();
      await expect(page.getByLabel(/Amount in/u)).toHaveValue('12.40');
      await expect(page.getByLabel('Because of')).toHaveValue('complaint');
      await expect(page.getByLabel('Reason')).toHaveValue(reason);
      await page.getByRole('button', { name: 'Show what it would do' }).click();
      await expect(page).toHaveURL(/\/actions\/act_/u);
      await expect(page.locator('.sentence')).toContainText('Three clips were cut short');
    });
  });
}
