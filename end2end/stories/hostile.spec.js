// Text that strangers choose: it is shown as text, wherever it appears.

import { deliver, jobEvent, settled, submit, unique } from '../harness/sender.js';
import { awake, expect, test } from '../harness/test.js';

const HOSTILE = [
  `</textarea><script>globalThis.pwned = 1</script>`,
  `"><img src=x onerror="globalThis.pwned = 1">`,
  `' autofocus onfocus='globalThis.pwned = 1`,
  `</title></style><svg onload="globalThis.pwned = 1">`,
  `javascript:globalThis.pwned=1//`,
  `\u202E{{7*7}}<!--`,
];

/** Nothing of it became markup, and nothing of it ran. */
async function expectInert(page) {
  expect(await page.evaluate(() => globalThis.pwned), page.url()).toBeUndefined();
  const planted = page.locator('img[src="x"], svg[onload], [onfocus], [onerror], a[href^="javascript:"], main script');
  await expect(planted, page.url()).toHaveCount(0);
}

for (const [number, text] of HOSTILE.entries()) {
  test(`number ${number} is inert on every page that shows it`, async ({ page }) => {
    const mark = unique('x');
    const job = await submit({
      user: `${text}${mark}`,
      clientRequest: `${text}${mark}-request`,
      reference: `${text}${mark}-task`,
    });
    const failed = jobEvent('job.failed', job, { error: `${text}${mark}-error`, note: text });
    const id = `msg-${mark}`;
    expect(await deliver(failed, { id })).toBeLessThan(300);
    await settled(job, 'released');
    // A type nobody knows, under a name of its own.
    expect(await deliver({ ...failed, type: `${text}${mark}` }, { id: `${id}-type` })).toBeLessThan(300);

    await page.goto(`/jobs/${job.id}`);
    await awake(page);
    await expectInert(page);
    for (const part of ['-request', '-task', '-error']) {
      await expect(page.locator('main')).toContainText(`${mark}${part}`);
    }
    for (const key of [id, `${id}-type`]) {
      await page.goto(`/jump?q=${key}`);
      await expect(page).toHaveURL(/\/events\//u);
      await awake(page);
      await expectInert(page);
      await expect(page.locator('#content')).toContainText(mark);
    }
    const asked = encodeURIComponent(text);
    for (const path of ['/jobs', '/events', '/deliveries', `/jobs?state=${asked}&${asked}=1`, `/jobs?model=${asked}`, `/events?kind=${asked}`, `/jump?q=${asked}`]) {
      await page.goto(path);
      await awake(page);
      await expectInert(page);
    }
  });
}

test.describe('signed out', () => {
  test.use({ role: null });

  test('the sign-in form gives back what was typed as text', async ({ page }) => {
    for (const text of HOSTILE) {
      const asked = encodeURIComponent(text);
      await page.goto(`/sign-in?refused=${asked}&email=${asked}&back=${asked}`);
      await expectInert(page);
      await expect(page.getByLabel('E-mail')).toHaveValue(text);
    }
  });
});
