// A job about which nothing is heard: its provider is asked, says that the work goes on, and then that it is
// done; the answer is settled like a webhook. With and without scripts.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { violations } from '../harness/axe.js';
import { jobEvent, settled, submit } from '../harness/sender.js';
import { expect, test } from '../harness/test.js';
import { quittance } from '../harness/world.js';

const LOOKS = [
  { scripts: 'on', theme: 'light', width: 1280 },
  { scripts: 'on', theme: 'dark', width: 390 },
  { scripts: 'off', theme: 'dark', width: 1280 },
];

const TOKEN = 'token-of-the-stories';

/** What the provider says of each reference. */
const answers = new Map();

// One provider answers for the source, so the looks come one after the other.
test.describe.configure({ mode: 'serial' });

let provider;

test.beforeAll(async () => {
  provider = createServer(({ url, headers }, response) => {
    const answer = answers.get(decodeURIComponent(url.replace('/jobs/', '')));
    const status = headers.authorization === `Bearer ${TOKEN}` ? (answer ? 200 : 404) : 401;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}));
  });
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const url = `http://127.0.0.1:${provider.address().port}`;
  await quittance(['source', 'answers', 'set', 'acme', '--url', url], TOKEN);
});

test.afterAll(() => {
  provider.close();
  provider.closeAllConnections();
});

/** Presses the button until the provider may be asked again. */
async function ask(page, path, job, said) {
  await expect(async () => {
    await page.goto(path);
    await page.locator(`form[action="/jobs/${job.id}/ask"]`).getByRole('button').click();
    await expect(page.locator('.flash')).toContainText(said, { timeout: 3000 });
  }).toPass({ intervals: [1000] });
}

for (const { scripts, theme, width } of LOOKS) {
  test.describe(`scripts ${scripts}, ${theme}, ${width} wide`, () => {
    test.use({ scripts, colorScheme: theme, viewport: { width, height: 900 } });

    test('a provider is asked about a silent job, and its answer is settled', async ({ page, javaScriptEnabled }) => {
      // axe is a script.
      const isAccessible = async () => {
        if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
      };
      const job = await submit();
      await ask(page, '/uncertain?hours=0', job, 'it knows no such work');
      await expect(page).toHaveURL(/\/uncertain\?hours=0/u);
      await isAccessible();

      answers.set(job.reference, jobEvent('job.started', job));
      await ask(page, `/jobs/${job.id}`, job, 'the work goes on');
      await isAccessible();

      answers.set(job.reference, jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' } }));
      await ask(page, `/jobs/${job.id}`, job, 'the work has ended');
      await settled(job);
      await page.goto(`/jobs/${job.id}`);
      await expect(page.locator('.object-head')).toContainText('Completed');
      const told = page.getByRole('table', { name: /answer/iu });
      await expect(told).toContainText('Knows no such work');
      await expect(told).toContainText('Goes on');
      await expect(told).toContainText('Has ended');
      await isAccessible();
    });
  });
}
