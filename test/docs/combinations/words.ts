// What has become of the options of a job, in the words of the docs.
import { expect } from '@jest/globals';
import { EVICTED_TTL_MS } from '#queue/runtime/lifetimes.js';
import type { JobRecord } from '#queue/model/job.js';
import { resolveQueueOptions } from '#queue/model/queue-options.js';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { HOUR, type Row } from './rows.js';

/** Describes a waiting job. */
export async function keptWords(
  { options, handler, ahead }: Row,
  job: JobRecord,
  state: TestQueue,
): Promise<string[]> {
  const stored = await state.job(job.id);
  const told = JSON.parse(stored.options ?? '{}') as Record<string, unknown>;
  const words: string[] = [];
  if (options.expiresInMs) {
    words.push(job.expiresAt ? 'keeps its expiry' : 'expires no more');
  }
  if (options.maxAttempts) {
    const agreed = job.maxAttempts === told.maxAttempts;
    words.push(`attempts ${job.attempts} of its ${agreed ? job.maxAttempts : 'two numbers'}`);
  }
  if (options.maxCrashes) {
    words.push(`crashes ${job.crashes} of its ${stored.max_crashes}`);
  }
  if (options.cost) {
    const isKept = stored.cost === String(options.cost);
    expect([told.limitCosts, told.slots]).toEqual([options.limitCosts, options.slots]);
    words.push(isKept ? 'cost kept' : 'cost lost');
  }
  if (options.metadata) {
    expect(job.metadata).toEqual(options.metadata);
    words.push('metadata kept');
  }
  if (options.after) {
    words.push(job.after ? 'waits for the other' : 'waits for no other');
  }
  const waits = job.status === 'scheduled' && job.dueAt ? job.dueAt.getTime() - (await state.now()) : 0;
  if (waits > 1.5 * HOUR) {
    expect([options.backoff, handler?.backoff]).not.toEqual([undefined, undefined]);
    words.push('after its backoff');
  } else if (options.backoff) {
    words.push(told.backoff === options.backoff ? 'backoff kept' : 'backoff lost');
  }
  if (options.timeoutMs) {
    words.push(told.timeoutMs === options.timeoutMs ? 'limit kept' : 'limit lost');
  }
  if (options.keepResult !== undefined) {
    words.push(told.keepResult === false ? 'keeps none' : 'keeps one');
  }
  if (options.resultTtlMs) {
    words.push(told.resultTtlMs === options.resultTtlMs ? 'life kept' : 'life lost');
  }
  if (ahead) {
    words.push(`crashes ${job.crashes}`);
  }
  return words;
}

/** Describes the end of a job that does not wait, and how long it is kept. */
export async function endWords({ options, handler }: Row, job: JobRecord, state: TestQueue): Promise<string[]> {
  const words: string[] = [];
  if (job.status === 'completed' && (options.keepResult ?? handler?.keepResult) !== undefined) {
    words.push(job.result === undefined ? 'no result' : 'a result');
  }
  const { resultTtlMs = handler?.resultTtlMs } = options;
  if (job.status !== 'processing' && resultTtlMs) {
    words.push(await lifeOf(job, state, resultTtlMs));
  }
  return words;
}

async function lifeOf(job: JobRecord, state: TestQueue, own = 0): Promise<string> {
  const life = await state.redis.pttl(state.keys.job(job.id));
  const lives: [longest: number, word: string][] = [
    [-1, 'life without end'],
    [EVICTED_TTL_MS, 'its last 10 s'],
    [resolveQueueOptions('a queue').resultTtlMs, "the queue's life"],
    [own, 'its own life'],
    [Infinity, 'a longer life'],
  ];
  return lives.find(([longest]) => life <= longest)![1];
}
