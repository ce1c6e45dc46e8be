// Correcting what a job was charged: a contradiction becomes an adjustment, someone else approves it, and
// a reversal takes it back. In both themes, wide and narrow, with and without scripts.

import { violations } from '../harness/axe.js';
import { api, deliver, jobEvent, settled, settledJob, submit, unique } from '../harness/sender.js';
import { confirm, expect, signIn, test } from '../harness/test.js';

const LOOKS = [
  { scripts: 'on', theme: 'light', width: 1280 },
  { scripts: 'on', theme: 'dark', width: 1280 },
  { scripts: 'on', theme: 'light', width: 390 },
  { scripts: 'on', theme: 'dark', width: 390 },
  { scripts: 'off', theme: 'light', width: 1280 },
];

/** A page of someone signed in on their own. */
async function as(browser, role, { javaScriptEnabled, baseURL, theme, width }) {
  const context = await browser.newContext({
    baseURL,
    javaScriptEnabled,
    colorScheme: theme,
    viewport: { width, height: 900 },
  });
  const page = await context.newPage();
  await page.goto('/sign-in');
  await signIn(page, role);
  await expect(page).toHaveURL(`${baseURL}/`);
  return page;
}

/** A job that used 8.4 seconds by what came first and 900 by what came later under the same key. */
async function contradicted() {
  const job = await submit();
  const id = unique('msg');
  const event = jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' } });
  expect(await deliver(event, { id })).toBeLessThan(300);
  await settled(job);
  event.data.usage.video_seconds = '900';
  expect(await deliver(event, { id })).toBeLessThan(300);
  return { job, id };
}

const charged = async (job) => (await api('GET', `/v1/jobs/${job.id}`)).body.captured;

for (const { scripts, theme, width } of LOOKS) {
  test.describe(`scripts ${scripts}, ${theme}, ${width} wide`, () => {
    test.use({ scripts, role: null });

    test('a contradiction is adjusted, approved, and reversed', async ({ browser, javaScriptEnabled, baseURL }) => {
      const { job, id } = await contradicted();
      const look = { javaScriptEnabled, baseURL, theme, width };
      const [maker, checker] = [await as(browser, 'finance', look), await as(browser, 'admin', look)];
      const before = await charged(job);
      // axe is a script.
      const isAccessible = async (page) => {
        if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
      };

      await maker.goto(`/jump?q=${id}`);
      const conflict = maker.getByRole('region', { name: 'Same key, other content' });
      await conflict.getByRole('link', { name: /Take what came later, and charge/u }).click();
      await expect(maker.getByLabel('Amount in USD')).not.toHaveValue('');
      await maker.getByLabel('Amount in USD').fill('60');
      await isAccessible(maker);
      await maker.getByRole('button', { name: 'Show what it would do' }).click();
      await expect(maker.getByRole('list', { name: 'What it would do' })).toContainText('60.00');
      await isAccessible(maker);
      await maker.getByRole('button', { name: 'Send for approval' }).click();
      expect(await charged(job)).toBe(before);
      const action = new URL(maker.url()).pathname;

      await checker.goto(action);
      await checker.getByLabel('To confirm, type 60.00 USD').fill('60');
      await checker.getByRole('button', { name: 'Approve: Charge 60.00 USD more' }).click();
      await expect(checker.locator('.object-head')).toContainText('Done');
      expect(Number(await charged(job)) - Number(before)).toBeCloseTo(60, 6);

      await maker.goto(`/jump?q=${id}`);
      await expect(conflict).toContainText('took what came later');
      await maker.goto(`/jobs/${job.id}`);
      await expect(maker.locator('#actions-table')).toContainText('Charge 60.00 USD more');
      await expect(maker.locator('#adjustment-1')).toBeVisible();
      await isAccessible(maker);

      await maker.goto(action);
      await maker.getByRole('link', { name: 'Undo it' }).click();
      await maker.getByLabel('Because of').selectOption('resolved');
      await maker.getByLabel('Reason').fill('The provider took its second report back');
      await maker.getByRole('button', { name: 'Show what it would do' }).click();
      await maker.getByRole('button', { name: 'Send for approval' }).click();
      await checker.goto(new URL(maker.url()).pathname);
      await confirm(checker);
      await checker.getByRole('button', { name: 'Approve: Undo a correction' }).click();
      await expect(checker.locator('.object-head')).toContainText('Done');
      expect(await charged(job)).toBe(before);
      await checker.goto(action);
      await expect(checker.getByRole('link', { name: 'Undo it' })).toHaveCount(0);
      await checker.getByRole('link', { name: 'another entry' }).click();
      await expect(checker.locator('.object-head')).toContainText('Reversed');
      await isAccessible(checker);
      await maker.context().close();
      await checker.context().close();
    });
  });
}

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ scripts, role: null });

    test('a draft that was overtaken says by whom', async ({ browser, javaScriptEnabled, baseURL }) => {
      const job = await settledJob();
      const look = { javaScriptEnabled, baseURL, theme: 'light', width: 1280 };
      const [one, other] = [await as(browser, 'finance', look), await as(browser, 'admin', look)];
      for (const page of [one, other]) {
        await page.goto(`/jobs/${job.id}`);
        await page.getByRole('link', { name: 'Give back a part' }).click();
        await page.getByLabel('Amount in USD').fill('0.10');
        await page.getByLabel('Because of').selectOption('complaint');
        await page.getByLabel('Reason').fill('The clip was cut short');
        await page.getByRole('button', { name: 'Show what it would do' }).click();
      }
      await one.getByRole('button', { name: 'Give back 0.10 USD' }).click();
      await expect(one.getByRole('status').filter({ hasText: 'Done' })).toBeVisible();
      await other.getByRole('button', { name: 'Give back 0.10 USD' }).click();
      const told = other.getByRole('alert').filter({ hasText: 'this changed since' });
      await expect(told).toContainText('adjustment/1 by');
      expect(await charged(job)).toBe('0.698');
      await one.context().close();
      await other.context().close();
    });
  });
}
