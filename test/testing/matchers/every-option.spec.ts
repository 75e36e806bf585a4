// Each option of an enqueue arrives in the store and at the claim, in Redis and in memory. toHaveEnqueued finds it.
import 'nest-job-queue/testing/jest';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getQueueToken } from 'nest-job-queue';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import { JobQueue } from '#queue/job-queue.js';
import type { ClaimedJob, JobRecord } from '#queue/model/job.js';
import { jobOptionsAt } from '#queue/model/job-options.js';
import { ScriptStore } from '#memory/script-store.js';
import fc from '../../support/queue/properties.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startTested } from '../module/app.js';

const HOUR = 3_600_000;
const {
  batch: _batch,
  stopsBatch: _stopsBatch,
  addedBy: _addedBy,
  ...known
} = Object.fromEntries(jobOptionsAt('enqueue').map((name) => [name, true]));
/** The options that users may set. */
const OPTIONS = Object.keys(known);

/** Values that differ from the default. */
const VALUES: Record<string, fc.Arbitrary<unknown>> = {
  name: fc.constantFrom('mail', 'image'),
  id: fc.uuid(),
  delayMs: fc.integer({ min: 1, max: HOUR }),
  runAt: fc.integer({ min: 1, max: HOUR }).map((ms) => new Date(Date.now() + HOUR + ms)),
  priority: fc.integer({ min: 1, max: 1_000 }),
  cost: fc.integer({ min: 2, max: 1_000_000 }),
  limitCosts: fc.dictionary(fc.constantFrom('openai', 'crm'), fc.integer({ min: 1, max: 1_000_000 }), {
    minKeys: 1,
  }),
  group: fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }),
  maxAttempts: fc.integer({ min: 1, max: 1_000 }),
  maxCrashes: fc.integer({ min: 1, max: 1_000 }),
  backoff: fc.oneof(
    fc.integer({ min: 0, max: HOUR }),
    fc.record({ type: fc.constantFrom('fixed', 'exponential'), delayMs: fc.integer({ min: 0, max: HOUR }) }),
  ),
  timeoutMs: fc.integer({ min: 1, max: HOUR }),
  slots: fc.integer({ min: 1, max: 1_000 }),
  keepResult: fc.boolean(),
  resultTtlMs: fc.integer({ min: 1, max: HOUR }),
  expiresInMs: fc.integer({ min: 3 * HOUR, max: 4 * HOUR }),
  unique: fc.constantFrom(
    { key: 'k', for: 'pending' },
    { key: 'k', for: 'unfinished', onConflict: 'replace' },
    { key: 'k', for: { ms: HOUR } },
    { key: 'k', for: 'pending', keep: 'newest' },
  ),
  durability: fc.constant('memory'),
  after: fc.constant(['first']),
  lifo: fc.constant(true),
  metadata: fc.dictionary(fc.constantFrom('trace', 'user'), fc.string({ maxLength: 9 }), { minKeys: 1 }),
};

/** The options that exclude each other. */
const EXCLUSIVE = [
  ['delayMs', 'runAt'],
  ['lifo', 'priority'],
  ['lifo', 'group'],
  ['lifo', 'after'],
  ['after', 'runAt'],
  ['after', 'unique'],
];

const optionSets = fc
  .record(VALUES, { requiredKeys: [] })
  .filter((options) => !EXCLUSIVE.some((pair) => pair.every((name) => name in options)))
  .map((options) => options as EnqueueOptions);

/** Returns the options that a stored job and its claim show. */
function shown(record: JobRecord, { options }: ClaimedJob): Record<string, unknown> {
  const { batch: _ofFollowUp, runAtMs, ...ofWorker } = options;
  const { name, id, priority, expiresAt, enqueuedAt, maxAttempts, group, metadata, after } = record;
  return {
    name,
    id,
    maxAttempts,
    group,
    metadata,
    after: after?.map(({ id: other }) => other),
    priority: priority || undefined,
    expiresInMs: expiresAt && expiresAt.getTime() - enqueuedAt.getTime(),
    runAt: runAtMs === undefined ? undefined : new Date(runAtMs),
    ...ofWorker,
  };
}

/** Options whose effect the record does not show. */
const HIDDEN = new Set(['cost', 'maxCrashes', 'unique', 'durability', 'lifo']);

const withoutHidden = (options: object): object =>
  Object.fromEntries(Object.entries(options).filter(([name]) => !HIDDEN.has(name)));

/** Enqueues a job, and claims it once nothing holds it back. */
async function sent(queue: JobQueue, options: EnqueueOptions) {
  const first = options.after && (await queue.enqueue(0, { id: 'first' }));
  const { id } = await queue.enqueue({ a: 1 }, options);
  const record = (await queue.get(id))!;
  if (first) await queue.complete((await queue.claim())!);
  if ((await queue.get(id))!.status === 'scheduled') await queue.promote(id);
  const claim = (await queue.claim())!;
  expect(claim.id).toBe(id);
  return shown(record, claim);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns whether a value is the same, or has some fields of an object and no other. The matcher finds both. */
function isPartOf(whole: unknown, part: unknown): boolean {
  const both = isObject(whole) && isObject(part) ? { ...whole, ...part } : part;
  return JSON.stringify(both) === JSON.stringify(whole);
}

describe('each option of an enqueue', () => {
  it('has values here', () => {
    expect(Object.keys(VALUES).toSorted()).toEqual(OPTIONS.toSorted());
  });

  it.each(['Redis', 'memory'])('arrives in a store in %s and at the claim', async (place) => {
    const client = connect();
    await fc.assert(
      fc.asyncProperty(optionSets, async (options) => {
        const store = place === 'Redis' ? client : new ScriptStore();
        const queue = new JobQueue(store, uniqueQueueName());
        try {
          expect(await sent(queue, options)).toMatchObject(withoutHidden(options));
        } finally {
          queue.close();
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe('toHaveEnqueued', () => {
  let tested: Awaited<ReturnType<typeof startTested>>;
  beforeAll(async () => {
    tested = await startTested({ jobs: { queues: { jobs: {} } } });
  });
  afterAll(() => tested.moduleRef.close());

  const enqueue = async (options: EnqueueOptions) => {
    const queue: JobQueue = tested.moduleRef.get(getQueueToken('jobs'), { strict: false });
    await queue.purge({ confirm: 'jobs' });
    tested.testing.clear();
    if (options.after) await queue.enqueue(0, { id: 'first' });
    await queue.enqueue({ a: 1 }, options);
  };

  it('finds a job by all its options, and by no other value', async () => {
    await fc.assert(
      fc.asyncProperty(optionSets, optionSets, async (given, other) => {
        await enqueue(given);
        const { name = 'jobs', ...options } = given;
        const { name: _name, ...wrong } = other;
        expect(tested.testing).toHaveEnqueued(name, { a: 1 }, options);
        expect(tested.testing.enqueued().at(-1)!.options).toEqual(options);
        for (const [option, value] of Object.entries(wrong)) {
          if (!isPartOf(options[option as keyof typeof options], value)) {
            expect(tested.testing).not.toHaveEnqueued(name, { a: 1 }, { [option]: value });
          }
        }
      }),
      { numRuns: 30 },
    );
  });

  it.each(OPTIONS.filter((option) => option !== 'name'))('finds a job by %s alone', async (option) => {
    const [value] = fc.sample(VALUES[option]!, 1);
    await enqueue({ [option]: value });
    expect(tested.testing).toHaveEnqueued('jobs', { a: 1 }, { [option]: value });
    expect(tested.testing.enqueued().at(-1)!.options).toEqual({ [option]: value });
  });
});
