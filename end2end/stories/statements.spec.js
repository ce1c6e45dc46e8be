// A provider's statement is uploaded, refused for its errors, corrected, and held against our usage; what
// disagrees becomes an exception that a corrected statement closes. With and without scripts.

import { violations } from '../harness/axe.js';
import { checkEverything, expect, signIn, test } from '../harness/test.js';
import { sql, world } from '../harness/world.js';

/** Each look speaks of a period of its own, long before the demo, so that no other story notices. */
const LOOKS = [
  { scripts: 'on', theme: 'light', width: 1280, from: '2020-01-01', to: '2020-02-01' },
  { scripts: 'on', theme: 'dark', width: 390, from: '2020-02-01', to: '2020-03-01' },
  { scripts: 'off', theme: 'dark', width: 1280, from: '2020-03-01', to: '2020-04-01' },
];

/** What the demo's provider calls a job that it does not state by our name. */
const BATCH = 'render-batch-31';

const HEAD = 'reference,meter,quantity\n';

const liveSource = () => sql(world().database, 'SELECT slug FROM sources WHERE livemode ORDER BY slug LIMIT 1');

/** Fills the form and sends it. */
async function upload(page, { source, from, to }, text) {
  await page.goto('/statements');
  const form = page.locator('#upload');
  await form.getByLabel('Source').selectOption(source);
  await form.getByLabel('First day').fill(from);
  await form.getByLabel('Day after the last').fill(to);
  await form.getByLabel('File').setInputFiles({ name: 'stated.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  await form.getByRole('button', { name: 'Upload and check' }).click();
}

for (const { scripts, theme, width, from, to } of LOOKS) {
  test.describe(`scripts ${scripts}, ${theme}, ${width} wide`, () => {
    test.use({ scripts, role: null, colorScheme: theme, viewport: { width, height: 900 } });

    test('a statement is refused, corrected, disputed and settled', async ({ page, javaScriptEnabled }) => {
      // axe is a script.
      const isAccessible = async () => {
        if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
      };
      await page.goto('/sign-in');
      await signIn(page, 'finance');
      const terms = { source: await liveSource(), from, to };
      const reference = `<b>nobody</b> ${from}`;

      await upload(page, terms, `${HEAD}${reference},images,-1\n`);
      await expect(page.locator('.object-head')).toContainText('Refused');
      await expect(page.locator('#errors-table')).toContainText('quantity of images is negative');
      await isAccessible();

      const stated = `${HEAD}${reference},images,3\n`;
      await upload(page, terms, stated);
      await expect(page.locator('.object-head')).toContainText('Disagrees');
      await expect(page.locator('#groups-table tbody tr')).toContainText(['Missing with us']);
      await expect(page.locator('#groups-table')).toContainText(reference);
      await isAccessible();
      const place = page.url();
      await upload(page, terms, stated);
      await expect(page).toHaveURL(place);
      await expect(page.locator('.flash').filter({ hasText: 'uploaded before' })).toBeVisible();

      await checkEverything(page);
      await page.goto('/exceptions?class=usage_is_as_the_provider_says&state=open');
      const row = page.locator('#exceptions tbody tr').filter({ hasText: reference });
      await row.getByRole('link').first().click();
      await expect(page.locator('.sentence')).toContainText(`states 3 images for ${reference}`);
      await isAccessible();
      const exception = page.url();
      await page.getByRole('link', { name: 'The statement that says so' }).click();
      await expect(page).toHaveURL(place);

      await upload(page, terms, `${HEAD}${reference},images,0\n`);
      await expect(page.locator('.object-head')).toContainText('Agrees');
      await page.goto(place);
      await expect(page.locator('.object-head')).toContainText('Superseded');
      await checkEverything(page);
      await page.goto(exception);
      await expect(page.locator('.object-head')).toContainText('Closed');
    });
  });
}

test.describe('matching by hand, scripts off', () => {
  test.use({ scripts: 'off', role: 'finance' });

  test('what the provider names otherwise is matched, what remains is an exception, and it is taken back', async ({ page }) => {
    const statement = await sql(
      world().database,
      `SELECT 'stmt_' || replace(statement_id::text, '-', '') FROM statement_groups WHERE reference = '${BATCH}'`,
    );
    const open = async () => {
      await page.goto('/exceptions?class=usage_is_as_the_provider_says&state=open');
      return page.locator('#exceptions tbody tr').allInnerTexts();
    };
    await checkEverything(page);
    expect((await open()).filter((row) => row.includes(BATCH))).toHaveLength(1);

    await page.goto(`/statements/${statement}`);
    await page.getByRole('link', { name: 'Match by hand' }).click();
    await page.locator('#theirs').getByRole('checkbox', { name: `Choose ${BATCH}` }).check();
    await page.locator('#ours').getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Show the difference' }).click();
    await expect(page.locator('#chosen').locator('..')).toContainText('They differ by more than is allowed');
    await expect(page.locator('#theirs').getByRole('checkbox', { name: `Choose ${BATCH}` })).toBeChecked();
    await page.getByLabel('Why they are one').fill('They bill a batch under an id of its own');
    await page.getByRole('button', { name: 'Match them' }).click();
    await expect(page.locator('.flash')).toContainText('Matched, and checked anew');
    const row = page.locator('#matches tbody tr').last();
    await expect(row).toContainText('In force');
    await expect(row).toContainText('0.5');
    const id = await row.getAttribute('id');

    await checkEverything(page);
    const matched = await open();
    expect(matched.filter((text) => text.includes(BATCH))).toHaveLength(0);
    expect(matched.filter((text) => text.includes(id))).toHaveLength(1);

    await page.goto(`/statements/${statement}/match`);
    await page.locator('summary').filter({ hasText: id }).click();
    await page.getByLabel('Why it is taken back').fill('It was another batch after all');
    await page.getByRole('button', { name: 'Take it back' }).click();
    await expect(page.locator(`#${id}`)).toContainText('Taken back');
    await checkEverything(page);
    const back = await open();
    expect(back.filter((text) => text.includes(BATCH))).toHaveLength(1);
    expect(back.filter((text) => text.includes(id))).toHaveLength(0);
  });
});

test.describe('support', () => {
  test.use({ role: 'support' });

  test('reads and does not upload', async ({ page, request, baseURL, complaints }) => {
    complaints.expectStatus(403);
    await page.goto('/statements');
    await expect(page.getByRole('button', { name: 'Upload and check' })).toHaveCount(0);
    const file = { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(HEAD) };
    const headers = { origin: baseURL };
    const answer = await request.post('/statements', { multipart: { file }, headers, maxRedirects: 0 });
    expect(answer.status()).toBe(403);
  });
});
