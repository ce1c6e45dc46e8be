// Freezing a tenant and a source: what comes in waits, the product backend is told, and two people lift it.
// No other story uses this tenant or this source.

import { violations } from '../harness/axe.js';
import { api, deliver, jobEvent, settled, submit, unique, WALLET } from '../harness/sender.js';
import { confirm, expect, signIn, test } from '../harness/test.js';
import { world } from '../harness/world.js';

const wallet = () => world().wallets[WALLET.osakaJpy].wallet;

/** A page of someone signed in on their own, with scripts as the story has them. */
async function as(browser, role, { javaScriptEnabled, baseURL }) {
  const context = await browser.newContext({ baseURL, javaScriptEnabled });
  const page = await context.newPage();
  await page.goto('/sign-in');
  await signIn(page, role);
  await expect(page).toHaveURL(`${baseURL}/`);
  return page;
}

/** Fills in the form of a freeze or a lift, and looks at its dry run. */
async function ask(page, reason) {
  await page.getByLabel('Because of').selectOption('suspicion');
  await page.getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: 'Show what it would do' }).click();
  await expect(page).toHaveURL(/\/actions\/act_/u);
}

/** Asks for a lift as one person and approves it as another. */
async function lift(maker, checker, reason) {
  await ask(maker, reason);
  await confirm(maker);
  await maker.getByRole('button', { name: 'Send for approval' }).click();
  await expect(maker.getByRole('button', { name: /Approve/u })).toHaveCount(0);
  const action = new URL(maker.url()).pathname;
  await checker.goto('/approvals');
  await checker.locator(`#approvals a[href="${action}"]`).click();
  await confirm(checker);
  await checker.getByRole('button', { name: 'Approve: Lift the freeze' }).click();
  await expect(checker.locator('.object-head')).toContainText('Done');
}

/** What the API answers to another job of the tenant. */
function another() {
  const body = {
    client_request_id: unique('order'),
    user: 'user-1',
    wallet: wallet(),
    model: 'motion-2',
    estimate: { video_seconds: '1' },
    source: 'acme',
  };
  return api('POST', '/v1/jobs', body, WALLET.osakaJpy);
}

test.describe('scripts off', () => {
  test.use({ scripts: 'off', role: null });

  test('a frozen tenant gets no jobs, and what was said of its jobs is settled after the lift', async ({ browser, javaScriptEnabled, baseURL }) => {
    const maker = await as(browser, 'finance', { javaScriptEnabled, baseURL });
    const checker = await as(browser, 'admin', { javaScriptEnabled, baseURL });
    const job = await submit({ wallet: WALLET.osakaJpy });

    await maker.goto(`/wallets/${wallet()}`);
    await maker.getByRole('link', { name: 'Freeze the tenant' }).click();
    const reason = `Charged back twice, ${unique('case')}`;
    await ask(maker, reason);
    await maker.getByRole('button', { name: 'Freeze the tenant' }).click();
    await expect(maker.locator('.object-head')).toContainText('Done');
    const refused = await another();
    expect(refused.status).toBe(403);
    expect(refused.body.type).toBe('/problems/wallet-frozen');
    expect(refused.body.detail).toContain(reason);

    expect(await deliver(jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' } }))).toBeLessThan(300);
    const row = maker.locator('#freezes tbody tr').filter({ hasText: 'Osaka Frame Works' });
    await expect(async () => {
      await maker.goto('/freezes');
      await expect(row).toContainText('1 event of 1 job', { timeout: 500 });
    }).toPass();
    await expect(row).toContainText(reason);
    await expect(row).toContainText('Finn Finance');
    await expect(row).toContainText('JPY');
    expect((await api('GET', `/v1/jobs/${job.id}`, undefined, WALLET.osakaJpy)).body.settlement_state).toBe('reserved');
    await maker.goto('/');
    await expect(maker.locator('#waiting')).toContainText('frozen');

    await maker.goto('/freezes');
    await row.getByRole('link', { name: 'Lift the freeze' }).click();
    await lift(maker, checker, 'The bank took both of them back');
    await settled(job, 'captured', WALLET.osakaJpy);
    expect((await another()).status).toBe(202);
    await maker.context().close();
    await checker.context().close();
  });
});

test.describe('scripts on', () => {
  test.use({ role: null });

  test('a source is frozen where it is listed', async ({ browser, javaScriptEnabled, baseURL }) => {
    const maker = await as(browser, 'finance', { javaScriptEnabled, baseURL });
    const checker = await as(browser, 'admin', { javaScriptEnabled, baseURL });
    await maker.goto('/sources');
    const row = maker.locator('#sources tr#replicate');
    await row.getByRole('link', { name: 'Freeze' }).click();
    await ask(maker, 'Its signing secret was seen in a log');
    await expect(maker.locator('#held-back')).toContainText('Nothing yet');
    expect(await violations(maker)).toEqual([]);
    await maker.getByRole('button', { name: 'Freeze the source' }).click();
    await maker.goto('/sources');
    await expect(row).toContainText('Frozen: its events wait');
    await maker.goto('/freezes');
    await expect(maker.locator('#freezes')).toContainText('/webhooks/replicate');
    expect(await violations(maker)).toEqual([]);

    await maker.goto('/sources');
    await row.getByRole('link', { name: 'Lift the freeze' }).click();
    await lift(maker, checker, 'The secret has been replaced');
    await maker.goto('/sources');
    await expect(row).toContainText('Accepting');
    await maker.context().close();
    await checker.context().close();
  });
});

test.describe('support', () => {
  test.use({ role: 'support' });

  test('reads and does not act', async ({ page, request, baseURL, complaints }) => {
    complaints.expectStatus(403);
    await page.goto('/freezes');
    await expect(page.getByRole('heading', { name: 'Frozen', level: 1 })).toBeVisible();
    await page.goto('/sources');
    await expect(page.getByRole('link', { name: 'Freeze' })).toHaveCount(0);
    const form = { key: `act_${'0'.repeat(32)}`, action: 'freeze', category: 'other', reason: 'I am not allowed to' };
    const headers = { origin: baseURL };
    const answer = await request.post('/sources/replicate/actions', { form, headers, maxRedirects: 0 });
    expect(answer.status()).toBe(403);
  });
});
