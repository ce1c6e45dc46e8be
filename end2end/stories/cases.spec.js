// What a machine cannot decide, a person decides, once and with a reason.

import { api, deliver, jobEvent, settled, submit, unique } from '../harness/sender.js';
import { expect, signIn, test } from '../harness/test.js';

/** A job that is settled, and an event of it that came in two contents. */
async function contradicted() {
  const job = await submit();
  const id = unique('msg');
  const event = jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' } });
  expect(await deliver(event, { id })).toBeLessThan(300);
  const before = await settled(job);
  event.data.usage.video_seconds = '9.9';
  expect(await deliver(event, { id })).toBeLessThan(300);
  return { job, id, before };
}

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ scripts, role: null });

    test('keeping what came first closes the case and moves no money', async ({ page }) => {
      const { job, id, before } = await contradicted();
      await page.goto(`/sign-in?back=${encodeURIComponent(`/jump?q=${id}`)}`);
      await signIn(page, 'finance');
      const conflict = page.getByRole('region', { name: 'Same key, other content' });
      await conflict.getByLabel(/Reason/u).fill('too short');
      await conflict.getByRole('button', { name: 'Keep the first' }).click();
      await expect(page.getByRole('alert').filter({ hasText: 'needs a reason' })).toBeVisible();

      await conflict.getByLabel(/Reason/u).fill('The provider confirmed 8.4 seconds by e-mail');
      await conflict.getByRole('button', { name: 'Keep the first' }).click();
      await expect(page.getByRole('status').filter({ hasText: 'What came first stands' })).toBeVisible();
      await expect(conflict).toContainText('kept what came first');
      await expect(conflict.getByRole('button', { name: 'Keep the first' })).toHaveCount(0);
      await expect(page.locator('.object-head')).toContainText('Nothing is due');
      expect((await api('GET', `/v1/jobs/${job.id}`)).body).toEqual(before);
      await page.goto(`/jobs/${job.id}`);
      await expect(page.locator('.object-head')).toContainText('Nothing is due');
      await page.goto('/events?contradicted=true');
      await expect(page.locator('#events tbody')).not.toContainText(id);
    });

    test('a long text that came twice shows the words that differ, struck out and underlined', async ({ page }) => {
      const job = await submit();
      const id = unique('msg');
      const prompt = 'a red fox in the snow, seen from above, in the light of a winter morning, very sharp and calm';
      const event = jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' }, prompt });
      expect(await deliver(event, { id })).toBeLessThan(300);
      event.data.prompt = prompt.replace('red', 'grey <b>');
      event.data.usage.video_seconds = '9.9';
      expect(await deliver(event, { id })).toBeLessThan(300);
      await page.goto(`/sign-in?back=${encodeURIComponent(`/jump?q=${id}`)}`);
      await signIn(page, 'finance');
      const row = page.getByRole('row').filter({ hasText: 'data.prompt' });
      await expect(row).toContainText('1 place in the text differs');
      await expect(row.locator('del')).toHaveText('only first: red');
      await expect(row.locator('ins')).toHaveText('only later: grey <b>');
      await expect(row.locator('ins')).toHaveCSS('text-decoration-line', 'underline');
      await expect(row.locator('del')).toHaveCSS('text-decoration-line', 'line-through');
    });

    test('an event that could not be used is looked at again, or dismissed', async ({ page }) => {
      // A test event for live money is refused each time, whoever asks.
      const job = await submit();
      const id = unique('msg');
      expect(await deliver(jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' } }), { id, source: 'acme-test' })).toBeLessThan(300);
      await page.goto(`/sign-in?back=${encodeURIComponent(`/jump?q=${id}`)}`);
      await signIn(page, 'finance');
      const rejected = page.locator('.object-head').getByText('Rejected');
      await expect(async () => {
        await page.reload();
        await expect(rejected).toBeVisible({ timeout: 500 });
      }).toPass();
      await page.getByLabel('Reason').fill('The price was missing and is there now');
      await page.getByRole('button', { name: 'Look at it again' }).click();
      await expect(page.getByRole('status').filter({ hasText: 'looked at again' })).toBeVisible();
      await expect(async () => {
        await page.reload();
        await expect(rejected).toBeVisible({ timeout: 500 });
      }).toPass();
      expect((await api('GET', `/v1/jobs/${job.id}`)).body).toMatchObject({ captured: '0.00' });

      await page.getByLabel('Reason').fill('Their test system, as they have said');
      await page.getByRole('button', { name: 'Dismiss it' }).click();
      await expect(page.locator('.object-head')).toContainText('Ignored');
      await expect(page.getByRole('region', { name: 'Decision' })).toContainText('decided that it changes nothing');
    });
  });
}
