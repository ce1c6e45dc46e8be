// News on open lists: counted, offered, never pushed under the reader's eyes.

import { settledJob } from '../harness/sender.js';
import { awake, expect, test } from '../harness/test.js';

/** Opens a list and waits until its news is heard. */
async function listen(page, path) {
  const stream = page.waitForResponse((response) => response.url().includes('/live?'));
  await page.goto(path);
  await awake(page);
  await stream;
  await expect(page.locator('.live')).toHaveAttribute('data-state', 'listening');
}

const news = (page) => page.getByRole('link', { name: /^\d+ new jobs/u });
const counted = async (page) => Number.parseInt(await news(page).textContent(), 10);

test('a settled job is announced and shown on request', async ({ page }) => {
  await listen(page, '/jobs');
  const before = await page.locator('#jobs .row-link').first().getAttribute('href');
  const { id } = await settledJob();
  await expect(news(page)).toBeVisible();
  // The rows stay where they are until one asks for the new ones.
  expect(await page.locator('#jobs .row-link').first().getAttribute('href')).toBe(before);
  await news(page).click();
  await expect(page.locator(`#jobs a[href="/jobs/${id}"]`)).toBeVisible();
});

test('pausing stops the news, and resuming catches up', async ({ page, context, complaints }) => {
  await listen(page, '/jobs');
  await settledJob();
  await expect(news(page)).toBeVisible();
  await page.getByRole('button', { name: 'Pause' }).click();
  await expect(page.locator('.live')).toHaveAttribute('data-state', 'paused');
  const paused = await counted(page);

  // Another page hears of the next job, so this one would have heard of it too.
  const witness = await context.newPage();
  complaints.watch(witness);
  await listen(witness, '/jobs');
  await settledJob();
  await expect(news(witness)).toBeVisible();
  expect(await counted(page)).toBe(paused);

  await page.getByRole('button', { name: 'Resume' }).click();
  await expect.poll(() => counted(page)).toBeGreaterThan(paused);
});

test.describe('without the WASM', () => {
  test.use({ scripts: 'blocked' });

  test('a list promises no news', async ({ page }) => {
    await page.goto('/jobs');
    await expect(page.getByRole('button', { name: 'Pause' })).toBeHidden();
  });
});
