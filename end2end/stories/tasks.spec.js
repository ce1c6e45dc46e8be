// One decision about many events: rehearsed, started with a reason, and carried out while one looks on.

import { violations } from '../harness/axe.js';
import { api, deliver, jobEvent, submit, unique } from '../harness/sender.js';
import { expect, signIn, test } from '../harness/test.js';

/** A job with two events that cannot be used: nobody has a price for what they tell. */
async function unusable() {
  const job = await submit();
  for (const _ of [1, 2]) {
    const event = jobEvent('job.succeeded', job, { usage: { goodwill: '8.4' } });
    expect(await deliver(event, { id: unique('msg') })).toBeLessThan(300);
  }
  return job;
}

const LOOKS = [
  { scripts: 'on', theme: 'light', width: 1280 },
  { scripts: 'on', theme: 'dark', width: 390 },
  { scripts: 'off', theme: 'dark', width: 1280 },
];

for (const { scripts, theme, width } of LOOKS) {
  test.describe(`scripts ${scripts}, ${theme}, ${width} wide`, () => {
    test.use({ scripts, role: null, colorScheme: theme, viewport: { width, height: 900 } });

    test('many events are looked at again at once', async ({ page, javaScriptEnabled }) => {
      const isAccessible = async () => {
        if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
      };
      const job = await unusable();
      await page.goto('/sign-in');
      await signIn(page, 'finance');
      const list = `/events?state=rejected&job=${job.id}`;
      await expect(async () => {
        await page.goto(list);
        await expect(page.locator('#events tbody tr')).toHaveCount(2, { timeout: 500 });
      }).toPass();
      await isAccessible();
      await page.getByRole('button', { name: 'Look at all of these again' }).click();
      await expect(page.locator('h1')).toContainText('Look at 2 events again');
      await expect(page.locator('.object-head')).toContainText('Not started');
      await expect(page.locator('#items tbody tr')).toHaveCount(2);
      await expect(page.locator('#items')).toContainText('Nothing new');
      await isAccessible();

      await page.getByLabel('Reason').fill('too short');
      await page.getByRole('button', { name: 'Look at 2 events again' }).click();
      await expect(page.getByRole('alert').filter({ hasText: 'needs a reason' })).toBeVisible();
      await page.getByLabel('Reason').fill('The price was missing and is there now');
      await page.getByRole('button', { name: 'Look at 2 events again' }).click();
      await expect(page.getByRole('status').filter({ hasText: 'goes on by itself' })).toBeVisible();
      await expect(async () => {
        await page.reload();
        await expect(page.locator('.object-head').getByText('Done', { exact: true })).toBeVisible({ timeout: 500 });
      }).toPass();
      await isAccessible();
      await expect(page.getByRole('button', { name: 'Stop it' })).toHaveCount(0);
      expect((await api('GET', `/v1/jobs/${job.id}`)).body).toMatchObject({ captured: '0.00' });
      await page.goto('/tasks');
      await expect(page.locator('#tasks tbody tr').first()).toContainText('Look at');
      await isAccessible();
    });
  });
}

test.describe('support', () => {
  test.use({ role: 'support' });

  test('sees tasks and makes none', async ({ page, request, baseURL, complaints }) => {
    complaints.expectStatus(403);
    await page.goto('/events?state=rejected');
    await expect(page.getByRole('button', { name: /Look at all/u })).toHaveCount(0);
    const headers = { origin: baseURL };
    for (const [path, form] of [
      ['/tasks', { kind: 'replay', filter: 'state=rejected', key: '0'.repeat(32) }],
      [`/tasks/task_${'0'.repeat(32)}/start`, { reason: 'I may not do this' }],
    ]) {
      const answer = await request.post(path, { form, headers, maxRedirects: 0 });
      expect(answer.status(), path).toBe(403);
    }
  });
});
