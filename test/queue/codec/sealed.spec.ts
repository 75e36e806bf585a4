// No verb stores a text of an encrypted queue in the clear. The verbs with sealed texts are known by the types of the calls.
import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { encrypted, type Job, JobQueue } from 'nest-job-queue/core';
import { ANY_PAYLOAD, decodeContent } from '#queue/codec/codec.js';
import { asStored, sealFailure, sealJson, type SealedVerb } from '#queue/codec/sealed.js';
import { encodeJob } from '#queue/enqueue/encode-job.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { RedisStore } from '#queue/redis-store.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { by } from '#queue/verbs/verb.js';
import { connect } from '../../support/redis/redis.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { startWorker } from '../../support/worker/workers.js';

const CANARY = 'CANARY of DE89 3704';
const HAS_CANARY = /canary/i;

// @ts-expect-error a plain text is no sealed one
export const refused = (of: StoreCalls, text: string) => of.update({ id: 'a', payload: text });
// @ts-expect-error nor is one that this process has made a stored one
export const refusedAsStored = (text: string) => asStored(text);
// @ts-expect-error even behind a choice
export const refusedAsEither = (text: string | undefined) => asStored(text);
export const takesRows = (row: Record<string, unknown>) => asStored(row['payload']);

// @ts-expect-error a row names each text that is stored in the clear
export const refusedUnnamed = by((value: { note: string }) => [value.note]);
export const takesNamed = by((value: { note: string }) => [value.note], { note: true });

/** The queues of the canary's life. */
interface World {
  queue: JobQueue;
  /** Another queue of the same key, for batches over two queues. */
  other: JobQueue;
  codec: ReturnType<typeof encrypted>;
}

let world: World;
const called = new Set<string>();
const seen: string[] = [];
let read: () => Promise<void>;

/** Returns the same calls, which note their verbs. */
function noted<Calls extends object>(calls: Calls, prefix = ''): Calls {
  const entries = Object.entries(calls).map(([verb, call]: [string, unknown]) => {
    if (typeof call === 'function') {
      const of = call as (...args: unknown[]) => unknown;
      return [verb, (...args: unknown[]) => (called.add(prefix + verb), of(...args))];
    }
    const isGroup =
      prefix === '' &&
      typeof call === 'object' &&
      call !== null &&
      !['options', 'keys', 'announced'].includes(verb);
    return [verb, isGroup && !Array.isArray(call) ? noted(call, `${verb}.`) : call];
  });
  return Object.fromEntries(entries) as Calls;
}

/** Fails with the payload in every part of its error, after it wrote the payload wherever a handler can. */
async function quote(job: Job): Promise<unknown> {
  await job.log(`line of ${CANARY}`);
  await job.progress({ at: CANARY });
  await job.checkpoint({ at: CANARY });
  await job.stream.write({ at: CANARY });
  await job.step('look up', () => CANARY);
  if (JSON.stringify(job.payload).includes('fails')) {
    throw Object.assign(new Error(`for ${CANARY}`, { cause: new Error(CANARY) }), { name: `Error of ${CANARY}` });
  }
  return { of: CANARY };
}

async function dead({ queue }: World): Promise<string> {
  const job = await queue.enqueue({ fails: CANARY }, { maxAttempts: 1 });
  await expect(job.result()).rejects.toThrow();
  return job.id;
}

async function complete({ queue }: World): Promise<void> {
  await (await queue.enqueue({ to: CANARY })).result();
}

/** Makes a batch here with members in both queues, and a follow-up in the other one. */
async function batch({ queue, other }: World): Promise<void> {
  const follow = { name: other.name, queue: other.name, payload: { to: CANARY } };
  const made = queue.batch({ finally: follow, then: { name: queue.name, payload: { to: CANARY } } });
  const member = await made.add(other.name, { to: CANARY }, { queue: other });
  await made.add(queue.name, { fails: CANARY }, { maxAttempts: 1 });
  await made.seal();
  await member.result();
  await maintainBatches(other);
  await maintainBatches(queue);
  await eventually(async () => (await made.status()).state !== 'sealed');
  await maintainBatches(queue);
}

/** The way of the canary through each verb that has a sealed text. */
const LIFE: Record<SealedVerb<StoreCalls>, (world: World) => Promise<unknown>> = {
  enqueue: ({ queue }) => queue.enqueue({ to: CANARY }, { delayMs: 3_600_000 }),
  checkEnqueue: async ({ queue }) => {
    const { id } = await queue.enqueue({ to: CANARY }, { delayMs: 3_600_000 });
    await queue.enqueueMany(Array.from({ length: 501 }, () => ({ payload: { to: CANARY }, after: [id] })));
  },
  complete,
  progress: complete,
  checkpoint: complete,
  step: complete,
  log: complete,
  'streams.write': complete,
  fail: dead,
  noteDeath: async ({ queue }) => {
    const crashing = new JobQueue(connect({}, url), queue.name, { codec: world.codec });
    const [begun, end] = [gate(), gate()];
    const { worker } = await startWorker([
      { queue: crashing, handlers: { dies: () => (begun.open(), end.promise) } },
    ]);
    const { id } = await crashing.enqueue({ to: CANARY }, { name: 'dies' });
    await begun.promise;
    const error = Object.assign(new Error(`for ${CANARY}`), { name: `Error of ${CANARY}` });
    (process as EventEmitter).emit('uncaughtExceptionMonitor', error, 'uncaughtException');
    const death = () => connect({}, url).hget(`queue:${queue.name}:job:${id}`, 'death');
    await eventually(async () => (await death()) !== null);
    end.open();
    await worker.stop();
  },
  update: async ({ queue }) => {
    const { id } = await queue.enqueue(1, { delayMs: 3_600_000 });
    expect(await queue.update(id, { to: CANARY })).toBe('updated');
  },
  signal: async ({ queue }) => {
    const { id } = await queue.enqueue(1, { delayMs: 3_600_000 });
    expect(await queue.signal(id, 'approved', { by: CANARY })).toBe('kept');
  },
  'deadLetters.redrive': async (of) => {
    expect(await of.queue.deadLetters.redrive(await dead(of), { payload: { to: CANARY } })).toBe(true);
  },
  'deadLetters.redriveAsNew': async (of) => {
    await of.queue.deadLetters.redriveAsNew(await dead(of), { payload: { to: CANARY } });
  },
  'schedules.upsert': ({ queue }) => queue.schedules.upsert('s', { everyMs: 1e7 }, { payload: { to: CANARY } }),
  'batches.create': batch,
  'batches.deliver': batch,
  'batches.acknowledge': batch,
  'batches.followUps': batch,
  'once.enqueue': batch,
  'once.addDeadLetters': ({ queue, codec }) => {
    const job = encodeJob(queue, { to: CANARY }, { id: 'moved' });
    const { error } = sealFailure(codec, queue.name, { id: 'moved', error: { name: 'Error', message: CANARY } });
    const ran = { attempts: 1, errors: 1, crashes: 0 };
    const moved = { key: 'k', job, ran, failure: { error, startedAt: 1, endedAt: 2 } };
    return queue.exec(({ once }) => once.addDeadLetters({ sender: { source: 's', fence: 1 }, entries: [moved] }));
  },
};

const { callsOf } = RedisStore.prototype;
let url: string;

beforeAll(async () => {
  const redis = await startOwnRedis();
  ({ url } = redis);
  RedisStore.prototype.callsOf = function (...args) {
    return noted(callsOf.apply(this, args));
  };
  const monitor = await connect({}, url).monitor();
  monitor.on('monitor', (_time: string, args: string[]) => seen.push(args.join(' ')));
  const client = connect({}, url);
  read = async () => {
    const end = await client.echo(`end ${randomBytes(8).toString('hex')}`);
    await eventually(() => seen.some((line) => line.includes(end)));
  };
  const codec = encrypted([{ id: 'k', key: randomBytes(32) }]);
  const options = {
    codec,
    auditTrail: {},
    outcomes: {},
    events: 'always',
    eventExtras: { results: true },
  } as const;
  const [queue, other] = ['home', 'other'].map((name) => new JobQueue(client, name, options)) as [
    JobQueue,
    JobQueue,
  ];
  world = { queue, other, codec };
});

beforeEach(async () => {
  const { queue, other } = world;
  await startWorker([
    { queue, handlers: { home: quote }, onFailed: { home: () => undefined } },
    { queue: other, handlers: { other: quote } },
  ]);
});

afterAll(() => {
  RedisStore.prototype.callsOf = callsOf;
});

describe('a canary in an encrypted queue', () => {
  it.each(Object.entries(LIFE))('%s', async (verb, live) => {
    called.clear();
    await live(world);
    await eventually(() => called.has(verb));
    await read();
    expect(seen.filter((line) => HAS_CANARY.test(line))).toEqual([]);
    expect(seen.length).toBeGreaterThan(0);
  });

  it('is sealed where a job of another library moves here', () => {
    const owner = { queue: 'home', id: 'a' };
    expect(sealJson({}, '{"big": 12345678901234567890}', owner)).toBe('{"big": 12345678901234567890}');
    const payload = JSON.parse(sealJson(world, `{"to":"${CANARY}"}`, owner)) as unknown;
    expect(JSON.stringify(payload)).not.toMatch(HAS_CANARY);
    expect(decodeContent(world.codec, payload, 'payload', owner)).toEqual({ to: CANARY });
  });

  it('is refused by its reader if it was stored for no text, whatever the source may be', () => {
    const owner = { queue: 'home', id: 'a', payloadId: ANY_PAYLOAD };
    const stored = { ...(JSON.parse(sealJson(world, '1', owner)) as object), of: 42 };
    expect(() => decodeContent(world.codec, stored, 'payload', owner)).toThrow('was stored for 42');
  });

  it.each([42, ['a'], '@schedule:nightly', 'ab', 'ba', 'other-one', 'an-other', '*'])(
    'is refused if it was stored for %j',
    (of) => {
      const owner = { queue: 'home', id: 'a' };
      const stored = { ...(JSON.parse(sealJson(world, '1', owner)) as object), of };
      for (const source of [{}, { payloadId: 'other' }]) {
        expect(() => decodeContent(world.codec, stored, 'payload', { ...owner, ...source })).toThrow(
          `The payload of job "a" was stored for ${JSON.stringify(of)}. Discard the job.`,
        );
      }
    },
  );

  it('is in the clear where nothing is encrypted', async () => {
    await new JobQueue(connect({}, url), 'plain').enqueue({ to: CANARY });
    await read();
    expect(seen.some((line) => HAS_CANARY.test(line))).toBe(true);
  });

  it('is not told by the version of a schedule, which depends on the key', async () => {
    const [one, two] = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const queue = new JobQueue(connect({}, url), name, {
          codec: encrypted([{ id: 'k', key: randomBytes(32) }]),
        });
        await queue.schedules.upsert('s', { everyMs: 1e7 }, { name: 'n', payload: { to: CANARY } });
        return connect({}, url).hget(`queue:${name}:schedule:s`, 'version');
      }),
    );
    expect(one).toMatch(/^[\w-]{43}$/);
    expect(one).not.toBe(two);
  });
});
