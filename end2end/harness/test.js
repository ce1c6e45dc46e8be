// The test function of all stories. A page fails its story when the browser complains: an error or
// a warning in the console, a broken content policy, an uncaught exception, a request that fails,
// or one that leaves this site.

import { test as base, expect } from '@playwright/test';
import { emailOf, stateOf, world } from './world.js';

export { expect };

/** How much of the page's scripts run: all, all but the WASM, or none. */
export const SCRIPTS = ['on', 'blocked', 'off'];

export const test = base.extend({
  /** Who is signed in; `null` for nobody. */
  role: ['finance', { option: true }],
  /** One of {@link SCRIPTS}. */
  scripts: ['on', { option: true }],

  baseURL: async ({}, use) => use(world().address),
  storageState: async ({ role }, use) => use(role ? stateOf(role) : undefined),
  javaScriptEnabled: async ({ scripts }, use) => use(scripts !== 'off'),

  /** Complaints of the browser, and the statuses a story brings about on purpose. */
  complaints: async ({ scripts, baseURL }, use) => {
    const found = [];
    const expected = new Set();
    const origins = [baseURL];
    await use({
      /** An answer with this status is part of the story. */
      expectStatus: (status) => expected.add(status),
      /** So is a second server. */
      expectOrigin: (origin) => origins.push(origin),
      watch: (page) => watch(page, { found, expected, scripts, origins }),
    });
    expect(found, 'complaints of the browser').toEqual([]);
  },

  page: async ({ page, complaints, scripts }, use) => {
    if (scripts === 'blocked') await page.route('**/*.wasm', (route) => route.abort());
    complaints.watch(page);
    await use(page);
  },
});

function watch(page, { found, expected, scripts, origins }) {
  const blocked = (url) => scripts === 'blocked' && url.endsWith('.wasm');
  page.on('pageerror', (error) => {
    // The glue says once that it could not load; nothing else may be said.
    if (scripts === 'blocked' && /fetch/iu.test(error.message)) return;
    found.push(`uncaught: ${error.message}`);
  });
  page.on('console', (message) => {
    if (!['error', 'warning', 'assert'].includes(message.type())) return;
    const from = message.location().url;
    const status = /status of (\d{3})/u.exec(message.text())?.[1];
    if (blocked(from) || expected.has(Number(status))) return;
    // What a page loads ahead goes unused where its scripts do not run.
    if (scripts !== 'on' && message.text().includes('was preloaded using link preload')) return;
    found.push(`console ${message.type()}: ${message.text()} (${from})`);
  });
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText;
    // Leaving a page ends its streams; that is not a failure. Nor is a script that is switched off.
    if (blocked(request.url()) || why === 'net::ERR_ABORTED' || (scripts === 'off' && why === 'csp')) return;
    found.push(`failed: ${request.url()} ${why}`);
  });
  page.on('response', (response) => {
    const status = response.status();
    if (status >= 400 && !expected.has(status)) found.push(`${status}: ${response.url()}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!origins.includes(new URL(url).origin)) found.push(`foreign request: ${url}`);
  });
}

/** Waits until the islands of a page have woken. */
export async function awake(page) {
  await page.locator('html[data-awake]').waitFor({ state: 'attached' });
}

/** Signs in by the form, for stories that need a session of their own. */
export async function signIn(page, role, password = world().password) {
  await page.getByLabel('E-mail').fill(emailOf(role));
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Looks at everything; another story may have a run going on. `press` sends the form by its button. */
export async function checkEverything(page, press = (button) => button.click()) {
  await expect(async () => {
    await page.goto('/reconciliation');
    await press(page.getByRole('button', { name: 'Check everything now' }));
    // The answer comes when the run is over.
    await expect(page.locator('.flash')).toBeVisible({ timeout: 30_000 });
    await expect(page.locator('.flash')).not.toContainText('going on', { timeout: 500 });
  }).toPass();
}

/** Types the end of an action's key, as the page of the action asks for. */
export async function confirm(page) {
  const key = new URL(page.url()).pathname;
  await page.getByLabel(/^To confirm, type/u).fill(key.slice(-6));
}
