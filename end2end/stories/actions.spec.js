// Acting on wallets: a form, a dry run, a decision by someone else where the rules ask for one.

import { api, unique, WALLET } from '../harness/sender.js';
import { confirm, expect, signIn, test } from '../harness/test.js';
import { sql, world } from '../harness/world.js';

const wallet = () => world().wallets[WALLET.coursesUsd].wallet;

/** A page of someone signed in on their own, with scripts as the story has them. */
async function as(browser, role, { javaScriptEnabled, baseURL }) {
  const context = await browser.newContext({ baseURL, javaScriptEnabled });
  const page = await context.newPage();
  await page.goto('/sign-in');
  await signIn(page, role);
  await expect(page).toHaveURL(`${baseURL}/`);
  return page;
}

async function ask(page, action, { amount, reason }) {
  await page.goto(`/wallets/${wallet()}/${action}`);
  if (amount) await page.getByLabel('Amount in USD').fill(amount);
  await page.getByLabel('Because of').selectOption('incident');
  await page.getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: 'Show what it would do' }).click();
  await expect(page).toHaveURL(/\/actions\/act_/u);
}

/** Whether the wallet takes a job. */
async function submit() {
  const body = {
    client_request_id: unique('order'),
    user: 'user-1',
    wallet: wallet(),
    model: 'motion-2',
    estimate: { video_seconds: '1' },
    source: 'acme',
  };
  return (await api('POST', '/v1/jobs', body, WALLET.coursesUsd)).status;
}

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ scripts, role: null });

    test('credit is shown before it is posted, and posted once', async ({ browser, javaScriptEnabled, baseURL }) => {
      const page = await as(browser, 'finance', { javaScriptEnabled, baseURL });
      const reason = `A clip was cut short, ${unique('case')}`;
      await ask(page, 'goodwill', { amount: '12.40', reason });
      const proof = page.getByRole('list', { name: 'What it would do' });
      await expect(proof).toContainText(/goodwill → (to )?\s*available/u);
      await expect(proof).toContainText('12.40');
      const form = page.url();
      await page.getByRole('button', { name: 'Post 12.40 USD credit' }).click();
      await expect(page.getByRole('status').filter({ hasText: 'Done' })).toBeVisible();
      await expect(page.locator('.object-head')).toContainText('Done');

      // The form that was left behind in another tab does nothing more.
      await page.goto(form);
      await expect(page.getByRole('button', { name: /Post/u })).toHaveCount(0);
      await page.getByRole('link', { name: 'What it posted' }).click();
      await expect(page).toHaveURL(/\/settlements\/stl_/u);
      await page.goto(`/wallets/${wallet()}`);
      await expect(page.locator('#actions-table')).toContainText(reason);
      await page.context().close();
    });

    test('what is wrong with a form is said beside it, and what was typed is kept', async ({ browser, javaScriptEnabled, baseURL }) => {
      const page = await as(browser, 'finance', { javaScriptEnabled, baseURL });
      await page.goto(`/wallets/${wallet()}/goodwill`);
      await page.getByLabel('Amount in USD').fill('1,50');
      await page.getByLabel('Reason').fill('</textarea><b>short');
      await page.getByRole('button', { name: 'Show what it would do' }).click();
      await expect(page.getByRole('alert')).toContainText('Type an amount such as 12.40');
      await expect(page.getByRole('alert')).toContainText('Choose what kind of reason it is');
      await expect(page.getByLabel('Amount in USD')).toHaveValue('1,50');
      await expect(page.getByLabel('Reason')).toHaveValue('</textarea><b>short');
      await page.context().close();
    });
  });
}

// One wallet is frozen by one story at a time; this one does without JavaScript.
test.describe('scripts off', () => {
  test.use({ scripts: 'off', role: null });

  test('a freeze stops jobs at once, and lifting it takes a second person', async ({ browser, javaScriptEnabled, baseURL }) => {
    const maker = await as(browser, 'finance', { javaScriptEnabled, baseURL });
    const checker = await as(browser, 'admin', { javaScriptEnabled, baseURL });
    expect(await submit()).toBe(202);
    await ask(maker, 'freeze', { reason: 'The card was reported stolen' });
    await maker.getByRole('button', { name: 'Freeze the wallet' }).click();
    await expect(maker.locator('.object-head')).toContainText('Done');
    expect(await submit()).toBe(403);

    await ask(maker, 'unfreeze', { reason: 'The bank has given its word' });
    await maker.getByRole('button', { name: 'Send for approval' }).click();
    await expect(maker.getByText('what was typed is not what is asked for')).toBeVisible();
    await confirm(maker);
    await maker.getByRole('button', { name: 'Send for approval' }).click();
    await expect(maker.getByText('someone else approves or refuses it')).toBeVisible();
    await expect(maker.getByRole('button', { name: /Approve/u })).toHaveCount(0);
    const action = new URL(maker.url()).pathname;

    await checker.goto('/approvals');
    await checker.locator(`#approvals a[href="${action}"]`).click();
    await confirm(checker);
    await checker.getByRole('button', { name: 'Approve: Lift the freeze' }).click();
    await expect(checker.locator('.object-head')).toContainText('Done');
    expect(await submit()).toBe(202);

    await checker.getByRole('link', { name: 'Every step of it' }).click();
    const steps = checker.locator('#audit tbody tr');
    await expect(steps).toHaveCount(3);
    await expect(steps.first()).toContainText('Action approve');
    await maker.context().close();
    await checker.context().close();
  });
});

test.describe('support', () => {
  test.use({ role: 'support' });

  test('reads and does not act', async ({ page, request, baseURL, complaints }) => {
    complaints.expectStatus(403);
    await page.goto(`/wallets/${wallet()}`);
    await expect(page.getByRole('link', { name: 'Give credit' })).toHaveCount(0);
    const form = { key: `act_${'0'.repeat(32)}`, action: 'freeze', category: 'other', reason: 'I am not allowed to' };
    const headers = { origin: baseURL };
    const answer = await request.post(`/wallets/${wallet()}/actions`, { form, headers, maxRedirects: 0 });
    expect(answer.status()).toBe(403);
    // Another story freezes this wallet, so what counts is that this form left nothing.
    expect(await sql(world().database, `SELECT count(*) FROM actions WHERE action_id = '${'0'.repeat(32)}'`)).toBe('0');
  });
});

test.describe('admin', () => {
  test.use({ role: 'admin', scripts: 'off' });

  test('sets a threshold once, however often the form is sent', async ({ page }) => {
    await page.goto('/thresholds');
    const set = async (amount) => {
      await page.getByLabel('Action', { exact: true }).selectOption('goodwill');
      await page.getByLabel('Currency', { exact: true }).selectOption('KWD');
      await page.getByLabel('Alone up to').fill(amount);
      await page.getByRole('button', { name: 'Set it' }).click();
    };
    await set('a lot');
    await expect(page.getByRole('alert').filter({ hasText: 'type an amount' })).toBeVisible();
    await set('12.5');
    await expect(page.getByRole('status').filter({ hasText: 'version 1 is in force' })).toBeVisible();
    await set('12.50');
    await expect(page.getByRole('status').filter({ hasText: 'It is that already' })).toBeVisible();
    await expect(page.locator('#thresholds')).toContainText('12.5');
  });
});
