// Finance reads why a job cost what it cost, from the first page down to the last balance. It works
// the same without scripts, because all of it is links and forms.

import { currency, sum } from '../harness/money.js';
import { settledJob } from '../harness/sender.js';
import { expect, test } from '../harness/test.js';

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ scripts });

    test('a list is narrowed by its form, and its address says how', async ({ page }) => {
      await page.goto('/');
      await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Jobs' }).click();
      await page.getByLabel('State', { exact: true }).selectOption('completed');
      await page.getByRole('button', { name: 'Filter', exact: true }).click();
      await expect(page).toHaveURL(/\/jobs\?.*state=completed/u);
      const states = page.locator('#jobs tbody .badge');
      await expect(states.first()).toBeVisible();
      expect([...new Set(await states.allTextContents())]).toEqual(['Completed']);

      // The address alone is the state of the page.
      await page.goto(page.url());
      await expect(page.getByLabel('State', { exact: true })).toHaveValue('completed');
      await page.getByRole('link', { name: 'Remove filter state completed' }).click();
      await expect(page).toHaveURL(/\/jobs\??$/u);
      await expect(page.getByRole('link', { name: /^Remove filter/u })).toHaveCount(0);
    });

    test('a filter that cannot be understood is said, not dropped', async ({ page }) => {
      await page.goto('/jobs?state=done&colour=red');
      const notice = page.getByRole('status').filter({ hasText: 'left out' });
      await expect(notice).toContainText('done');
      await expect(notice).toContainText('colour');
      await expect(page.locator('#jobs tbody tr').first()).toBeVisible();
    });

    test('older and newer pages meet without a gap', async ({ page }) => {
      const ids = () => page.locator('#jobs .row-link').evaluateAll((rows) => rows.map((row) => row.getAttribute('href')));
      await page.goto('/jobs');
      const first = await ids();
      await page.getByRole('link', { name: 'Older' }).click();
      await expect(page).toHaveURL(/page=o/u);
      const second = await ids();
      expect(second.filter((id) => first.includes(id))).toEqual([]);
      await page.getByRole('link', { name: 'Newer' }).click();
      await expect(page).toHaveURL(/page=n/u);
      expect(await ids()).toEqual(first);
    });

    test('the whole proof of a job stands on its page and adds up', async ({ page }) => {
      const { id, clientRequest } = await settledJob();
      await page.goto('/jobs');
      await page.locator(`#jobs a[href="/jobs/${id}"]`).click();
      await expect(page.getByRole('heading', { level: 1 })).toHaveText(/Captured 0\.798 USD/u);
      const sentence = page.locator('.sentence');
      for (const words of ['0.95', '8.4', '0.798', '0.152']) await expect(sentence).toContainText(words);

      const proof = page.getByRole('list', { name: 'How this job came to what it cost' });
      await expect(proof).toContainText(clientRequest);
      const titles = await proof.getByRole('heading', { level: 3 }).allTextContents();
      expect(titles.map((title) => title.trim())).toEqual(
        expect.arrayContaining(['accepted', 'reserve/1', 'job.succeeded', 'usage', 'capture/1', 'completed']),
      );
      const keys = await proof.locator('.id', { hasText: `${id}/` }).allTextContents();
      expect(keys.map((key) => /job_\w+\/(\w+\/\d+)/u.exec(key)?.[1])).toEqual(['reserve/1', 'capture/1']);

      expect(await moved(proof.locator('#reserve-1'))).toMatchObject({ available: sum('-0.95'), held: sum('0.95') });
      expect(await moved(proof.locator('#capture-1'))).toMatchObject({
        available: sum('0.152'),
        held: sum('-0.95'),
        revenue: sum('0.798'),
      });
      for (const step of ['#reserve-1', '#capture-1']) await expectBalancesToFollow(proof.locator(step));
    });

    test("a wallet's running balances end at what its head says", async ({ page }) => {
      const { id } = await settledJob();
      await page.goto(`/jobs/${id}`);
      await page.getByRole('link', { name: 'Wallet Post-production' }).click();
      const available = sum(await page.getByRole('heading', { level: 1 }).textContent());
      const rows = await ledger(page);
      expect(rows.find((row) => row.after.available !== null).after.available).toBe(available);
      expect(rows.filter((row) => row.subject.includes(id)).map((row) => row.key)).toEqual(
        ['capture/1', 'capture/1', 'reserve/1'],
      );

      // Each line's balance is the one below it and what the line moved.
      for (const account of ['available', 'held']) {
        const own = rows.filter((row) => row.from === account || row.to === account);
        for (const [at, row] of own.slice(0, -1).entries()) {
          const change = row.to === account ? row.amount : -row.amount;
          expect(row.after[account], `${account} after ${row.key}`).toBe(own[at + 1].after[account] + change);
        }
      }
      await expect(page.getByText('debits equal credits')).toBeVisible();
    });
  });
}

/** What the transfers of a step add to each account. */
async function moved(step) {
  const total = {};
  for (const cells of await cellsOf(step.locator('.moves tr'))) {
    if (cells[0] === 'balance') continue;
    const [from, to] = cells[1].split(/\W+to\W+/u).map((word) => word.trim());
    expect(currency(cells[2])).toBe('USD');
    total[from] = (total[from] ?? 0n) - sum(cells[2]);
    total[to] = (total[to] ?? 0n) + sum(cells[2]);
  }
  return total;
}

/** The balances of a step differ by exactly what its transfers moved. */
async function expectBalancesToFollow(step) {
  const total = await moved(step);
  const shifts = (await cellsOf(step.locator('.moves tr'))).filter(([entry]) => entry === 'balance');
  expect(shifts.length).toBeGreaterThan(0);
  for (const [, account, text] of shifts) {
    const [before, after] = text.split(/\W+to\W+/u).map(sum);
    expect(after - before, account).toBe(total[account.trim()]);
  }
}

/** The lines of a wallet's ledger, newest first. */
async function ledger(page) {
  const figure = (text) => (/\d/u.test(text) ? sum(text) : null);
  const details = page.locator('#ledger tbody tr').locator('th .detail, td:nth-child(2) .detail');
  const [lines, small] = [await cellsOf(page.locator('#ledger tbody tr')), await details.allTextContents()];
  return lines.map(([, subject, amount, available, held], at) => {
    const [from, to] = small[2 * at].split(' → ');
    const size = sum(amount);
    return {
      subject,
      key: small[2 * at + 1],
      from,
      to,
      amount: size < 0n ? -size : size,
      after: { available: figure(available), held: figure(held) },
    };
  });
}

/** The texts of the cells of some rows. */
const cellsOf = (rows) =>
  rows.evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
