// Who read what is noted, and nobody can unwrite it.

import { deliver, jobEvent, submit, unique } from '../harness/sender.js';
import { expect, signIn, test } from '../harness/test.js';
import { emailOf } from '../harness/world.js';

async function event() {
  const job = await submit();
  const id = unique('msg');
  await deliver(jobEvent('job.started', job), { id });
  return id;
}

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    // A session of its own: what is said once must not be said to another story.
    test.use({ scripts, role: null });

    test('whoever reads a payload is noted, and the chain can be checked', async ({ page }) => {
      const id = await event();
      await page.goto(`/sign-in?back=${encodeURIComponent(`/jump?q=${id}`)}`);
      await signIn(page, 'support');
      await expect(page).toHaveURL(/\/events\/evt_/u);
      const object = new URL(page.url()).pathname.split('/').pop();

      await page.goto(`/audit?object=${object}`);
      const lines = page.locator('#audit tbody tr');
      await expect(lines).toHaveCount(1);
      await expect(lines.first()).toContainText('Payload read');
      await expect(lines.first()).toContainText(emailOf('support'));
      await lines.first().locator(`a[href="/events/${object}"]`).click();
      await expect(page).toHaveURL(new RegExp(`/events/${object}$`, 'u'));

      await page.goto('/audit');
      await page.getByRole('button', { name: 'Check the chain' }).click();
      await expect(page.getByRole('status').filter({ hasText: /The chain holds: \d+ lines/u })).toBeVisible();
    });
  });
}

test.describe('a viewer', () => {
  test.use({ role: 'viewer' });

  test('reads no payload, so nothing is noted', async ({ page }) => {
    const id = await event();
    await page.goto(`/jump?q=${id}`);
    await expect(page).toHaveURL(/\/events\/evt_/u);
    const object = new URL(page.url()).pathname.split('/').pop();
    await page.goto(`/audit?object=${object}`);
    await expect(page.getByText('No lines match these filters')).toBeVisible();
  });
});
