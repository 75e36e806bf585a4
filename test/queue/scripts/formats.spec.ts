// What is stored, and how: each key that a scenario of all features leaves, with its content. docs/internals/formats.md has the
// table. A change of it needs another layout, because processes of two versions work on the same keys.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, expect, it, jest } from '@jest/globals';
import { encrypted } from '#queue/codec/encrypted.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { LAYOUT } from '#queue/scripts/layout.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import { systemClock } from '#queue/runtime/clock.js';
import { keptIn } from '#queue/runtime/collections.js';
import { KEYS, PARTS_BEFORE_IDS } from '#queue/validation/key-table.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { sealed as sealedText } from '../../support/queue/unsealed.js';
import { openedQueue } from '../../support/queue/core-queue.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { keysLike, read } from '../../support/redis/redis-reads.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const DAY = 86_400_000;
const redis = connect();
const name = uniqueQueueName();
const open: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(open.map((close) => close())));

/** Texts that are drawn, and what stands in their place. */
const drawn = new Map<string, string>();
/** The sorted sets whose scores are no instants and no counts. */
const SCORED = new Set([
  'prioritized',
  'scheduled',
  'schedule_due',
  'groups:turns',
  'groups:heads',
  'groups:waiting:{id}',
  'unique_expiries',
  'foreign_claims',
  'batch_record:{id}/open',
]);

function queueOf(part: string, options: QueueOptions = {}): JobQueue {
  return openedQueue(redis, `${name}-${part}`, options);
}

const FAILING = new Error('no');
FAILING.stack = 'Error: no\n    at handler (app.js:1:1)';

/** Uses each feature, so that each form of text is stored. */
async function useAll(): Promise<void> {
  await jobs();
  await newest();
  await signals();
  await ends();
  await batches();
  await groups();
  await schedules();
  await limits();
  await worker();
  await sealed();
  await elsewhere();
  await foreign();
}

async function jobs(): Promise<void> {
  const [queue, other] = [queueOf('jobs'), queueOf('other')];
  await queue.enqueue({ a: 1 }, { id: 'plain' });
  await queue.enqueue({}, { id: 'urgent', priority: 7 });
  await queue.enqueue({}, { id: 'urgent-too', priority: 7 });
  await queue.enqueue({}, { id: 'first', lifo: true });
  await queue.enqueue({}, { id: 'late', delayMs: DAY, metadata: { trace: 't' }, expiresInMs: 2 * DAY });
  const rules = { maxAttempts: 4, maxCrashes: 2, timeoutMs: 1_000, resultTtlMs: DAY, keepResult: false, cost: 3 };
  const backoff = { type: 'exponential', delayMs: 10, maxDelayMs: 100, jitter: 0.5 } as const;
  await queue.enqueue({}, { id: 'ruled', name: 'named', ...rules, backoff });
  await queue.enqueue({}, { id: 'until-claim', unique: { key: 'k1', for: 'pending' } });
  await queue.enqueue({}, { id: 'until-end', unique: { key: 'k2', for: 'unfinished' } });
  await queue.enqueue({}, { id: 'for-a-time', unique: { key: 'k3', for: { ms: DAY } } });
  await queue.enqueue({}, { id: 'replaced', unique: { key: 'k4', for: 'pending' } });
  await queue.enqueue({ b: 2 }, { id: 'replacing', unique: { key: 'k4', for: 'pending', onConflict: 'replace' } });
  await other.enqueue({}, { id: 'elsewhere' });
  const after = ['plain', 'late', { queue: other.name, id: 'elsewhere' }];
  await queue.enqueue({}, { id: 'after', after, delayMs: 5 });
}

async function newest(): Promise<void> {
  const queue = queueOf('newest');
  const unique = { key: 'k', for: 'pending', onConflict: 'replace', maxDelayMs: DAY } as const;
  await queue.enqueue({}, { id: 'debounced', unique, delayMs: 0 });
  await queue.fail((await queue.claim({ worker: 'w' }))!, FAILING, { delayMs: DAY });
  await queue.enqueue({}, { unique, delayMs: DAY });
  const stops = { key: 's', for: 'unfinished', onConflict: 'cancel-running' } as const;
  await queue.enqueue({}, { id: 'stopped', unique: stops });
  await queue.claim({ worker: 'w' });
  await queue.enqueue({}, { id: 'behind', unique: stops, delayMs: 5 });
}

async function signals(): Promise<void> {
  const queue = queueOf('signals');
  await queue.enqueue({}, { id: 'waits' });
  const claim = (await queue.claim({ worker: 'w' }))!;
  await queue.signal('waits', 'kept', { by: 'ada' });
  await queue.exec((calls) => calls.wait({ claim, name: 'kept', kind: 'signal', timeoutMs: DAY }));
  await queue.exec((calls) => calls.wait({ claim, name: 'nap', kind: 'sleep', timeoutMs: 0 }));
  await queue.exec((calls) => calls.wait({ claim, name: 'comes', kind: 'signal' }));
  await queue.exec((calls) => calls.release([{ ...claim, reason: 'wait', delayMs: 0 }]));
}

async function ends(): Promise<void> {
  const queue = queueOf('ends', { auditTrail: {}, outcomes: {}, history: true, events: 'always' });
  const next = async (id: string, options = {}) => {
    await queue.enqueue({}, { id, ...options });
    return (await queue.claim({ worker: 'w' }))!;
  };
  await queue.complete(await next('completed'), { done: true });
  await queue.enqueue({}, { id: 'never-ends', delayMs: DAY });
  const needed = await next('needed');
  await queue.enqueue({}, { id: 'needs', after: ['needed', 'never-ends'] });
  await queue.complete(needed, 1);
  await queue.fail(await next('retried', { maxAttempts: 3 }), FAILING, { delayMs: DAY });
  await queue.fail(await next('dead'), FAILING, { final: true });
  await queue.fail(await next('redriven'), FAILING, { final: true });
  await queue.release(await next('snoozed'), { delayMs: DAY });
  await queue.enqueue({}, { id: 'cancelled' });
  await queue.cancel('cancelled');
  await next('cancelling');
  await queue.cancel('cancelling');
  await queue.deadLetters.redriveAsNew('redriven');
  const [worst] = await queue.deadLetters.kinds();
  await queue.deadLetters.markKind(worst!.kind, { known: true, quietForMs: 60_000, note: 'ticket', by: 'ada' });
}

async function batches(): Promise<void> {
  const [queue, other, reporting] = [queueOf('batches'), queueOf('other'), queueOf('reporting')];
  const follow = { payload: { ok: true } };
  const growing = queue.batch({ id: 'open', failFast: true, then: { name: 'next', ...follow, priority: 2 } });
  await growing.add('member', {}, { id: 'here' });
  await growing.add('member', {}, { id: 'there', queue: other });
  const over = queue.batch({
    id: 'ended',
    then: { name: 'next', ...follow },
    onFailure: { name: 'bad', ...follow },
    finally: { name: 'last', ...follow, queue: other.name },
  });
  await over.add('ending', {}, { id: 'ends' });
  await over.add('ending', {}, { id: 'dies' });
  await over.seal();
  await queue.cancel('ends');
  await queue.cancel('dies');
  await eventually(async () => (await other.get('@batch-of:' + queue.name + ' ended:finally')) !== null);
  await queue.batch({ id: 'empty' }).seal();
  const waits = queue.batch({ id: 'outcomes' });
  await waits.add('ending', {}, { id: 'has-ended' });
  await waits.add('ending', {}, { id: 'waits' });
  await queue.cancel('has-ended');
  await queue.batch({ id: 'told-later' }).add('member', {}, { id: 'reports', queue: reporting });
  const job = (await reporting.claim({ worker: 'w' }))!;
  await reporting.exec((calls) => calls.complete([{ ...job, result: sealedText('1') }])); // and the process dies
}

async function groups(): Promise<void> {
  const queue = queueOf('groups');
  await queue.limits.set({ groups: { maxRunning: 1 } });
  await queue.groups.set('vip', { maxRunning: 2, weight: 3 });
  await queue.enqueue({}, { id: 'a1', group: 'a' });
  await queue.enqueue(
    {},
    { id: 'a2', group: 'a', priority: 4, expiresInMs: DAY, unique: { key: 'k', for: 'pending' } },
  );
  await queue.enqueue({}, { id: 'v1', group: 'vip', cost: 2 });
  await queue.enqueue({}, { id: 'v2', group: 'vip', delayMs: DAY });
  await queue.enqueue({}, { id: 'p1', group: 'paused' });
  await queue.claim({ worker: 'w' });
  await queue.groups.pause('paused', { forMs: DAY });
  await queue.groups.set('own', { rateLimit: { limit: 30, periodMs: 1_000 }, maxPending: 5 });
}

async function schedules(): Promise<void> {
  const queue = queueOf('schedules');
  await queue.schedules.upsert('daily', { cron: '0 6 * * *', timeZone: 'Europe/Berlin' }, { payload: { s: 1 } });
  await queue.schedules.upsert('often', { everyMs: DAY }, { overlap: false, maxAttempts: 2 });
  await queue.schedules.upsert('paused', { everyMs: DAY });
  await queue.schedules.pause('paused');
  await queue.schedules.runNow('often');
}

async function foreign(): Promise<void> {
  const queue = queueOf('foreign');
  const { keys } = (await queue.calls()) as QueueCalls;
  await redis.hset(keys.job('foreign'), {
    id: 'foreign',
    payload: '{}',
    status: 'processing',
    claim_token: 'theirs',
  });
  await redis.lpush(keys.processing, 'foreign');
  await queue.reclaim();
}

async function limits(): Promise<void> {
  const queue = queueOf('limits');
  const rateLimit = { limit: 30, periodMs: 1_000, burst: 5 };
  await queue.limits.set({ maxRunning: 3, maxPending: 1_000, maxPendingBytes: 1_000_000, rateLimit });
  await queue.enqueue({}, { id: 'costly', cost: 2 });
  await queue.claim({ worker: 'w' });
  await queue.pause({ forMs: DAY });
}

async function worker(): Promise<void> {
  const queue = queueOf('worked', { maxRunning: 9, history: true });
  const [reached, goesOn] = [gate(), gate()];
  const handle = async (job: Job) => {
    await job.step('mail', () => ({ sent: true }));
    await job.progress({ done: 1 });
    await job.log('a line');
    await job.checkpoint({ at: 5 });
    await job.stream.write('a chunk');
    reached.open();
    await goesOn.promise;
  };
  const handlers = { [queue.name]: { handle, maxAttempts: 5, maxCrashes: 2 } };
  const declared = { daily: { recurrence: { everyMs: DAY } } };
  const running = new Worker([{ queue, handlers, schedules: declared }], {
    app: 'shop',
    version: '1.2.3',
    sweepIntervalMs: 0,
  });
  await running.start();
  await queue.enqueue({}, { id: 'works' });
  await reached.promise;
  await eventually(async () => (await queue.schedules.list()).length === 1);
  drawn.set(running.id, '<worker>');
  open.push(async () => {
    goesOn.open();
    await running.stop();
  });
}

async function sealed(): Promise<void> {
  const queue = queueOf('sealed', {
    codec: encrypted([{ id: '2030-01', key: createHash('sha256').update('a key').digest() }]),
  });
  await queue.enqueue({ secret: 1 }, { id: 'sealed' });
  await queue.fail((await queue.claim({ worker: 'w' }))!, FAILING, { final: true });
}

async function elsewhere(): Promise<void> {
  const queue = queueOf('once');
  const { once } = await queue.calls();
  const job = { id: 'row', name: queue.name, payload: sealedText('{}') };
  await queue.exec(() =>
    once.enqueue({ sender: { source: 'outbox', fence: 3 }, entries: [{ key: 'row-1', job }] }),
  );
}

/** What differs from run to run, and what stands in its place. */
const VARYING: [RegExp, string][] = [
  [/"host":"[^"]+"/g, '"host":"<host>"'],
  [/"pid":\d+/g, '"pid":<pid>'],
  [/\b[0-9a-f]{40}\b/g, '<sha1>'],
  [/(2030-01)\.[\w+/=-]+/g, '$1.<bytes>'],
  [/\b1[789]\d{14}\b/g, '<us>'],
  [/\b1[789]\d{11}\b/g, '<ms>'],
  [/ 49\d{4} /g, ' <hour> '],
  [/\n/g, '⏎'],
  [/\t/g, '⇥'],
];

/** Returns a text without what differs from run to run. */
function lasting(text: string): string {
  const texts = [...drawn, [`${name}-`, '']] as const;
  const own = texts.reduce((rest, [from, to]) => rest.replaceAll(from, to), text);
  const form = VARYING.reduce((rest, [from, to]) => rest.replaceAll(from, to), own);
  return /^\d{1,6}$/.test(form) ? '<n>' : form;
}

/** Returns the key as the table has it: without its queue, and with `{id}` for an id. */
function keyOf(key: string): string {
  const own = key.split(':').slice(2).join(':');
  const part = [...PARTS_BEFORE_IDS, 'groups:running', 'groups:waiting', 'groups:state'].find(
    (each) => each !== 'groups' && own.startsWith(`${each}:`),
  );
  return part === undefined ? own : `${part}:{id}${/\/\w+$/.exec(own)?.[0] ?? ''}`;
}

/** Keys that the table does not have, because no process depends on what another version wrote there. */
const NOT_SHARED: Partial<Record<keyof typeof KEYS, string>> = {
  bulkRuns: 'the dashboard keeps its runs for a day',
  alerts: 'the record of one kind of process',
  profile: 'a measurement of an hour, which no older process asks for',
  history: 'figures for people, each with the names of its fields',
  historyOpen: 'figures of a minute, for people',
  historyMarks: 'deploys and outages, for people',
  historyBatchPrefix: 'the mark of a repeat, for minutes',
  outcomesB: 'as outcomesA, which alternates with it',
  events: 'a channel: nothing is kept',
  nudgePrefix: 'a member without content, for seconds',
  waiters: 'a member without content',
  maintainers: 'turns of seconds',
};

const notShared = new Set(Object.keys(NOT_SHARED).map((key) => KEYS[key as keyof typeof KEYS][0] as string));

type Row = [key: string, field: string, form: string];

/** Returns each form of text that a key has. Ids that stand alone have none. */
function rowsOf(key: string, content: unknown): Row[] {
  if (typeof content === 'string') return [[key, '', lasting(content)]];
  if (!Array.isArray(content)) {
    const fields = Object.entries(content as Record<string, string>);
    const isById = [
      'unique',
      'remote_members',
      'error_kinds',
      'error_marks',
      'outcomes_a',
      'once_fences',
      'worker_details',
      'batch_outbox',
    ].includes(key);
    return fields.map(([field, value]) => [
      key,
      isById || key.endsWith('/outcomes') ? '{id}' : field,
      lasting(value),
    ]);
  }
  if (content.every((each) => Array.isArray(each))) {
    return (content as [string, string[]][]).map(([, entry]) => [
      key,
      '',
      entry.filter((_, i) => i % 2 === 0).join(' '),
    ]);
  }
  const scores = SCORED.has(key) ? content.filter((_, i) => i % 2 === 1) : [];
  const refs = content.filter((each: string) => /[\t\n ]/.test(each));
  return [...refs, ...scores.map((score) => `score ${lasting(score as string)}`)].map((form) => [
    key,
    '',
    lasting(form as string),
  ]);
}

/** Returns the table of the page: a row for each key and field, with the forms of its texts. */
async function table(): Promise<string> {
  const rows = new Map<string, Set<string>>();
  for (const key of await keysLike(redis, `queue:${name}-*`)) {
    if (notShared.has(keyOf(key).replace('{id}', ''))) continue;
    for (const [of, field, form] of rowsOf(keyOf(key), await read(redis, key))) {
      keptIn(rows, `| \`${of}\` | ${field === '' ? '' : `\`${lasting(field)}\``} | `, () => new Set()).add(
        `\`${form}\``,
      );
    }
  }
  const lines = [...rows].map(([start, forms]) => `${start}${[...forms].toSorted().join(' · ')} |`);
  return ['| key | field | forms |', '|---|---|---|', ...lines.toSorted(), ''].join('\n');
}

const PAGE = new URL('../../../docs/internals/formats.md', import.meta.url);
const HEADING = '## What is stored\n\n';

it('stores what docs/internals/formats.md lists', async () => {
  const { randomId } = systemClock;
  jest.spyOn(systemClock, 'randomId').mockImplementation(() => {
    const id = randomId.call(systemClock);
    drawn.set(id, '<drawn>');
    return id;
  });
  await useAll();
  const found = await table();
  const parts = (await keysLike(redis, `queue:${name}-*`)).map((key) => keyOf(key).replace('{id}', ''));
  const unseen = Object.entries(KEYS).filter(
    ([, [part]]) => !parts.some((each) => (part.endsWith(':') ? each.startsWith(part) : each === part)),
  );
  expect(unseen.map(([key]) => key).filter((key) => !(key in NOT_SHARED))).toEqual([]);

  const page = readFileSync(PAGE, 'utf8');
  const [before = '', listed] = page.split(HEADING);
  if (process.env.UPDATE_FORMATS) writeFileSync(PAGE, `${before}${HEADING}${found}`);
  expect(`${HEADING}${found}`).toBe(`${HEADING}${listed}`);
});

it('has another layout if the table changes in a way that an older process cannot use', () => {
  const [before = '', listed = ''] = readFileSync(PAGE, 'utf8').split(HEADING);
  const layouts = [...before.matchAll(/^\| (\d+) \| `(\w+)` \| (.+) \|$/gm)].map(([, layout, digest]) => [
    Number(layout),
    digest,
  ]);
  const digest = createHash('sha256').update(listed).digest('hex').slice(0, 16);
  // Raise LAYOUT, and add a row with this digest. A row of the same layout may follow if older processes ignore what is new.
  expect(layouts.at(-1)).toEqual([LAYOUT, digest]);
  expect(layouts).toEqual(layouts.toSorted(([a], [b]) => Number(a) - Number(b)));
});
