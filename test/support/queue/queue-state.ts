// A queue of one test: runs its scripts one by one, seeds states and reads them. After each test every queue's
// invariants are checked, unless the test declared the queue broken.
import { afterEach, expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { ClaimedJob } from '#queue/model/job.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import type { EncodedJob } from '#queue/store/enqueue-call.js';
import { resolveQueueOptions, type QueueOptions } from '#queue/model/queue-options.js';
import type { FailOutcome } from '#queue/store/call-outcomes.js';
import type { ClaimRequest, UnsealedFailure } from '#queue/store/attempt-forms.js';
import { allCalls, type QueueCalls } from '#queue/scripts/all-calls.js';
import { ScriptRunner, type CommandCall, type ScriptCall } from '#queue/transport/script-runner.js';
import type { Unsealed } from './unsealed.js';
import { violations } from '../invariants/invariants.js';
import { connect, uniqueQueueName } from '../redis/redis.js';
import { keysLike, read } from '../redis/redis-reads.js';

const HOUR = 3_600_000;
const used = new Set<TestQueue>();
let shared: Redis | undefined;

afterEach(async () => {
  const queues = [...used].filter((queue) => !queue.broken);
  used.clear();
  const found = await Promise.all(queues.map((queue) => violations(queue.redis, queue.scripts)));
  expect(found.flat()).toEqual([]);
});

/** The options of a job as a test writes them, see the header of lua/job/enqueue.lua. */
type ScriptOptions = Record<string, unknown>;

/** A job with its options as the script reads them. */
type RawJob = Pick<EncodedJob, 'id' | 'name'> & { payload: string; options?: string };

export class TestQueue {
  readonly keys: QueueKeys;
  /** The calls of the queue. They take plain texts. */
  readonly scripts: Unsealed<QueueCalls>;
  /** Set by a test that leaves the queue in a state that no script produces. */
  broken = false;
  private readonly runner: ScriptRunner;
  private tokens = 0;

  constructor(
    readonly redis: Redis,
    options: QueueOptions,
    readonly name = uniqueQueueName(),
  ) {
    this.keys = new QueueKeys(name, options);
    const calls: unknown = allCalls(this.keys, resolveQueueOptions('test queue', options));
    this.scripts = calls as Unsealed<QueueCalls>;
    this.runner = new ScriptRunner(redis);
  }

  run<Reply>(call: ScriptCall<Reply> | CommandCall<Reply>): Promise<Reply> {
    return this.runner.run(call);
  }

  /** Enqueues one job by the script, and returns the script's reply. */
  async add(id: string, options: ScriptOptions = {}, payload = '{}') {
    const text = Object.keys(options).length > 0 ? JSON.stringify(options) : '';
    const [answer] = await this.run(this.enqueueCall([{ id, name: this.name, payload, options: text }]));
    return answer!;
  }

  /** Returns the call of jobs whose options are written as the script reads them; '' for none. */
  enqueueCall(jobs: readonly RawJob[]) {
    const asked = jobs.map(({ options, ...job }) => (options ? { ...job, options: { request: '' } } : job));
    const call = this.scripts.enqueue(asked);
    const isPlain = asked.every((job) => !('options' in job));
    const args = call.args.map((arg, i) => (i % 4 === 3 ? (jobs[(i - 3) / 4]?.options ?? arg) : arg));
    return isPlain ? call : { ...call, args };
  }

  async addAll(...ids: string[]): Promise<void> {
    await this.run(this.scripts.enqueue(ids.map((id) => ({ id, name: this.name, payload: '{}' }))));
  }

  claimCall(count: number, request: Partial<ClaimRequest> = {}) {
    const token = request.token ?? `token-${++this.tokens}`;
    return this.scripts.claim({ worker: 'worker-1', stream: '0', ...request, count, token });
  }

  async claim(count: number, request: Partial<ClaimRequest> = {}): Promise<ClaimedJob[]> {
    return (await this.run(this.claimCall(count, request))).jobs;
  }

  /** Adds one job to an empty queue and claims it. */
  async addAndClaim(id: string, options: ScriptOptions = {}): Promise<ClaimedJob> {
    await this.add(id, options);
    const [job] = await this.claim(1);
    return job!;
  }

  /** Completes a claimed job. Returns the script's reply. */
  complete(job: ClaimedJob, result = '') {
    return this.run(this.scripts.complete([{ ...job, result }]));
  }

  /** Fails a claimed job, which waits again at once unless `rest` says otherwise. Returns the script's reply. */
  fail(job: ClaimedJob, rest: Partial<UnsealedFailure> = {}): Promise<FailOutcome[]> {
    const error = { name: 'Error', message: 'no' };
    return this.run(this.scripts.fail([{ ...job, error, final: false, backoffMs: 0, ...rest }]));
  }

  /** Makes a dead letter of a new job. The queue must be empty. */
  async bury(id: string, options?: ScriptOptions): Promise<void> {
    await this.fail(await this.addAndClaim(id, options), { final: true });
  }

  /** Expires claims: their scores are in the past, in the order given. */
  async expireClaims(...ids: string[]): Promise<void> {
    const now = await this.now();
    for (const [i, id] of ids.entries()) {
      await this.redis.zadd(this.keys.claims, 'XX', now - HOUR + i, id);
    }
  }

  /** Makes scheduled jobs due since an hour, less `i` ms for the i-th. */
  async makeDue(...ids: string[]): Promise<void> {
    const now = await this.now();
    for (const [i, id] of ids.entries()) {
      await this.redis.zadd(this.keys.scheduled, 'XX', now - HOUR + i, id);
    }
  }

  async now(): Promise<number> {
    const [seconds, micros] = (await this.redis.time()).map(Number);
    return seconds! * 1_000 + Math.floor(micros! / 1_000);
  }

  job(id: string): Promise<Record<string, string>> {
    return this.redis.hgetall(this.keys.job(id));
  }

  field(id: string, field: string): Promise<string | null> {
    return this.redis.hget(this.keys.job(id), field);
  }

  status(id: string): Promise<string | null> {
    return this.field(id, 'status');
  }

  async attemptLog(id: string): Promise<Record<string, unknown>[]> {
    const log = (await this.field(id, 'attempt_log')) ?? '';
    return log.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Returns the ids of a sorted set, lowest score first. */
  ranked(key: string): Promise<string[]> {
    return this.redis.zrange(key, 0, '-1');
  }

  /** Returns pending plain jobs, the next to be claimed first. */
  async pending(): Promise<string[]> {
    return (await this.redis.lrange(this.keys.pending, 0, -1)).toReversed();
  }

  total(counter: string): Promise<number> {
    return this.redis.hget(this.keys.stats, `${counter}_total`).then(Number);
  }

  /** Returns whether the wake marker was set, and removes it. */
  async takeWake(): Promise<boolean> {
    return (await this.redis.del(this.keys.wake)) === 1;
  }

  /** Returns all data of the queue, by key without the queue's prefix, to show that a call changes nothing. */
  async snapshot(): Promise<Record<string, unknown>> {
    const content: Record<string, unknown> = {};
    for (const key of (await keysLike(this.redis, `${this.base}*`)).toSorted()) {
      content[key.slice(this.base.length)] = await read(this.redis, key);
    }
    return content;
  }

  async deleteKeys(): Promise<void> {
    const keys = await keysLike(this.redis, `${this.base}*`);
    await (keys.length > 0 && this.redis.unlink(...keys));
  }

  /** The prefix of all its keys. */
  private get base(): string {
    return this.keys.jobPrefix.slice(0, -'job:'.length);
  }
}

/** Makes a queue with an unused name on the shared server. */
export function testQueue(options: QueueOptions = {}): TestQueue {
  shared ??= connect();
  return queueOn(shared, options);
}

/** Makes such a queue with plain jobs of these ids. */
export async function queueWith(...ids: string[]): Promise<TestQueue> {
  const q = testQueue();
  await q.addAll(...ids);
  return q;
}

/** Makes such a queue, whose only job is claimed. */
export async function claimedJob(id: string, options?: ScriptOptions): Promise<{ q: TestQueue; job: ClaimedJob }> {
  const q = testQueue();
  return { q, job: await q.addAndClaim(id, options) };
}

export function queueOn(redis: Redis, options: QueueOptions = {}, name?: string): TestQueue {
  const queue = new TestQueue(redis, options, name);
  used.add(queue);
  return queue;
}

/** Expects that an action leaves the queue's data in Redis as it is. */
export async function expectUnchanged<Reply>(queue: TestQueue, action: () => Promise<Reply>): Promise<Reply> {
  const before = await queue.snapshot();
  const answer = await action();
  expect(await queue.snapshot()).toEqual(before);
  return answer;
}
