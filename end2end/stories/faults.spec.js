// When something is wrong the console says so in its own words, and under load it stays whole.

import { readFile } from 'node:fs/promises';
import { PAGES } from '../harness/pages.js';
import { expect, test } from '../harness/test.js';
import { serve, sql, stateOf, world } from '../harness/world.js';

/** The framework's own scripts follow the document it has finished. */
const WHOLE = /<\/html>(<script[^>]*>[^<]*<\/script>)*\s*$/u;

test('what is not there is said, with the request to ask about', async ({ page, complaints }) => {
  complaints.expectStatus(404);
  await page.goto('/wallets/wallet_unknown');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Nothing is here');
  await expect(page.locator('main')).toContainText(/Request/u);
  await page.getByRole('link', { name: 'To the overview' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
});

test.describe('without the database', () => {
  test.use({ role: null });

  test('a page says that nothing is lost', async ({ page, complaints }) => {
    complaints.expectStatus(503);
    const { spare, home } = world();
    const server = await serve(spare, home);
    complaints.expectOrigin(server.address);
    try {
      await page.goto(`${server.address}/sign-in`);
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
      await sql('postgres', `ALTER DATABASE ${spare} ALLOW_CONNECTIONS false`);
      await sql('postgres', `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${spare}'`);
      // With the cookie of a session the server has to ask the database who this is.
      const { cookies } = JSON.parse(await readFile(stateOf('finance'), 'utf8'));
      await page.context().addCookies(cookies);
      const answer = await page.goto(`${server.address}/jobs`);
      expect(answer.status()).toBe(503);
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('The books cannot be reached');

      await sql('postgres', `ALTER DATABASE ${spare} ALLOW_CONNECTIONS true`);
      await page.getByRole('link', { name: 'Reload' }).click();
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
    } finally {
      await server.stop();
    }
  });
});

test('three hundred pages at once all arrive whole', async ({ request, baseURL }) => {
  const { cookies } = await request.storageState();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const paths = PAGES.filter(({ role, status }) => role === 'finance' && status === 200).map(({ path }) => path(world()));
  const torn = [];
  let next = 0;
  const client = async () => {
    while (next < 300) {
      const path = paths[next++ % paths.length];
      const answer = await fetch(baseURL + path, { headers: { cookie, accept: 'text/html' } });
      const body = await answer.text();
      if (answer.status !== 200 || !WHOLE.test(body)) torn.push(`${path}: ${answer.status}`);
    }
  };
  await Promise.all(Array.from({ length: 20 }, client));
  expect(torn).toEqual([]);
});
