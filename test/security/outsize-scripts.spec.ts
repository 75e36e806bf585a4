// Each script that a worker runs, beside outsize ids, names, groups, fields and counts of fields. None takes long, and the jobs
// become dead letters by short names. OUTSIZE_TABLE=1 prints the longest time of each script.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { luaScripts } from '#queue/lua.generated.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import { auditedScript, changesJobs } from '#queue/transport/audited-script.js';
import { inside } from '../support/queue/inside.js';
import { patiently } from '../support/faults/wait.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { someOf } from '../support/run/samples.js';
import { startScene } from './outsize-attack.js';

type Name = keyof typeof luaScripts;
const NAMES = Object.keys(luaScripts) as Name[];

/** The scripts that no worker runs, by who does. A script that is not here runs below, or the test fails. */
const OTHERS: Record<string, string> = {
  'operators, and code of the app': `actionNote batchCancel batchCreate batchJoin batchKnown batchList batchOpenMembers
    batchResults batchSeal batchStatus batchStop deadLetterDiscard deadLetterKinds deadLetterList deadLetterMarkKind deadLetterRedrive
    deadLetterRedriveAsNew groupClean groupClear groupExtendPause groupList groupPause groupResume groupSet historyRead jobCancel
    jobCheckEnqueue jobHoldResult jobPromote jobRemove jobReschedule jobRunAgain jobSetPriority jobSignal jobUpdate limitsClear limitsGet
    limitsSet queueClean queueContent queueExtendPause queueFind queueList queueNotePayload queuePause queuePurge queueResume
    sharedLimitClear sharedLimitGet sharedLimitPause sharedLimitResume sharedLimitSet registerNames scheduleList schedulePause scheduleRemove scheduleResume scheduleRun scheduleUpsert topicRemove workerHandlerLimits workerList`,
  'the doctor': `doctorBatches doctorClocks doctorCounters doctorGroups doctorHistories doctorInspect doctorScan doctorUnique`,
  'a migration, on keys of another library': `migrateBeeAcknowledge migrateBeeGiveBack migrateBullmqAcknowledge migrateBullmqAdd migrateBullmqGiveBack
    migrateBullmqTake migrateBullmqTakeScheduler onceAddDeadLetters`,
  'a move of a queue, by an operator': `migrateQueueAcknowledge migrateQueueBegin migrateQueueGiveBack migrateQueuePut migrateQueuePutBatch
    migrateQueuePutEnded migrateQueuePutSchedule migrateQueuePutSettings migrateQueueSettle migrateQueueTake migrateQueueTakeBatch
    migrateQueueTakeSchedule`,
  'the frame of others': 'auditFrame',
  'after an error, and reads the types of keys alone': 'queueCheckKeys',
  'many queues of a process at once, and reads no text of a job': 'workerRenew sweepNoteIdle',
};

const END = { queue: 'attacked', batch: 'b1', id: 'm1', number: '1', state: 'completed', detail: '' as never };
const NEWEST = {
  id: 'newest',
  name: 'attacked',
  payload: '1' as never,
  options: { unique: { key: 'k', for: 'unfinished', onConflict: 'cancel-running' } },
} as const;
const CLAIM = { id: 'large', token: 't', fence: 1, options: {} };
const WRITER = { id: 'claimed', token: 't', fence: 1, attempt: 1 };

/** Calls of scripts that a worker seldom runs. */
const DIRECT: readonly ((calls: QueueCalls) => unknown)[] = [
  (c) => c.profiles.request({ id: 'i', name: '', kind: 'cpu', forMs: 1 }),
  (c) => c.profiles.take({ id: 'i', worker: 'w', job: 'j', attempt: 1, mostMs: 60_000 }),
  (c) => c.profiles.store({ id: 'i', worker: 'w', content: 'x' }),
  (c) => c.profiles.read(),
  (c) => c.alerts.takeTurn({ token: 't', everyMs: 1 }),
  (c) => c.alerts.told({ token: 't', record: 'record' }),
  (c) => c.claim({ count: 1, token: 't', worker: 'w', stream: 's', units: [['partner', 1, 1]] }),
  (c) => c.checkpoint({ claim: CLAIM, checkpoint: '1' as never }),
  (c) => c.enqueue([NEWEST]),
  (c) => c.extend([CLAIM]),
  (c) => c.extendBatch({ worker: 'w', stream: 's', token: 't' }),
  (c) => c.setName({ ...CLAIM, name: 'other' }),
  (c) => c.step({ claim: CLAIM }),
  (c) => c.wait({ claim: CLAIM, name: 'ok', kind: 'signal' }),
  (c) => c.release([{ ...CLAIM, reason: 'interruption', delayMs: 0 }]),
  (c) => c.fail([{ ...CLAIM, error: { name: 'E', message: 'm' } as never, final: true, backoffMs: 0 }]),
  (c) => c.noteDeath({ claims: [CLAIM], error: '' as never }),
  (c) => c.start([CLAIM]),
  (c) => c.supersededBy(['large']),
  (c) => c.batches.outbox({ limit: 100 }),
  (c) => c.batches.readers({ ids: ['b1'] }),
  (c) => c.batches.deliver({ from: 'attacked', ends: [END] }),
  (c) => c.batches.acknowledge({ ends: [END] }),
  (c) => c.batches.followUps({ entries: [END] }),
  (c) => c.batches.ends({ home: 'attacked', members: [{ batch: 'b1', id: 'm1' }] }),
  (c) => c.batches.depend({ home: 'attacked', pairs: [{ id: 'm1', waiting: 'a1' }] }),
  (c) => c.history.addDurations({ worker: 'w', batch: 'b', counts: [] }),
  (c) => c.once.enqueue({ sender: { source: 's', fence: 1 }, entries: [] }),
  (c) => c.publish({ id: 'large', name: 'attacked', status: 'lost' }),
  (c) => c.publishDrained(),
  (c) => c.lookDrained(),
  (c) => c.unserved({ jobs: [{ id: 'large', name: 'attacked' }] }),
  (c) => c.schedules.declare({ worker: 'w', declares: true, schedules: [] }),
  (c) => c.sharedLimits.declare({ limit: 'partner', values: { maxRunning: 1 } }),
  (c) => c.sharedLimits.lease({ limit: 'partner', worker: 'w', token: 't', count: 1, lifeMs: 1, declares: true }),
  (c) => c.sharedLimits.extend({ limit: 'partner', worker: 'w', lifeMs: 1, permits: ['t\t1'] }),
  (c) => c.sharedLimits.giveBack({ limit: 'partner', worker: 'w', permits: [] }),
  (c) => c.sharedLimits.rest({ limit: 'partner', ms: 1 }),
  (c) => c.sharedLimits.noteKeys({ limit: 'partner', used: ['large'] }),
  (c) => c.groups.awaitingPermit({ limit: 100 }),
  (c) => c.groups.endRest({ name: 'large' }),
  (c) => c.streams.write({ writes: [{ claim: WRITER, first: 1, chunks: [{ kind: 'j', json: '1' as never }] }] }),
  (c) => c.streams.read({ id: 'claimed', from: 0 }),
  (c) => c.streams.tidy({ limit: 100 }),
  (c) => c.sweep.adoptFailed({ ids: ['large'] }),
  (c) => c.sweep.lookAtKept({ limit: 100 }),
  (c) => c.sweep.reclaimWorker({ worker: 'w', cursor: '', limit: 100 }),
  (c) => c.topics.declare({ subscriptions: [{ topic: 't', name: 'n', queue: 'attacked' }] }),
  (c) => c.topics.list({ topic: undefined }),
  (c) => c.topics.unhandled({ names: ['t/n'] }),
  (c) => c.workers.passWake({ worker: 'w' }),
];

/** The most that one call of a script may take, in ms. A megabyte takes some, on a busy machine tens. Without a bound it takes hours. */
const MOST_MS = 1_000;
const BYTES = 1_000_000;
const FIELDS = 20_000;
const MOST_ENTRIES = 20_000;

const FIELDS_OF_JOB =
  'options priority rank cost attempts claim_token fence worker last_error unique batch dependents after attempt_log progress checkpoint steps waits signals stream log expires_at_ms unmet crashes error_kind request schedule ready_at_ms window'.split(
    ' ',
  );

/** Plants jobs. ARGV: the bytes, the kind, the fields, and the number of fields. The jobs are in each place. */
const PLANT = `
local base, kind = KEYS[1], ARGV[2]
local long = string.rep('i', tonumber(ARGV[1]))
local now = redis.call('TIME')[1] * 1000
local function add(id, ...)
  redis.call('HSET', base .. 'job:' .. id, 'name', 'attacked', 'payload', '{}', 'status', 'pending', 'enqueued_at_ms', '1', ...)
end
local function fill(key)
  for from = 1, tonumber(ARGV[3]), 1000 do
    local fields = {}
    for i = from, from + 999 do
      fields[#fields + 1], fields[#fields + 2] = 'f' .. i, '1'
    end
    redis.call('HSET', base .. key, unpack(fields))
  end
end
local function place(id)
  redis.call('RPUSH', base .. 'pending', id)
end
if kind == 'id' then
  local i = 0
  for _, list in ipairs({ 'pending', 'processing', 'failed' }) do i = i + 1 redis.call('RPUSH', base .. list, i .. long) end
  for _, set in ipairs({ 'prioritized', 'scheduled', 'claims', 'dead', 'kept_results', 'awaiting', 'groups:waiting:g' }) do
    i = i + 1
    redis.call('ZADD', base .. set, 1, i .. long)
  end
elseif kind == 'name' then
  for _, id in ipairs({ 'large', 'urgent', 'late', 'claimed' }) do add(id, 'name', long) end
elseif kind == 'group' then
  for _, id in ipairs({ 'large', 'urgent', 'late', 'claimed' }) do add(id, 'group', long, 'attempts', '1') end
  redis.call('ZADD', base .. 'groups:turns', 0, long)
  redis.call('ZADD', base .. 'groups:gated', 0, long)
elseif kind == 'field' then
  for _, id in ipairs({ 'large', 'urgent', 'late', 'claimed' }) do add(id, 'options', long) end
  for i = 3, #ARGV do add('f' .. i, ARGV[i], long) place('f' .. i) end
  for _, hash in ipairs({ 'settings', 'retention', 'sweep', 'stats', 'groups:settings' }) do
    redis.call('HSET', base .. hash, 'x', long)
  end
elseif kind == 'count' then
  for _, id in ipairs({ 'large', 'urgent', 'late', 'claimed' }) do
    add(id)
    fill('job:' .. id)
  end
  for _, hash in ipairs({ 'settings', 'retention', 'stats', 'error_kinds', 'groups:settings', 'unique' }) do
    fill(hash)
  end
end
if kind ~= 'id' then
  place('large')
  redis.call('ZADD', base .. 'prioritized', 1, 'urgent')
  redis.call('ZADD', base .. 'scheduled', 1, 'late')
  redis.call('HSET', base .. 'job:claimed', 'status', 'processing', 'claim_token', 't', 'fence', '1', 'worker', 'w')
  redis.call('ZADD', base .. 'claims', now - 100000, 'claimed')
  redis.call('HSET', base .. 'job:late', 'status', 'scheduled')
end
redis.call('ZADD', base .. 'wake', 1, 'x')
`;

const KINDS: Record<string, { args: (string | number)[]; dead: RegExp | undefined; least: number }> = {
  id: { args: [], dead: /^@oversized:\d+$/, least: 6 },
  name: { args: [], dead: /^(large|urgent|late|claimed)$/, least: 3 },
  group: { args: [], dead: /^(large|urgent|late)$/, least: 3 },
  field: { args: FIELDS_OF_JOB, dead: /^(large|urgent|late|claimed)$/, least: 3 },
  count: { args: [FIELDS], dead: undefined, least: 0 },
};

const sha1 = (text: string) => createHash('sha1').update(text).digest('hex');
const textsOf = (name: Name) => [luaScripts[name], ...(changesJobs(name) ? [auditedScript(name).text] : [])];
const NAME_OF = new Map(NAMES.flatMap((name) => textsOf(name).map((text) => [sha1(text), name] as const)));

/** Adds the longest time of each script since the last call, in ms. Redis logs the commands of scripts too. */
async function addLongest(redis: Redis, found: Map<Name, number>): Promise<void> {
  const entries = (await redis.slowlog('GET', MOST_ENTRIES)) as [number, number, number, string[]][];
  await redis.slowlog('RESET');
  for (const [, , us, [command, sha = '']] of entries) {
    const name = /^evalsha/i.test(command!) ? NAME_OF.get(sha) : undefined;
    if (name) found.set(name, Math.max(found.get(name) ?? 0, us / 1_000));
  }
}

const others = new Set(Object.values(OTHERS).flatMap((names) => names.split(/\s+/)));

it('knows of each script whether a worker runs it', () => {
  expect([...others].filter((name) => !NAMES.includes(name as Name))).toEqual([]);
});

it.each(someOf(Object.keys(KINDS), 2))(
  'beside an outsize %s no script that a worker runs takes long, and the jobs are set aside',
  async (kind) => {
    const { args, dead, least } = KINDS[kind]!;
    const server = await startOwnRedis();
    const redis = connect({}, server.url);
    for (const text of NAMES.flatMap(textsOf)) await redis.script('LOAD', text);
    await redis.config('SET', 'slowlog-log-slower-than', '0');
    await redis.config('SET', 'slowlog-max-len', MOST_ENTRIES);
    const times = new Map<Name, number>();
    const { queue, other, worker } = await startScene(redis);
    await addLongest(redis, times);
    await redis.config('SET', 'slowlog-log-slower-than', '-1');
    await redis.eval(PLANT, 1, 'queue:attacked:', BYTES, kind, ...args);
    await redis.config('SET', 'slowlog-log-slower-than', '0');
    for (let i = 0; i < 20; i++) {
      await queue.enqueue({}, { group: 'g' }).catch(() => undefined);
      await queue.enqueue({}).catch(() => undefined);
      await sleep(100);
      await addLongest(redis, times);
    }
    const calls = await inside(queue).scripts();
    for (const call of DIRECT) await queue.store.exec(call(calls) as never).catch(() => undefined);
    await addLongest(redis, times);
    const setAside = async () => {
      const { jobs } = await queue.deadLetters.list({ limit: 100, mostBytes: 1_000 });
      return jobs.filter(({ id, name }) => dead?.test(id) && name.length <= 128).map(({ id }) => id);
    };
    await patiently(async () => (await setAside()).length >= least, { what: 'the jobs are set aside' }).catch(
      async (error: Error) => {
        throw new Error(`${error.message}: ${(await setAside()).join(', ')}`);
      },
    );
    await (await other.enqueue({})).result({ timeoutMs: 20_000 });
    await worker.stop({ timeoutMs: 500 }).catch(() => undefined);
    queue.close();
    other.close();
    redis.disconnect();
    await server.stop();
    if (process.env['OUTSIZE_TABLE']) {
      const rows = [...times].toSorted(([, a], [, b]) => b - a).map(([name, ms]) => `  ${name.padEnd(24)} ${ms}`);
      process.stdout.write(`${kind}: longest call in ms\n${rows.join('\n')}\n`);
    }
    const absent = NAMES.filter((name) => !times.has(name) && !others.has(name));
    expect({ kind, absent, slow: [...times].filter(([, ms]) => ms > MOST_MS) }).toEqual({
      kind,
      absent: [],
      slow: [],
    });
  },
  60_000,
);
