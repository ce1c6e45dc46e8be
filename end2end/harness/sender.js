// What machines do: customers submit jobs over the API, providers deliver signed webhooks.

import { createHmac, randomUUID } from 'node:crypto';
import { expect } from '@playwright/test';
import { world } from './world.js';

/** The demo's wallets, in the order of its cast. */
export const WALLET = { filmsUsd: 0, osakaJpy: 1, nordwindEur: 2, coursesUsd: 3, sandboxUsd: 4, poorUsd: 5 };

/** A fresh id that no other story uses. */
export const unique = (word) => `${word}-${randomUUID().slice(0, 8)}`;

/** Calls the Jobs API with a wallet's key. */
export async function api(method, path, body, wallet = WALLET.filmsUsd) {
  const { address, wallets } = world();
  const headers = { authorization: `Bearer ${wallets[wallet].apiKey}`, 'content-type': 'application/json' };
  const answer = await fetch(address + path, { method, headers, body: body && JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}

/**
 * Submits a job of `motion-2` for ten seconds of video.
 * @returns {Promise<{id: string, reference: string, clientRequest: string}>}
 */
export async function submit({
  user = 'user_ada',
  clientRequest = unique('order'),
  reference = unique('task'),
  wallet = WALLET.filmsUsd,
} = {}) {
  const { status, body } = await api('POST', '/v1/jobs', {
    client_request_id: clientRequest,
    user,
    wallet: world().wallets[wallet].wallet,
    model: 'motion-2',
    estimate: { video_seconds: '10' },
    source: 'acme',
  }, wallet);
  expect(status, JSON.stringify(body)).toBe(202);
  const id = body.job.id;
  const attached = await api('PUT', `/v1/jobs/${id}/provider-reference`, {
    source: 'acme',
    provider_reference: reference,
  }, wallet);
  expect(attached.status, JSON.stringify(attached.body)).toBeLessThan(300);
  return { id, reference, clientRequest };
}

/** A job event as the demo's provider `acme` tells it. */
export function jobEvent(type, job, data = {}) {
  return {
    type,
    occurred_at: new Date().toISOString(),
    data: { job_id: job.id, provider_reference: job.reference, model: 'motion-2', ...data },
  };
}

/**
 * Delivers an event, signed after Standard Webhooks v1, and returns the status of the answer.
 * @param {object} event
 * @param {{id?: string, source?: string, forged?: boolean}} how
 */
export async function deliver(event, { id = unique('msg'), source = 'acme', forged = false } = {}) {
  const { address, sources } = world();
  const body = JSON.stringify(event);
  const sentAt = Math.floor(Date.now() / 1000).toString();
  const secret = sources.find(({ slug }) => slug === source).secret;
  const key = forged ? Buffer.alloc(32, 7) : Buffer.from(secret.replace('whsec_', ''), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${sentAt}.${body}`).digest('base64');
  const answer = await fetch(`${address}/webhooks/${source}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': sentAt,
      'webhook-signature': `v1,${mac}`,
    },
    body,
  });
  return answer.status;
}

/** Reads a job until its settlement is in the wanted state. */
export async function settled(job, state = 'captured', wallet = WALLET.filmsUsd) {
  const read = async () => (await api('GET', `/v1/jobs/${job.id}`, undefined, wallet)).body;
  await expect.poll(async () => (await read()).settlement_state, { message: `settlement of ${job.id}` }).toBe(state);
  return read();
}

/** A job that has used 8.4 of the ten seconds it held funds for. */
export async function settledJob(options = {}) {
  const job = await submit(options);
  expect(await deliver(jobEvent('job.succeeded', job, { usage: { video_seconds: '8.4' } }))).toBeLessThan(300);
  await settled(job, 'captured', options.wallet);
  return job;
}
