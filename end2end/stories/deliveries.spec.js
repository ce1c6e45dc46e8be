// What a provider gets wrong is visible: who was refused and why, and what contradicts what.

import { api, deliver, jobEvent, settled, submit, unique } from '../harness/sender.js';
import { expect, test } from '../harness/test.js';

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ scripts });

    test('a forged webhook is refused, says why, and changes nothing', async ({ page }) => {
      const job = await submit();
      const rows = page.locator('#deliveries tbody tr');
      await page.goto('/deliveries?outcome=rejected');
      const newest = await rows.first().getAttribute('id');
      const event = jobEvent('job.succeeded', job, { usage: { video_seconds: '9999' } });
      expect(await deliver(event, { forged: true })).toBe(401);

      await page.goto('/deliveries?outcome=rejected');
      expect(await rows.first().getAttribute('id')).not.toBe(newest);
      await expect(rows.first()).toContainText('signature_mismatch');
      await expect(rows.first()).toContainText('No active secret made the signature');
      await expect(rows.first()).toContainText('401');
      const { body } = await api('GET', `/v1/jobs/${job.id}`);
      expect(body).toMatchObject({ settlement_state: 'reserved', captured: '0.00' });
    });

    test('the same event with other content is a conflict that a person can compare', async ({ page }) => {
      const job = await submit();
      const id = unique('msg');
      const event = jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' } });
      expect(await deliver(event, { id })).toBeLessThan(300);
      const before = await settled(job);
      event.data.usage.video_seconds = '9.9';
      expect(await deliver(event, { id })).toBeLessThan(300);
      expect((await api('GET', `/v1/jobs/${job.id}`)).body).toEqual(before);

      await page.goto(`/jobs/${job.id}`);
      await page.getByRole('link', { name: 'Compare both contents' }).click();
      const conflict = page.getByRole('region', { name: 'Same key, other content' });
      const difference = conflict.getByRole('row', { name: /video_seconds/u });
      await expect(difference).toContainText('8.4');
      await expect(difference).toContainText('9.9');
      await expect(page.locator('#attempts')).toContainText('Conflict');

      // Whoever looks at what needs a person finds it too.
      await page.goto('/events?contradicted=true');
      await expect(page.locator('#events tbody')).toContainText(id);
    });

    test('a repeated event is absorbed and counted', async ({ page }) => {
      const job = await submit();
      const id = unique('msg');
      const event = jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' } });
      for (let time = 0; time < 3; time += 1) expect(await deliver(event, { id })).toBeLessThan(300);
      await settled(job);
      await page.goto(`/jobs/${job.id}`);
      await expect(page.locator('.proof')).toContainText('2 duplicates absorbed');
      await expect(page.locator('.proof [id^="capture-"]')).toHaveCount(1);
    });
  });
}

test('the rail leads to what a person has to decide', async ({ page }) => {
  await page.goto('/');
  const desk = page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: /^Contradicted \d+ waiting/u });
  await desk.click();
  await expect(page.locator('#events tbody tr').first()).toContainText('with other content');
});
