// What is changed below the application is found, looked after, put right from the console, and closed by
// the run that finds it right. In both themes, wide and narrow, with and without scripts.

import { violations } from '../harness/axe.js';
import { checkEverything, expect, signIn, test } from '../harness/test.js';
import { sql, world } from '../harness/world.js';

/** Each look breaks an account of its own, of test money, so that no other story notices. */
const LOOKS = [
  { scripts: 'on', theme: 'light', width: 1280, account: 'breakage' },
  { scripts: 'on', theme: 'dark', width: 390, account: 'goodwill' },
  { scripts: 'off', theme: 'dark', width: 1280, account: 'receivable' },
];

/** Adds something to a balance, as only the owner of the database can. */
async function tamper(kind) {
  const chosen = `SELECT account_id FROM accounts WHERE kind = '${kind}' AND NOT livemode ORDER BY account_id LIMIT 1`;
  await sql(world().database, `UPDATE balances SET balance = balance + 1 WHERE account_id = (${chosen})`);
  return sql(world().database, `SELECT 'acct_' || replace(account_id::text, '-', '') FROM (${chosen}) AS a`);
}

for (const { scripts, theme, width, account } of LOOKS) {
  test.describe(`scripts ${scripts}, ${theme}, ${width} wide`, () => {
    test.use({ scripts, role: null, colorScheme: theme, viewport: { width, height: 900 } });

    test('an exception is found, taken, put right and closed', async ({ page, javaScriptEnabled }) => {
      // axe is a script.
      const isAccessible = async () => {
        if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
      };
      await page.goto('/sign-in');
      await signIn(page, 'finance');
      const subject = await tamper(account);
      await checkEverything(page);
      await expect(page.locator('#runs tbody tr').first()).toContainText('exception');
      await isAccessible();

      await page.goto('/exceptions?class=balance_is_the_sum_of_its_transfers&state=open');
      const row = page.locator('#exceptions tbody tr').filter({ hasText: subject });
      await row.getByRole('checkbox').check();
      await isAccessible();
      await page.getByRole('button', { name: 'Take' }).click();
      await expect(page.getByRole('status').filter({ hasText: 'Taken' })).toBeVisible();

      await page.goto('/exceptions?class=balance_is_the_sum_of_its_transfers&state=open');
      await row.getByRole('link').first().click();
      await expect(page.locator('.object-head')).toContainText('looks after it');
      await page.getByLabel('Note').fill('Somebody was at the database last night');
      await page.getByRole('button', { name: 'Note it' }).click();
      await expect(page.locator('#notes')).toContainText('Somebody was at the database');
      await isAccessible();

      await page.getByLabel('Reason').fill('The transfers say what it should be');
      await page.getByRole('button', { name: 'Write the balance anew from its transfers' }).click();
      await expect(page.getByRole('status').filter({ hasText: 'the next run closes it' })).toBeVisible();
      const place = page.url();
      await checkEverything(page);
      await page.goto(place);
      await expect(page.locator('.object-head')).toContainText('Closed');
      await expect(page.locator('#notes')).toContainText('did not find it any more');
      await expect(page.getByRole('button', { name: /Write the balance/u })).toHaveCount(0);
      await page.getByRole('link', { name: 'What was put right' }).click();
      await expect(page.locator('#audit tbody tr')).toContainText('Exception repair');
    });
  });
}

test.describe('support', () => {
  test.use({ role: 'support' });

  test('reads and does not act', async ({ page, request, baseURL, complaints }) => {
    complaints.expectStatus(403);
    await page.goto('/reconciliation');
    await expect(page.getByRole('button', { name: 'Check everything now' })).toHaveCount(0);
    const headers = { origin: baseURL };
    for (const [path, form] of [
      ['/reconciliation/run', {}],
      ['/exceptions/act', { id: '1', step: 'take', key: '0'.repeat(32) }],
      ['/exceptions/exc_1/repair', { key: '0'.repeat(32), text: 'I may not' }],
    ]) {
      const answer = await request.post(path, { form, headers, maxRedirects: 0 });
      expect(answer.status(), path).toBe(403);
    }
  });
});
