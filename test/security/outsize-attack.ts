// Elements of keys that are larger than any that this library writes, while a worker serves the queue. Each costs the server
// once, and the jobs of other queues go on.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { JobQueue, Worker, type Job } from 'nest-job-queue/core';
import { typesOfKeys, typesOfQueue } from '#queue/validation/key-types.js';
import fc from '../support/queue/properties.js';
import { patiently } from '../support/faults/wait.js';
import { startOwnRedis, type OwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';

/** Keys that end with an id, of what the scene has. A new job is added for its cells. */
const WITH_IDS = [
  'job:s1',
  'job:new',
  'schedule:every',
  'batch_record:b1',
  'batch_record:b1/open',
  'batch_record:b1/members',
  'batch_record:b1/outcomes',
  'groups:waiting:g',
  'groups:running:g',
  'groups:later:g',
  'groups:state:g',
];

/** The fields of a job that scripts read. */
const JOB_FIELDS =
  'name options group priority rank cost attempts claim_token fence worker last_error unique batch dependents after attempt_log progress checkpoint steps log expires_at_ms unmet crashes error_kind request schedule ready_at_ms window status'.split(
    ' ',
  );

/** How an element of a key is larger than any. */
type How = 'member' | 'field' | 'value' | 'each value' | 'count';

/** One outsize element. */
export interface Cell {
  /** The key, without the start of those of its queue. */
  key: string;
  type: string;
  how: How;
  /** The text that is repeated, and how often. */
  text: string;
  times: number;
  /** The score in a sorted set, or the end of a list. */
  at: 'first' | 'now' | 'last';
  /** The field of a new job. */
  field: string;
}

const HOWS: Record<string, readonly How[]> = {
  hash: ['field', 'value', 'each value', 'count'],
  zset: ['member', 'count'],
  list: ['member', 'count'],
  string: ['value'],
  stream: ['value'],
};

/** Returns the keys of a queue, with their types. */
function keysOfQueue(): [key: string, type: string][] {
  return [...typesOfQueue(''), ...typesOfKeys('', WITH_IDS)];
}

const drawn = (bytes: number, entries: number): fc.Arbitrary<Cell> =>
  fc
    .constantFrom(...keysOfQueue())
    .chain(([key, type]) =>
      fc.record({
        key: fc.constant(key),
        type: fc.constant(type),
        how: fc.constantFrom(...HOWS[type]!),
        text: fc.constantFrom('i', '1', '\n', ' ', '\t', '"', 'a\n', '1 ', '=', '"outcome":"', ':', 'a=b '),
        times: fc.constant(bytes),
        at: fc.constantFrom('first' as const, 'now' as const, 'last' as const),
        field: fc.constantFrom(...JOB_FIELDS),
      }),
    )
    .map((cell) => ({ ...cell, times: cell.how === 'count' ? entries : Math.ceil(bytes / cell.text.length) }));

/** Draws cells by a seed. */
export function drawCells(seed: number, count: number, bytes = 4_000_000, entries = 20_000): Cell[] {
  return fc.sample(drawn(bytes, entries), { seed, numRuns: count });
}

/** Plants a cell by one script. ARGV: the key, how, the text, its times, at. */
const PLANT = `
local key, how, at = KEYS[1], ARGV[1], ARGV[4]
local long = string.rep(ARGV[2], tonumber(ARGV[3]))
local type = ARGV[5]
local time = redis.call('TIME')
local score = at == 'first' and '-1e300' or at == 'now' and string.format('%d', time[1] * 1000) or '9e15'
if ARGV[6] ~= '' then
  redis.call('HSET', key, 'name', 'attacked', 'payload', '{}', 'status', 'pending', 'enqueued_at_ms', '1')
  redis.call('HSET', key, ARGV[6], long)
  redis.call('RPUSH', KEYS[3], 'new')
elseif type == 'hash' then
  if how == 'field' then redis.call('HSET', key, long, '1')
  elseif how == 'count' then for i = 1, tonumber(ARGV[3]) do redis.call('HSET', key, 'f' .. i, i) end
  else
    local fields = redis.call('HKEYS', key)
    for i = 1, how == 'value' and math.min(1, #fields) or math.min(8, #fields) do redis.call('HSET', key, fields[i], long) end
    if #fields == 0 then redis.call('HSET', key, 'x', long) end
  end
elseif type == 'zset' then
  if how == 'count' then for i = 1, tonumber(ARGV[3]) do redis.call('ZADD', key, i, 'z' .. i) end
  else redis.call('ZADD', key, score, long) end
elseif type == 'list' then
  if how == 'count' then for i = 1, tonumber(ARGV[3]) do redis.call('RPUSH', key, 'z' .. i) end
  else redis.call(at == 'first' and 'RPUSH' or 'LPUSH', key, long) end
elseif type == 'stream' then redis.call('XADD', key, '*', 'id', long, 'at', '1')
else redis.call('SET', key, long) end
redis.call('ZADD', KEYS[2], 1, 'x')
`;

const silent = { log: () => undefined, warn: () => undefined, error: () => undefined };

export interface Scene {
  queue: JobQueue;
  other: JobQueue;
  worker: Worker;
}

async function handleAttacked(job: Job): Promise<void> {
  await job.progress({ done: 1 });
  await job.log('line');
  if ((job.payload as { fails?: true }).fails) throw new Error('no');
}

/** Starts a worker of a queue that has something in most of its keys, and of another queue. */
export async function startScene(redis: Redis): Promise<Scene> {
  const options = {
    logger: silent,
    auditTrail: {},
    outcomes: {},
    maxRunning: 50,
    groups: { maxRunning: 1 },
  } as const;
  const queue = new JobQueue(redis, 'attacked', options);
  const other = new JobQueue(redis, 'other', { logger: silent });
  const worker = new Worker(
    [
      {
        queue,
        handlers: { attacked: handleAttacked },
        onFailed: { attacked: { maxAttempts: 1, handle: () => undefined } },
      },
      { queue: other, handlers: { other: () => undefined } },
    ],
    { sweepIntervalMs: 300, logger: silent },
  );
  const far = { delayMs: 100_000_000 };
  const batch = queue.batch({ id: 'b1', finally: { name: 'attacked', payload: {} } });
  await batch.add('attacked', {}, { id: 'm1' });
  await batch.add('attacked', {}, { id: 'm2', ...far });
  await queue.enqueue({ fails: true }, { id: 'f1', maxAttempts: 1 });
  await queue.enqueue({}, { id: 'u1', ...far, unique: { key: 'k', for: 'unfinished' } });
  await queue.enqueue({}, { id: 'u2', unique: { key: 'k2', for: { ms: 100_000_000 } } });
  await queue.enqueue({}, { id: 'g1', group: 'g', ...far });
  await queue.enqueue({}, { id: 'g2', group: 'g' });
  await queue.enqueue({}, { id: 'p1', priority: 5 });
  await queue.enqueue({}, { id: 's1', ...far });
  await queue.enqueue({}, { id: 'a1', after: ['s1'] });
  await queue.enqueue({}, { id: 'c1', ...far });
  await queue.cancel('c1');
  await queue.schedules.upsert('every', { everyMs: 1_000 }, { payload: {} });
  await worker.start();
  await patiently(async () => (await queue.stats()).failed === 1, { what: 'the queue has run its jobs' });
  return { queue, other, worker };
}

/** Returns the time that the server has used, in s. */
function cpuOf({ pid }: OwnRedis): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number);
  return (user! + system!) / 100;
}

/** The time for which a cell is watched at once, in s. Then the most that the server may work meanwhile. */
const WATCHED_S = 1.5;
const MOST_CPU_S = 0.7;

/** How often a cell is watched until the server has done with it. It sorts out 20,000 entries once, for a second or two. */
const MOST_WATCHES = 8;

/**
 * Plants an outsize element beside a live worker.
 *
 * @throws if the server stays busy with it. Also if a job of another queue does not run
 */
export async function attackOutsize(cell: Cell): Promise<void> {
  const server = await startOwnRedis();
  const redis = connect({}, server.url);
  redis.on('error', () => undefined); // of a server that is stopped while it is busy
  const { queue, other, worker } = await startScene(redis);
  const told = JSON.stringify(cell);
  try {
    const base = 'queue:attacked:';
    const { key, type, how, text, times, at, field } = cell;
    const keys = [key, 'wake', 'pending'].map((each) => base + each);
    await redis.eval(PLANT, 3, ...keys, how, text, times, at, type, key === 'job:new' ? field : '');
    const add = setInterval(() => void queue.enqueue({ at: 1 }, { group: 'g' }).catch(() => undefined), 50);
    const plain = setInterval(() => void queue.enqueue({}).catch(() => undefined), 50);
    await sleep(1_000);
    let used = Infinity;
    for (let watch = 0; used > MOST_CPU_S && watch < MOST_WATCHES; watch++) {
      const before = cpuOf(server);
      await sleep(WATCHED_S * 1_000);
      used = cpuOf(server) - before;
    }
    clearInterval(add);
    clearInterval(plain);
    if (used > MOST_CPU_S) throw new Error(`still busy for ${used.toFixed(2)} of ${WATCHED_S} s: ${told}`);
    const job = await other.enqueue({});
    await job.result({ timeoutMs: 20_000 }).catch((error: Error) => {
      throw new Error(`another queue stands still: ${told}: ${error.message}`);
    });
  } finally {
    const stopped = worker.stop({ timeoutMs: 500 }).catch(() => undefined);
    await Promise.race([stopped, sleep(2_000, undefined, { ref: false })]);
    queue.close();
    other.close();
    redis.disconnect();
    await server.stop();
  }
}
