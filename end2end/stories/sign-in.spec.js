// Signing in and out, and what a role may see.

import { deliver, jobEvent, settledJob, submit, unique } from '../harness/sender.js';
import { expect, signIn, test } from '../harness/test.js';
import { emailOf } from '../harness/world.js';

for (const scripts of ['on', 'off']) {
  test.describe(`scripts ${scripts}`, () => {
    test.use({ role: null, scripts });

    test('a wrong password is refused beside the form and the e-mail is kept', async ({ page }) => {
      await page.goto('/sign-in');
      await signIn(page, 'support', 'not the password');
      await expect(page.getByRole('alert')).toContainText('E-mail and password do not match');
      await expect(page.getByLabel('E-mail')).toHaveValue(emailOf('support'));
      await expect(page.getByLabel('Password')).toHaveValue('');
    });

    test('the right one leads to the page that was asked for, and signing out ends it', async ({ page, baseURL }) => {
      await page.goto('/jobs?state=completed');
      await expect(page).toHaveURL(`${baseURL}/sign-in?back=/jobs%3Fstate%3Dcompleted`);
      await signIn(page, 'admin');
      await expect(page).toHaveURL(`${baseURL}/jobs?state=completed`);

      const [session] = await page.context().cookies();
      expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax' });
      await page.getByRole('button', { name: /signed in as/iu }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await expect(page.getByRole('heading', { name: 'Sign in', level: 1 })).toBeVisible();

      // The session is gone on the server, not only from this browser.
      await page.context().addCookies([session]);
      await page.goto('/jobs');
      await expect(page).toHaveURL(/\/sign-in/u);
    });
  });
}

test.describe('signed out', () => {
  test.use({ role: null });

  for (const back of ['//evil.example', '/\\evil.example', 'https://evil.example/', 'javascript:alert(1)', '/a\r\nb: c']) {
    test(`returning to ${JSON.stringify(back)} leads home`, async ({ page, baseURL }) => {
      await page.goto(`/sign-in?back=${encodeURIComponent(back)}`);
      await signIn(page, 'viewer');
      await expect(page).toHaveURL(`${baseURL}/`);
    });
  }

  test('a form of another site cannot act', async ({ request }) => {
    for (const path of ['/sign-in', '/sign-out', '/theme', '/shortcuts']) {
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      const answer = await request.post(path, { headers, form: { theme: 'dark' }, maxRedirects: 0 });
      expect(answer.status(), path).toBe(403);
    }
  });
});

test.describe('roles', () => {
  async function event() {
    const job = await submit();
    const id = unique('msg');
    await deliver(jobEvent('job.started', job, { note: 'what a customer wrote' }), { id });
    return id;
  }

  test.describe('a viewer', () => {
    test.use({ role: 'viewer' });

    test('sees that there is content, and not the content', async ({ page }) => {
      await page.goto(`/jump?q=${await event()}`);
      await expect(page).toHaveURL(/\/events\//u);
      await expect(page.getByText('Your role does not show content')).toBeVisible();
      expect(await page.content()).not.toContain('what a customer wrote');
    });
  });

  test.describe('support', () => {
    test.use({ role: 'support' });

    test('sees the content', async ({ page }) => {
      await page.goto(`/jump?q=${await event()}`);
      await expect(page.locator('#content')).toContainText('what a customer wrote');
    });
  });

  test.describe('everyone', () => {
    test.use({ role: 'viewer' });

    test('sees the money', async ({ page }) => {
      const { id } = await settledJob();
      await page.goto(`/jobs/${id}`);
      await expect(page.getByRole('heading', { level: 1 })).toContainText('0.798');
    });
  });
});
