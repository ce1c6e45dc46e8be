// Any id from anywhere: the palette where scripts run, the form where they do not.

import { deliver, jobEvent, settled, submit, unique } from '../harness/sender.js';
import { awake, expect, signIn, test } from '../harness/test.js';
import { world } from '../harness/world.js';

/** A settled job and every id that leads to something of it. */
async function known() {
  const job = await submit();
  const eventKey = unique('msg');
  await deliver(jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' } }), { id: eventKey });
  await settled(job);
  return { ...job, eventKey };
}

for (const scripts of ['blocked', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ scripts });

    test('the form leads from any id to its page', async ({ page, baseURL }) => {
      const job = await known();
      const jump = async (text) => {
        await page.getByRole('searchbox', { name: /^Jump to/u }).fill(text);
        await page.getByRole('searchbox', { name: /^Jump to/u }).press('Enter');
      };
      await page.goto('/prices');
      for (const id of [job.id, job.clientRequest, job.reference]) {
        await jump(id);
        await expect(page).toHaveURL(`${baseURL}/jobs/${job.id}`);
      }
      const key = await page.locator('#capture-1 .id', { hasText: 'capture/1' }).textContent();
      await jump(key.trim());
      await expect(page).toHaveURL(/\/settlements\/\w+$/u);
      await jump(job.eventKey);
      await expect(page).toHaveURL(/\/events\/\w+$/u);
      await jump(world().wallets[0].wallet);
      await expect(page).toHaveURL(`${baseURL}/wallets/${world().wallets[0].wallet}`);
    });

    test.describe('in a session of its own', () => {
      test.use({ role: null });

      test('what nothing answers to is said', async ({ page }) => {
        await page.goto('/sign-in?back=/jump?q=no-such-thing');
        await signIn(page, 'finance');
        await expect(page.getByRole('alert')).toContainText('Nothing answers to “no-such-thing”');
      });
    });
  });
}

test.describe('palette', () => {
  for (const keys of ['/', 'Control+k']) {
    test(`${keys} opens it, and an id and Enter lead there`, async ({ page, baseURL }) => {
      const job = await known();
      await page.goto('/events');
      await awake(page);
      await page.keyboard.press(keys);
      const dialog = page.getByRole('dialog', { name: 'Jump' });
      await expect(dialog).toBeVisible();
      await expect(dialog.getByRole('combobox')).toBeFocused();
      await page.keyboard.type(job.clientRequest);
      await expect(dialog.getByRole('option').first()).toContainText(job.id);
      await page.keyboard.press('Enter');
      await expect(page).toHaveURL(`${baseURL}/jobs/${job.id}`);
    });
  }

  test('offers the places of the rail, and Escape gives the focus back', async ({ page, baseURL }) => {
    await page.goto('/jobs');
    await awake(page);
    const row = page.locator('.row-link').first();
    await row.focus();
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Jump' });
    await expect(dialog.getByRole('option')).not.toHaveCount(0);
    await page.keyboard.press('Escape');
    await expect(dialog).toBeHidden();
    await expect(row).toBeFocused();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('wall');
    await expect(dialog.getByRole('option').first()).toContainText('Wallets');
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(`${baseURL}/wallets`);
  });

  test('single keys move through rows and to places', async ({ page, baseURL }) => {
    await page.goto('/jobs');
    await awake(page);
    const rows = page.locator('.row-link');
    await page.keyboard.press('j');
    await expect(rows.first()).toBeFocused();
    await page.keyboard.press('j');
    await expect(rows.nth(1)).toBeFocused();
    await page.keyboard.press('k');
    await expect(rows.first()).toBeFocused();
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await expect(page).toHaveURL(`${baseURL}/settlements`);
  });

  test.describe('in a session of its own', () => {
    test.use({ role: null });

    test('single keys can be switched off', async ({ page }) => {
      await page.goto('/sign-in?back=/jobs');
      await signIn(page, 'finance');
      await page.getByRole('button', { name: /signed in as/iu }).click();
      await page.getByRole('button', { name: 'Turn shortcuts off' }).click();
      await expect(page.getByRole('status').filter({ hasText: 'shortcuts are off' })).toBeVisible();
      await awake(page);
      await page.keyboard.press('/');
      await expect(page.getByRole('dialog', { name: 'Jump' })).toBeHidden();
      // A chord is no single key.
      await page.keyboard.press('Control+k');
      await expect(page.getByRole('dialog', { name: 'Jump' })).toBeVisible();
    });
  });
});

test('an id is copied whole, and that is announced', async ({ page, context, baseURL }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: baseURL });
  const job = await submit();
  await page.goto(`/jobs/${job.id}`);
  await awake(page);
  await page.getByRole('button', { name: 'Copy job id' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'Copied' })).toBeAttached();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(job.id);
});
