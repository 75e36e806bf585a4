// The checks of simulated fleets, one by one: each finds its fault, and takes nothing else for it.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { sealJson } from '#queue/codec/sealed.js';
import { resolveQueueOptions } from '#queue/model/queue-options.js';
import { callsOfQueue } from '#queue/scripts/audited-calls.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import type { StoreCall } from '#queue/store/store-call.js';
import { decodedOf, type RedisCall, type ScriptCall } from '#queue/transport/script-runner.js';
import { toBytes } from '#memory/lua/values.js';
import type { QueueView } from '#memory/server/observed-server.js';
import { evaluate } from '#memory/server/texts.js';
import { History } from './history/history.js';
import { ScheduleRules } from './history/schedule-rules.js';
import { AUDITED, OPTIONS } from './release.js';
import { AuditCheck } from './server/audit-check.js';
import type { SentCall } from './server/network.js';
import { SimulatedServer } from './server/simulated-server.js';
import { WatchedServer } from './server/watched-server.js';

const START_MS = 1_700_000_000_000;

const zero = sealJson({}, '0', { queue: 'mixed', id: '' });

let now: number;
let server: SimulatedServer;
let calls: QueueCalls;
let queue: QueueView;
let watched: WatchedServer;
let history: History;

beforeEach(() => {
  now = START_MS;
  history = new History(() => now);
  server = new SimulatedServer(
    () => now,
    history.observer,
    () => 0.5,
  );
  open({});
  watched = new WatchedServer(
    server,
    () => undefined,
    () => now,
  );
});

function open(more: object): void {
  const options = resolveQueueOptions('queue', { ...OPTIONS, ...more });
  calls = callsOfQueue('mixed', options, false);
  server.watch(calls, options);
  queue = server.queues[0]!;
}

/** Runs a script at once. */
function ask<Reply>(call: StoreCall<Reply>): Reply {
  return decodedOf(call as RedisCall<Reply>, evaluate(server, call as ScriptCall<Reply>, false));
}

function send(command: string, ...args: string[]): void {
  server.send(command, args.map(toBytes));
}

function claim(): SentCall {
  return { script: 'attemptClaim', process: 'worker-0' };
}

function run(call: SentCall, ...ids: string[]): void {
  watched.run(call, () => {
    ids.forEach((id) => queue.claims.put(id, now + 1));
    return { jobs: [], refused: [] };
  });
}

describe('a repeated claim', () => {
  it('may take jobs that it did not find at first, after another claim of its worker', () => {
    const [first, other] = [claim(), claim()];
    run(first);
    run(other, 'a');
    run(first, 'b');
    expect([...watched.violations]).toEqual([]);
  });

  it('must not take more, whatever another claim of its worker found', () => {
    const [first, other] = [claim(), claim()];
    run(first, 'a');
    run(other);
    run(first, 'b');
    expect([...watched.violations]).toEqual(['I3: a repeated claim of worker-0 took 1 more jobs']);
  });
});

it.each(['attemptFail', 'attemptRelease'])('the repeat of %s must get the first reply', (script) => {
  const call = { script, process: 'worker-0' };
  watched.run(call, () => ['retry']);
  watched.run(call, () => ['retry']);
  expect([...watched.violations]).toEqual([]);
  watched.run(call, () => ['lost']);
  expect([...watched.violations]).toEqual([`I3: a repeated ${script} got another reply`]);
});

it('the repeat of a claim must get the first jobs', () => {
  const call = claim();
  watched.run(call, () => {
    queue.claims.put('a', now + 1);
    return { jobs: [{ id: 'a', fence: 1 }], refused: [] };
  });
  watched.run(call, () => ({ jobs: [], refused: [] }));
  expect([...watched.violations]).toEqual(['I3: a repeated attemptClaim got another reply']);
});

describe('a repeated enqueue', () => {
  const WINDOW_MS = 100;
  const call: SentCall = { script: 'jobEnqueue', process: 'producer' };
  const unique = { key: 'k', for: { ms: WINDOW_MS }, onConflict: 'keep' as const };
  const enqueue = (of: SentCall, id: string) =>
    watched.run(of, () =>
      ask(calls.enqueue([{ id, name: 'mixed', payload: zero, options: { unique, request: id } }])),
    );

  beforeEach(() => void enqueue({ ...call }, 'owner'));

  it('may add the job that a unique key kept away, if the time of the key has ended since', () => {
    expect(enqueue(call, 'late')).toMatchObject([{ id: 'owner', outcome: 'kept' }]);
    now += WINDOW_MS;
    expect(enqueue(call, 'late')).toMatchObject([{ id: 'late', outcome: 'new' }]);
    expect([...watched.violations]).toEqual([]);
  });

  it('must not add it within the time of the key', () => {
    enqueue(call, 'late');
    now += WINDOW_MS - 1;
    send('HDEL', queue.keys.unique, 'k');
    enqueue(call, 'late');
    expect([...watched.violations].join()).toMatch('I3: a repeated jobEnqueue changed the queue');
  });
});

describe('a repeated call', () => {
  it.each<[string, string, (keys: QueueView['keys']) => string, string[]]>([
    ['the sequence', 'INCR', ({ sequence }) => sequence, []],
    ['a history', 'LPUSH', ({ completed }) => completed, ['a']],
    ['a batch', 'ZADD', (keys) => keys.batchRecord('batch', 'open'), ['1', 'b']],
    ['the outbox', 'HSET', ({ batchOutbox }) => batchOutbox, ['a', 'end']],
    ['the rate', 'HSET', ({ settings }) => settings, ['rate_tat_us', '1']],
    ['the rate of a group', 'HSET', ({ groupsPrefix }) => `${groupsPrefix}state:g`, ['rate_tat_us', '1']],
  ])('must not change %s', (_, command, key, args) => {
    const call: SentCall = { script: 'jobUpdate', process: 'operator' };
    watched.run(call, () => 'updated');
    watched.run(call, () => 'updated');
    expect([...watched.violations]).toEqual([]);
    watched.run(call, () => send(command, key(queue.keys), ...args));
    expect([...watched.violations]).toEqual(['I3: a repeated jobUpdate changed the queue']);
  });

  it('may wake another worker', () => {
    const call: SentCall = { script: 'jobPromote', process: 'operator' };
    watched.run(call, () => 'pending');
    watched.run(call, () => send('ZADD', queue.keys.wake, '0', '1'));
    expect([...watched.violations]).toEqual([]);
  });
});

const CLAIM = { maxAttempts: 3, token: 'token', worker: 'worker-0', stream: '' };

describe('a repeated completion', () => {
  const claims = [{ id: 'short', token: 'token', fence: 1, result: '' as const, resultTtlMs: 1 }];
  const completion: SentCall = { script: 'attemptComplete', process: 'worker-0' };

  beforeEach(() => {
    ask(calls.enqueue([{ id: 'short', name: 'mixed', payload: zero }]));
    watched.run(claim(), () => ask(calls.claim({ ...CLAIM, count: 1, slots: 1 })));
    watched.run(completion, () => ask(calls.complete(claims)));
    now++;
  });

  it('may be the first call that looks at a job which has expired since', () => {
    watched.run(completion, () => ask(calls.complete(claims)));
    expect(queue.jobIds()).toEqual([]);
    expect([...watched.violations]).toEqual([]);
  });

  it('must not delete another job', () => {
    queue.write(queue.keys.job('other'), { status: 'completed' });
    watched.run(completion, () => send('UNLINK', queue.keys.job('other')));
    expect([...watched.violations]).toEqual(['I3: a repeated attemptComplete changed the queue']);
  });
});

describe('the holder of a unique key', () => {
  const { ended, waits } = {
    ended: () => {
      queue.write(queue.keys.job('owner'), { status: 'completed' });
      history.observer.changed(queue, 'owner', 'completed');
    },
    waits: () => queue.write(queue.keys.job('owner'), { status: 'pending' }),
  };
  const KEPT = 'unique: late was kept away by owner, which had ended';

  beforeEach(() => history.sent('owner', 'mixed', 3));

  it('keeps others away if it ended while the call that ran it again was on its way', () => {
    history.startsAnew('owner');
    ended();
    waits();
    history.unique.reopened(queue);
    history.unique.kept('late', 'owner', now + 1);
    expect([...history.violations]).toEqual([]);
  });

  it('must not keep others away if the call that was to run it again did not arrive', () => {
    ended();
    history.startsAnew('owner');
    history.unique.reopened(queue);
    history.unique.kept('late', 'owner', now + 1);
    expect([...history.violations]).toEqual([KEPT]);
  });

  it('keeps others away if its hash was deleted and its id enqueued again', () => {
    ended();
    history.observer.enqueued(queue, 'owner', {});
    history.unique.kept('late', 'owner', now + 1);
    expect([...history.violations]).toEqual([]);
  });
});

describe('a job with another payload than its update gave it', () => {
  const started = { id: 'a', attempt: 1, fence: 2, payload: 1, lastCheckpoint: undefined, metadata: {} };

  beforeEach(() => {
    history.sent('a', 'mixed', 3);
    history.runs.replaced('a', 5, 1);
  });

  it('is a fault', () => {
    history.started(started);
    expect([...history.violations]).toEqual(['payload: a began with 1 after it was changed to 5']);
  });

  it('is none if its hash was deleted, because its producer may have enqueued it again', () => {
    history.jobs.get('a')!.broken = true;
    history.started(started);
    expect([...history.violations]).toEqual([]);
  });
});

describe('the work of a call', () => {
  const ENDED = 6_000;
  const GROUPS = ['x', 'y', 'z'];
  const I4 = /^I4: one call of \w+ did \d+ steps for \d+ jobs$/;
  const request = { ...CLAIM, count: 11, slots: 8 };

  const wait = (count: number) =>
    ask(
      calls.enqueue(
        Array.from({ length: count }, (_, i) => ({
          id: `waiting-${i}`,
          name: 'mixed',
          payload: zero,
          options: { group: GROUPS[i % GROUPS.length]! },
        })),
      ),
    );

  it.each(
    ['attemptClaim', 'attemptRelease', 'sweepReclaim', 'sweepReclaimWorker', 'queueStats'].flatMap((script) => [
      { script, way: 'one by one' },
      { script, way: 'as a whole' },
    ]),
  )('may not grow with the jobs that have ended: $script, $way', ({ script, way }) => {
    const { completed } = queue.keys;
    const ids = Array.from({ length: ENDED }, (_, i) => `ended-${i}`);
    send('LPUSH', completed, ...ids);
    watched.run({ script, process: 'worker-0' }, () => {
      if (way === 'as a whole') send('LRANGE', completed, '0', '-1');
      else ids.forEach((id) => send('HGET', queue.keys.job(id), 'status'));
      return { jobs: [], refused: [] };
    });
    expect([...watched.violations].join()).toMatch(I4);
  });

  it('of a claim and of a release does not grow with the jobs that wait', () => {
    wait(300);
    const { jobs } = watched.run(claim(), () => ask(calls.claim(request)));
    expect(jobs.length).toBe(request.count);
    const releases = jobs.map(({ id, token, fence }) => ({
      id,
      token,
      fence,
      reason: 'interruption' as const,
      delayMs: 0,
    }));
    watched.run({ script: 'attemptRelease', process: 'worker-0' }, () => ask(calls.release(releases)));
    expect(queue.claims.size).toBe(0);
    expect([...watched.violations]).toEqual([]);
  });

  it('of a claim may not search the line for each job that it takes', () => {
    wait(300);
    watched.run(claim(), () => {
      const reply = ask(calls.claim(request));
      reply.jobs.forEach(() =>
        GROUPS.forEach((group) =>
          queue.waitingIn(group).forEach((id) => send('HGET', queue.keys.job(id), 'status')),
        ),
      );
      return reply;
    });
    expect([...watched.violations].join()).toMatch(I4);
  });
});

function audit(...entries: [id: string, from: string, to: string][]): string[] {
  const check = new AuditCheck();
  return entries.flatMap(([id, from, to]) => {
    send('XADD', queue.keys.audit, '*', 'id', id, 'from', from, 'to', to);
    return check.look(queue);
  });
}

describe('the audit trail', () => {
  it('has each status of a job, from its first on', () => {
    const jobs = [{ id: 'a', name: 'mixed', payload: zero }];
    open(AUDITED);
    ask(calls.enqueue(jobs));
    ask(calls.claim({ ...CLAIM, count: 1, slots: 1 }));
    ask(calls.complete([{ id: 'a', token: 'token', fence: 1, result: '' }]));
    expect(new AuditCheck().look(queue)).toEqual([]);
    expect(audit(['b', '', 'pending'], ['a', 'completed', 'pending'])).toEqual([]);
  });

  it('may not miss one', () => {
    expect(audit(['a', '', 'pending'], ['a', 'processing', 'completed'])).toEqual([
      'audit: a went from processing to completed, and was pending before',
    ]);
  });

  it('has no entry for a hash that expired', () => {
    expect(audit(['a', '', 'completed'], ['a', '', 'pending'])).toEqual([]);
  });
});

it.each([
  { aheadMs: 1, jumps: 0, isEarly: true },
  { aheadMs: 99, jumps: 1, isEarly: false },
  { aheadMs: 100, jumps: 1, isEarly: true },
])('the time in the id of a tick may be ahead only where a time comes again: %j', ({ aheadMs, jumps, isEarly }) => {
  now = 1_700_000_000_000;
  const faults: string[] = [];
  const rules = new ScheduleRules((fault) => faults.push(fault));
  if (jumps > 0) rules.clockJumped(now);

  rules.enqueued(queue, `@schedule:report:${now + aheadMs}`);

  expect(faults.some((fault) => fault.includes('before it was due'))).toBe(isEarly);
});

it.each([
  { jumpsToMs: undefined, isTwice: true },
  { jumpsToMs: 1_700_000_000_000, isTwice: true },
  { jumpsToMs: 1_699_999_999_999, isTwice: false },
])('a tick may be made again only where its time comes again: %j', ({ jumpsToMs, isTwice }) => {
  now = 1_700_000_000_000;
  const faults: string[] = [];
  const rules = new ScheduleRules((fault) => faults.push(fault));
  const id = `@schedule:report:${now}`;
  rules.enqueued(queue, id);
  if (jumpsToMs !== undefined) rules.clockJumped(jumpsToMs);

  rules.enqueued(queue, id);

  expect(faults.includes(`tick: ${id} was made twice`)).toBe(isTwice);
});

describe('the tick after one that was made', () => {
  const SECOND_MS = 1_000;
  const dueMs = 1_700_000_000_000;
  let faults: string[];
  let rules: ScheduleRules;
  const tick = (atMs: number, nextDueMs: number) => {
    now = Math.max(now, atMs);
    queue.scheduleDue.put('each-second', nextDueMs);
    rules.enqueued(queue, `@schedule:each-second:${atMs}`);
  };

  beforeEach(() => {
    now = dueMs;
    faults = [];
    rules = new ScheduleRules((fault) => faults.push(fault));
    tick(dueMs, dueMs + SECOND_MS);
  });

  it('may be a later one if its maker read the clock before it was set back', () => {
    rules.clockJumped(now);
    tick(dueMs + SECOND_MS, dueMs + 600 * SECOND_MS);
    tick(dueMs + 3 * SECOND_MS, dueMs + 4 * SECOND_MS);
    expect(faults).toEqual([]);
    tick(dueMs + 5 * SECOND_MS, dueMs + 6 * SECOND_MS);
    expect(faults.join()).toMatch(`that of ${dueMs + 4 * SECOND_MS} was not made`);
  });

  it('must come soon then', () => {
    rules.clockJumped(now);
    tick(dueMs + SECOND_MS, dueMs + 600 * SECOND_MS);
    queue.write(queue.keys.schedule('each-second'), { ticks: '2' });
    now += 28 * SECOND_MS;
    rules.looks(queue);
    expect(faults).toEqual([]);
    now++;
    rules.looks(queue);
    expect(faults.join()).toMatch('each-second is silent');
  });

  it.each([false, true])('must be the next one otherwise, after a jump: %j', (hasJumped) => {
    if (hasJumped) {
      rules.clockJumped(now);
      tick(dueMs + SECOND_MS, dueMs + 2 * SECOND_MS);
    }
    const nextMs = dueMs + (hasJumped ? 2 : 1) * SECOND_MS;
    tick(nextMs + SECOND_MS, nextMs + 2 * SECOND_MS);
    expect(faults.join()).toMatch(`that of ${nextMs} was not made`);
  });

  it('must be the next one if a second tick after a jump has a late due time', () => {
    rules.clockJumped(now);
    tick(dueMs + SECOND_MS, dueMs + 2 * SECOND_MS);
    tick(dueMs + 2 * SECOND_MS, dueMs + 600 * SECOND_MS);
    tick(dueMs + 4 * SECOND_MS, dueMs + 5 * SECOND_MS);
    expect(faults.join()).toMatch(`that of ${dueMs + 3 * SECOND_MS} was not made`);
  });
});

it.each([
  { due: 100, taken: 32, faults: [] },
  { due: 101, taken: 0, faults: ['I4: one claim made 101 jobs ready'] },
  { due: 0, taken: 101, faults: ['I4: one claim took 101 jobs'] },
])('a claim makes a slice of due jobs ready, and fills the slots of a worker: %j', ({ due, taken, faults }) => {
  const ids = Array.from({ length: due }, (_, i) => `due-${i}`);
  ids.forEach((id) => queue.scheduled.put(id, now));
  watched.run(claim(), () => {
    ids.forEach((id) => queue.scheduled.remove(id));
    Array.from({ length: taken }, (_, i) => queue.claims.put(`taken-${i}`, now + 1));
    return { jobs: [], refused: [] };
  });
  expect([...watched.violations]).toEqual(faults);
});

function end(script: string, count: number): void {
  const ids = Array.from({ length: count }, (_, i) => `ended-${script}-${i}`);
  ids.forEach((id) => queue.claims.put(id, now + 1));
  watched.run({ script, process: 'worker-0' }, () => {
    ids.forEach((id) => queue.claims.remove(id));
    return ids.map(() => 'ok');
  });
}

function hold(count: number): void {
  watched.run(claim(), () => {
    for (let i = 0; i < count; i++) {
      const job = { status: 'processing', worker: 'worker-0', fence: String(i), [`unstarted:${i}`]: '1' };
      queue.write(queue.keys.job(`held-${i}`), job);
      queue.claims.put(`held-${i}`, now + 1);
    }
    return { jobs: [], refused: [] };
  });
}

const ahead = (count: number) => [`ahead: worker-0 holds ${count} jobs of mixed that have not started`];

describe('a worker', () => {
  it.each([
    { held: 24, ended: 0, waitMs: 0, isTooMany: false },
    { held: 25, ended: 0, waitMs: 0, isTooMany: true },
    { held: 40, ended: 40, waitMs: 500, isTooMany: false },
    { held: 40, ended: 39, waitMs: 0, isTooMany: true },
    { held: 40, ended: 40, waitMs: 501, isTooMany: true },
  ])('holds no more unstarted jobs than it has ended lately: %j', ({ held, ended, waitMs, isTooMany }) => {
    end('attemptComplete', Math.min(ended, 20));
    end('attemptFail', Math.max(0, ended - 20));
    now += waitMs;
    hold(held);
    expect([...watched.violations]).toEqual(isTooMany ? ahead(held) : []);
  });

  it('may hold jobs that it claimed at a better pace', () => {
    end('attemptComplete', 40);
    hold(40);
    now += 501;
    run(claim(), 'another');
    run({ script: 'attemptClaim', process: 'worker-1' }, 'a third');
    expect([...watched.violations]).toEqual([]);
  });
});
