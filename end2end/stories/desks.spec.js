// What the demo leaves on the desks is cleared by someone who has a keyboard and nothing else.

import { checkEverything, expect, signIn, test } from '../harness/test.js';
import { sql, world } from '../harness/world.js';

const CLASS = 'usage_is_as_the_provider_says';

/** More stops than any page should have. */
const MOST = 300;

/** Presses Tab until something has the focus. */
async function tabTo(page, locator) {
  for (let stop = 0; stop < MOST; stop += 1) {
    await page.keyboard.press('Tab');
    if (await locator.evaluate((element) => element === document.activeElement)) return;
  }
  throw new Error(`Tab never comes to ${locator}`);
}

/** Types the end of an action's key, as its page asks for. */
async function typeKey(page) {
  await tabTo(page, page.getByLabel(/^To confirm, type/u));
  await page.keyboard.type(new URL(page.url()).pathname.slice(-6));
}

const LOOKS = [
  { scripts: 'off', theme: 'light', width: 1280, at: 0 },
  { scripts: 'on', theme: 'dark', width: 390, at: 1 },
];

for (const { scripts, theme, width, at } of LOOKS) {
  test.describe(`scripts ${scripts}, ${theme}, ${width} wide`, () => {
    test.use({ scripts, role: null, colorScheme: theme, viewport: { width, height: 900 } });

    test('a difference to the provider is looked at, accepted and closed', async ({ page }) => {
      const found = await sql(
        world().database,
        `SELECT 'exc_' || exception_id FROM exceptions WHERE class = '${CLASS}' AND subject LIKE '%video_seconds%'
         ORDER BY exception_id OFFSET ${at} LIMIT 1`,
      );
      await page.goto('/sign-in');
      await signIn(page, 'finance');
      await page.goto(`/exceptions?class=${CLASS}&state=open`);
      await tabTo(page, page.locator(`#${found}`).getByRole('link').first());
      await page.keyboard.press('Enter');
      await expect(page.locator('.object-head')).toContainText('Someone takes it');
      await tabTo(page, page.getByLabel('Why it may differ'));
      await page.keyboard.type('They count the preview as well, by contract');
      await tabTo(page, page.getByRole('button', { name: 'Accept the difference' }));
      await page.keyboard.press('Enter');
      await expect(page.getByRole('status').filter({ hasText: 'Accepted' })).toBeVisible();
      const place = page.url();
      await checkEverything(page, async (button) => {
        await tabTo(page, button);
        await page.keyboard.press('Enter');
      });
      await page.goto(place);
      await expect(page.locator('.object-head')).toContainText('Closed');
      await expect(page.locator('#notes')).toContainText('accepted the difference');
    });
  });
}

test.describe('scripts off, two people', () => {
  test.use({ scripts: 'off', role: null });

  test('what staff has frozen is lifted by two of them, each with the keyboard alone', async ({ browser, javaScriptEnabled, baseURL }) => {
    const [maker, checker] = await Promise.all(['finance', 'admin'].map(async (role) => {
      const page = await (await browser.newContext({ baseURL, javaScriptEnabled })).newPage();
      await page.goto('/sign-in');
      await signIn(page, role);
      return page;
    }));
    const row = maker.locator('#freezes tbody tr').filter({ hasText: 'Hollow Pine Games' });
    await maker.goto('/freezes');
    await expect(row).toContainText('The bank reports the card as stolen');
    await expect(row).toContainText('Finn Finance');
    await tabTo(maker, row.getByRole('link', { name: 'Lift the freeze' }));
    await maker.keyboard.press('Enter');
    await tabTo(maker, maker.getByLabel('Because of'));
    await maker.keyboard.type('what was wrong is resolved');
    await tabTo(maker, maker.getByLabel('Reason'));
    await maker.keyboard.type('The owner has paid by transfer instead');
    await tabTo(maker, maker.getByRole('button', { name: 'Show what it would do' }));
    await maker.keyboard.press('Enter');
    await expect(maker).toHaveURL(/\/actions\/act_/u);
    await typeKey(maker);
    await tabTo(maker, maker.getByRole('button', { name: 'Send for approval' }));
    await maker.keyboard.press('Enter');
    await expect(maker.getByRole('button', { name: /Approve/u })).toHaveCount(0);
    const action = new URL(maker.url()).pathname;
    await maker.goto('/freezes');
    await expect(row).toHaveCount(1);

    await checker.goto('/approvals');
    await tabTo(checker, checker.locator(`#approvals a[href="${action}"]`).first());
    await checker.keyboard.press('Enter');
    await expect(checker).toHaveURL(action);
    await typeKey(checker);
    await tabTo(checker, checker.getByRole('button', { name: 'Approve: Lift the freeze' }));
    await checker.keyboard.press('Enter');
    await expect(checker.locator('.object-head')).toContainText('Done');
    await maker.goto('/freezes');
    await expect(row).toHaveCount(0);
    await Promise.all([maker, checker].map((page) => page.context().close()));
  });
});
