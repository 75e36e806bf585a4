// A load with very many groups, unique keys, batches, names and restarts leaves nothing that grows. After it is drained, each
// key has ended as its word in the table of keys says. STAYS_MINUTES=1 for a short run.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { KEYS, type KeyEnd } from '#queue/validation/key-table.js';
import { GROUP_KEYS } from '#queue/validation/key-types.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { Worker } from '#worker/worker.js';
import { sleep } from '../../support/faults/wait.js';
import { inside } from '../../support/queue/inside.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const MINUTES = Number(process.env.STAYS_MINUTES ?? 10);
const GROUPS = 100_000;
const NAMES = ['a', 'b', 'c'];
/** The most bytes that the queue may keep after its end: counters, settings, histories and logs. */
const MOST_LEFT_BYTES = 3_000_000;
const REST_MS = 120_000;
const OPTIONS = { resultTtlMs: 2_000, maxAttempts: 1, visibilityMs: 5_000 };

let redis: Redis;

beforeAll(async () => {
  redis = connect({}, (await startOwnRedis()).url);
});

afterAll(() => redis.disconnect());

/** Returns the word of a key, by the part after the name of its queue. */
function endOf(part: string): KeyEnd | undefined {
  const known: [string, KeyEnd][] = [
    ...Object.values(KEYS).map(([each, , end]): [string, KeyEnd] => [each, end]),
    ...Object.entries(GROUP_KEYS).map(([each, [, end]]): [string, KeyEnd] => [KEYS.groupsPrefix[0] + each, end]),
  ];
  const fits = known.filter(([each]) => (each.endsWith(':') ? part.startsWith(each) : part === each));
  return fits.toSorted(([a], [b]) => b.length - a.length)[0]?.[1];
}

/** Returns what is wrong with a key of an idle queue. Undefined for a key that is as its word says. */
async function faultOf(base: string, key: string): Promise<string | undefined> {
  const part = key.slice(base.length);
  const [end, lives] = [endOf(part), await redis.pttl(key)];
  const mayStay = end === 'stays' || end === 'capped' || lives >= 0;
  return mayStay && end !== undefined ? undefined : `${part} (${end}) lives ${lives} ms`;
}

const random = (below: number) => Math.floor(Math.random() * below);

function handle({ payload }: { payload: unknown }): void {
  if (payload === 'fails') {
    throw new Error('no');
  }
}

/** A fleet whose workers are replaced by ones with another handler. */
class Fleet {
  private worker: Worker | undefined;
  private restarts = 0;

  constructor(private readonly queue: JobQueue) {}

  async restart(): Promise<void> {
    await this.worker?.stop();
    const names = [...NAMES, `of-version-${this.restarts++}`];
    const handlers = Object.fromEntries(names.map((name) => [name, handle]));
    const schedules = { declared: { recurrence: { everyMs: 500 }, options: { name: 'a' } } };
    this.worker = new Worker([{ queue: this.queue, concurrency: 50, handlers, schedules }], {
      sweepIntervalMs: 1_000,
      logFailures: false,
    });
    await this.worker.start();
  }

  async stop(): Promise<void> {
    await this.worker?.stop();
  }
}

/** Adds jobs of all kinds. Returns how many. */
async function load(queue: JobQueue, round: number): Promise<number> {
  const jobs = Array.from({ length: 300 }, (_, i) => {
    const key = `key-${round}-${i}`;
    const group = `group-${(round * 300 + i) % GROUPS}`;
    const kind = random(6);
    return {
      payload: random(20) === 0 ? 'fails' : i,
      name: NAMES[random(NAMES.length)]!,
      ...(kind < 3 && { group }),
      ...(kind === 3 && { unique: { key, for: 'unfinished' as const } }),
      ...(kind === 4 && { unique: { key, for: { ms: 1_000 } } }),
      ...(random(4) === 0 && { delayMs: random(500) }),
      ...(random(4) === 0 && { priority: 1 + random(5) }),
    };
  });
  await queue.enqueueMany(jobs);
  for (let i = 0; i < 3; i++) {
    const batch = queue.batch({
      finally: { name: 'a', payload: 'x'.repeat(500) },
      resultTtlMs: 1_000,
      recordTtlMs: 2_000,
    });
    await batch.addMany('b', [{ payload: 1 }, { payload: 'fails' }]);
    await (i === 0 ? batch.cancel() : Promise.resolve());
    await batch.seal();
  }
  const [first] = await queue.enqueueMany([{ payload: 1, name: 'c', delayMs: 300 }]);
  await queue.enqueue(1, { name: 'c', after: [first!] });
  await (await queue.enqueue(1, { name: 'c', delayMs: 60_000 })).cancel();
  await queue.schedules.upsert(`call-${round % 50}`, { everyMs: 300, limit: 3 }, { name: 'b' });
  await queue.groups.set(`group-${round % GROUPS}`, { maxRunning: 1 });
  await queue.groups.clear(`group-${round % GROUPS}`);
  return jobs.length + 12;
}

it(
  'a load of ten minutes leaves counters and settings, and nothing that grows',
  async () => {
    const queue = new JobQueue(redis, uniqueQueueName(), OPTIONS);
    const { keys } = await inside(queue).scripts();
    const fleet = new Fleet(queue);
    const until = Date.now() + MINUTES * 60_000;
    let jobs = 0;
    for (let round = 0; Date.now() < until; round++) {
      if (round % 200 === 0) {
        await fleet.restart();
        await queue.deadLetters.discardAll();
      }
      jobs += await load(queue, round);
      while ((await queue.stats()).pending > 5_000) {
        await sleep(50);
      }
    }
    // Names are kept for two days; these are over.
    const old = (await redis.zrange(keys.names, 0, '-1')).filter((name) => name.startsWith('of-version'));
    await Promise.all(old.map((name) => redis.zadd(keys.names, 1, name)));
    for (const { id } of await queue.schedules.list({ limit: 100 })) {
      await (id === 'declared' ? undefined : queue.schedules.remove(id));
    }
    for (let left = 1; left > 0; await sleep(200)) {
      const { pending, processing, scheduled } = await queue.stats();
      left = pending + processing + scheduled;
    }
    await fleet.stop();
    await queue.deadLetters.discardAll();
    await redis.zrem(keys.scheduleDue, 'declared'); // a day after its last worker it would be forgotten
    await redis.del(keys.schedule('declared'), keys.scheduleOwners);
    const sweeper = new Sweeper([queue], 5_000, silentLogger);
    for (const end = Date.now() + REST_MS; Date.now() < end; await sleep(5_000)) {
      await sweeper.runOnce(); // a round looks for such remains every ten minutes
    }
    await sweeper.stop();
    const left = (await redis.keys(`${keys.base}*`)).toSorted();
    const faults = await Promise.all(left.map((key) => faultOf(keys.base, key)));
    let bytes = 0;
    for (const key of left) {
      bytes += Number(await redis.memory('USAGE', key, 'SAMPLES', 0));
    }
    process.stdout.write(
      `${jobs} jobs left ${left.length} keys of ${bytes} bytes: ${left.map((key) => key.slice(keys.base.length)).join(' ')}\n`,
    );
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
    expect(bytes).toBeLessThan(MOST_LEFT_BYTES);
    expect(left.length).toBeLessThan(50);
  },
  (MINUTES + 6) * 60_000,
);
