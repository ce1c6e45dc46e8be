// The world the stories play in: a database, filled by `quittance demo` from a fixed seed, and the
// server that shows it. The demo has ended before the server starts, so nothing moves unless a
// story moves it.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { request } from '@playwright/test';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Where everything a run leaves behind goes. */
export const OUT = join(ROOT, 'target/end2end');
const NOTE = join(OUT, 'world.json');

/** The staff accounts of the demo, one a role. */
export const ROLES = ['admin', 'finance', 'support', 'viewer'];
export const emailOf = (role) => `${role}@demo.test`;

/** The signed-in browser state of a role. */
export const stateOf = (role) => join(OUT, `${role}.json`);

/** Enough for several pages of every list; rates high enough that each kind of trouble is there. */
const DEMO = [
  ['--jobs', '160'],
  ['--seed', '7'],
  ['--delay', '5ms'],
  ['--conflicts', '0.08'],
  ['--wrong-signatures', '0.08'],
  ['--late-success', '0.05'],
].flat();

/** What the stories need to know of the running world. */
export const world = () => JSON.parse(readFileSync(NOTE, 'utf8'));

/**
 * Makes the world, and returns how to end it.
 * @returns {Promise<() => Promise<void>>}
 */
export async function begin() {
  await rm(OUT, { recursive: true, force: true });
  const home = join(OUT, 'home');
  await mkdir(home, { recursive: true });
  const database = await createDatabase('stories');
  const ends = [() => dropDatabase(database)];
  const end = async () => {
    for (const step of ends.reverse()) await step();
  };
  try {
    await demo(database, home);
    const shown = await choose(database);
    const spare = await createDatabase('spare', database);
    ends.push(() => dropDatabase(spare));
    const server = await serve(database, home);
    ends.push(server.stop);
    const { password, purses, mailboxes } = JSON.parse(await readFile(join(home, 'demo.json'), 'utf8'));
    const wallets = purses.map(({ wallet, api_key }) => ({ wallet, apiKey: api_key }));
    const note = { address: server.address, home, database, spare, shown, password, wallets, sources: mailboxes };
    await writeFile(NOTE, JSON.stringify(note, null, 2));
    for (const role of ROLES) await signIn(server.address, role, password);
  } catch (error) {
    await end();
    throw error;
  }
  return end;
}

/** One object of each kind to look at, the richest the demo has made. */
async function choose(database) {
  const id = (prefix, column) => `'${prefix}_' || replace(${column}::text, '-', '')`;
  const pick = async (what, from) => {
    const found = await sql(database, `SELECT ${what} FROM ${from} LIMIT 1`);
    if (!found) throw new Error(`the demo made nothing like this: ${from}`);
    return found;
  };
  const live = 'WHERE livemode';
  const event = "'evt_' || event_id";
  return {
    job: await pick(id('job', 'job_id'), `jobs ${live} ORDER BY adjustment_version DESC, capture_version DESC, job_id`),
    blockedJob: await pick(id('job', 'job_id'), `jobs ${live} AND state = 'blocked' ORDER BY job_id`),
    event: await pick(event, `events ${live} AND state = 'applied' AND kind LIKE 'job.%' ORDER BY event_id`),
    conflict: await pick(event, `conflicts ${live} ORDER BY event_id`),
    exception: await pick("'exc_' || exception_id", "exceptions WHERE state = 'open' ORDER BY exception_id"),
    statement: await pick(id('stmt', 'statement_id'), 'statements WHERE accepted ORDER BY statement_id'),
    settlement: await pick(id('stl', 'settlement_id'), `settlements ${live} AND phase = 'capture' ORDER BY settlement_id`),
    action: await pick(id('act', 'action_id'), `actions ${live} AND state = 'waiting' ORDER BY action_id`),
    wallet: await pick(id('wallet', 'wallet_id'), `wallets ${live} AND currency = 'EUR' ORDER BY wallet_id`),
  };
}

/** Signs a role in, so that stories need not begin with it. */
async function signIn(address, role, password) {
  const browserless = await request.newContext({ baseURL: address });
  const form = { email: emailOf(role), password, back: '/' };
  const answer = await browserless.post('/sign-in', { form, maxRedirects: 0 });
  if (answer.status() !== 303 || answer.headers().location !== '/') {
    throw new Error(`${role} cannot sign in: ${answer.status()} to ${answer.headers().location}`);
  }
  await browserless.storageState({ path: stateOf(role) });
  await browserless.dispose();
}

/** Fills a database and verifies its books. */
async function demo(database, home) {
  const args = ['demo', '--exit', '--data-dir', home, ...DEMO];
  const log = join(OUT, 'demo.log');
  try {
    const { stdout, stderr } = await run(binary(), args, { env: environment(database), maxBuffer: 1 << 26 });
    await writeFile(log, stdout + stderr);
  } catch (error) {
    throw new Error(`quittance demo failed:\n${error.stdout ?? ''}${error.stderr ?? error.message}`);
  }
}

/** Runs a command of the program on the running world's books, and gives it something to read. */
export async function quittance(args, input = '') {
  const { database, home } = world();
  const running = run(binary(), [...args, '--data-dir', home], { env: environment(database) });
  running.child.stdin.end(input);
  return (await running).stdout;
}

/**
 * Starts a server and waits until it is ready.
 * @returns {Promise<{address: string, stop: () => Promise<void>}>}
 */
export async function serve(database, home) {
  const address = `127.0.0.1:${await freePort()}`;
  const args = ['serve', '--listen', address, '--data-dir', home, '--live', '--grace-seconds', '2'];
  const child = spawn(binary(), args, { env: environment(database), stdio: ['ignore', 'pipe', 'pipe'] });
  const log = join(OUT, `server-${child.pid}.log`);
  const kept = createWriteStream(log);
  child.stdout.pipe(kept, { end: false });
  child.stderr.pipe(kept, { end: false });
  const ended = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
    kept.end();
  };
  try {
    await untilReady(`http://${address}/readyz`, child);
  } catch (error) {
    await stop();
    throw new Error(`${error.message}\n${await readFile(log, 'utf8')}`);
  }
  return { address: `http://${address}`, stop };
}

async function untilReady(url, child) {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error('the server ended at once');
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error('the server was not ready within 30 seconds');
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

function binary() {
  return resolve(process.env.QUITTANCE_BIN ?? join(ROOT, 'target/debug/quittance'));
}

function environment(database) {
  return {
    ...process.env,
    DATABASE_URL: addressOf(database),
    LEPTOS_SITE_ROOT: resolve(process.env.SITE_ROOT ?? join(ROOT, 'target/site')),
    QUITTANCE_LOG_FORMAT: 'pretty',
    RUST_LOG: process.env.RUST_LOG ?? 'info',
  };
}

/** The address of another database of the cluster in `DATABASE_URL`. */
function addressOf(database) {
  const given = process.env.DATABASE_URL;
  if (!given) throw new Error('set DATABASE_URL to a PostgreSQL where databases may be created');
  const url = new URL(given);
  url.pathname = `/${database}`;
  return url.href;
}

/** Runs one statement as the cluster's owner. */
export async function sql(database, statement) {
  const psql = process.env.PGBIN ? join(process.env.PGBIN, 'psql') : 'psql';
  const args = ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', '--set', 'ON_ERROR_STOP=1'];
  const { stdout } = await run(psql, [...args, '--dbname', addressOf(database), '--command', statement]);
  return stdout.trim();
}

const existing = () => new URL(process.env.DATABASE_URL ?? 'postgres:///postgres').pathname.slice(1);

async function createDatabase(purpose, template = 'template1') {
  const name = `quittance_${purpose}_${process.pid}`;
  await sql(existing(), `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return name;
}

const dropDatabase = (name) => sql(existing(), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
