// The checks of simulated fleets, one by one: each finds its fault, and takes nothing else for it.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryServer } from '#memory/memory-server.js';
import type { MemoryQueue } from '#memory/state/memory-queue.js';
import { FollowUpBatch } from '#memory/state/follow-up-batch.js';
import { enqueue } from '#memory/verbs/enqueue.js';
import { claim as claimJobs } from '#memory/verbs/attempt/claim.js';
import { complete, release } from '#memory/verbs/attempt/settle.js';
import { mark } from '#memory/verbs/attempt/unstarted.js';
import { stats } from '#memory/verbs/operate/stats.js';
import type { MemberEnd } from '#queue/model/batch.js';
import { History } from './history/history.js';
import { ScheduleRules } from './history/schedule-rules.js';
import type { SentCall } from './server/network.js';
import { WatchedServer } from './server/watched-server.js';
import { OPTIONS } from './release.js';

const START_MS = 1_000;
const END: MemberEnd = { queue: 'other', batch: 'b', id: 'a', number: '0', state: 'completed', detail: '' };

let now: number;
let server: MemoryServer;
let queue: MemoryQueue;
let watched: WatchedServer;
let history: History;

beforeEach(() => {
  now = START_MS;
  server = new MemoryServer(() => now);
  queue = server.queue('mixed', OPTIONS as MemoryQueue['options']);
  watched = new WatchedServer(
    () => server.all,
    undefined,
    () => undefined,
    () => now,
  );
  history = new History(() => now);
});

function claim(): SentCall {
  return { script: 'attemptClaim', process: 'worker-0' };
}

function run(call: SentCall, ...ids: string[]): void {
  watched.run(call, () => {
    ids.forEach((id) => queue.claims.set(id, now + 1));
    return { jobs: [], refused: [] };
  });
}

function read(times: number) {
  return watched.run({ script: 'queueStats', process: 'worker-0' }, () => {
    for (let i = 1; i < times; i++) {
      stats(queue);
    }
    return stats(queue);
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
    queue.claims.set('a', now + 1);
    return { jobs: [{ id: 'a', fence: 1 }], refused: [] };
  });
  watched.run(call, () => ({ jobs: [], refused: [] }));
  expect([...watched.violations]).toEqual(['I3: a repeated attemptClaim got another reply']);
});

describe('a repeated enqueue', () => {
  const WINDOW_MS = 100;
  const call: SentCall = { script: 'jobEnqueue', process: 'producer' };
  const unique = { key: 'k', for: { ms: WINDOW_MS }, onConflict: 'keep' as const };
  const send = (of: SentCall, id: string) =>
    watched.run(of, () => enqueue(queue, [{ id, name: 'mixed', payload: '0', options: { unique, request: id } }]));

  beforeEach(() => void send({ ...call }, 'owner'));

  it('may add the job that a unique key kept away, if the time of the key has ended since', () => {
    expect(send(call, 'late')).toMatchObject([{ id: 'owner', outcome: 'kept' }]);
    now += WINDOW_MS;
    expect(send(call, 'late')).toMatchObject([{ id: 'late', outcome: 'new' }]);
    expect([...watched.violations]).toEqual([]);
  });

  it('must not add it within the time of the key', () => {
    send(call, 'late');
    now += WINDOW_MS - 1;
    queue.unique.delete('k');
    send(call, 'late');
    expect([...watched.violations].join()).toMatch('I3: a repeated jobEnqueue changed the queue');
  });
});

describe('a repeated call', () => {
  it.each<[string, () => unknown]>([
    ['the sequence', () => queue.sequence++],
    ['a history', () => queue.completed.push('a')],
    ['a batch', () => queue.followUps.get('batch')!.join('b')],
    ['the outbox', () => queue.outbox.entries.set('a', END)],
    ['the rate', () => queue.flow.arrival++],
    ['the rate of a group', () => queue.flow.group('g').arrival++],
  ])('must not change %s', (_, change) => {
    const call: SentCall = { script: 'jobUpdate', process: 'operator' };
    queue.flow.group('g');
    queue.followUps.set('batch', new FollowUpBatch({ id: 'batch', followUps: [] } as never, now));
    watched.run(call, () => 'updated');
    watched.run(call, () => 'updated');
    expect([...watched.violations]).toEqual([]);
    watched.run(call, change);
    expect([...watched.violations]).toEqual(['I3: a repeated jobUpdate changed the queue']);
  });
});

describe('a repeated completion', () => {
  const claims = [{ id: 'short', token: 'token', fence: 1, result: '', resultTtlMs: 1 }];
  const completion: SentCall = { script: 'attemptComplete', process: 'worker-0' };

  beforeEach(() => {
    queue.jobs.set('short', { payload: '0' });
    queue.toBack('short', queue.jobs.get('short')!);
    const request = { count: 1, slots: 1, maxAttempts: 3, token: 'token', worker: 'worker-0', stream: '' };
    watched.run(claim(), () => claimJobs(queue, request));
    watched.run(completion, () => complete(queue, claims));
    now++;
  });

  it('may be the first call that looks at a job which has expired since', () => {
    watched.run(completion, () => complete(queue, claims));
    expect(queue.jobs.size).toBe(0);
    expect([...watched.violations]).toEqual([]);
  });

  it('must not delete another job', () => {
    queue.jobs.set('other', { status: 'completed' });
    watched.run(completion, () => queue.drop('other'));
    expect([...watched.violations]).toEqual(['I3: a repeated attemptComplete changed the queue']);
  });
});

describe('the holder of a unique key', () => {
  const { ended, waits } = {
    ended: () => {
      queue.jobs.set('owner', { status: 'completed' });
      history.observer.changed(queue, 'owner', 'completed');
    },
    waits: () => queue.jobs.set('owner', { status: 'pending' }),
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

describe('the statistics of a queue', () => {
  const WAITING = 2_500;

  beforeEach(() => {
    queue.flow.group('held').pause = { atMs: now };
    for (let i = 0; i < WAITING; i++) {
      const id = String(i);
      queue.jobs.set(id, { group: 'held' });
      queue.toBack(id, queue.jobs.get(id)!);
    }
  });

  it('look once at each waiting job', () => {
    expect(read(1).heldByGroups).toBe(WAITING);
    expect([...watched.violations]).toEqual([]);
  });

  it('are found to look at each of them twice', () => {
    read(2);
    expect([...watched.violations].join()).toMatch(/^I4: one call of queueStats looked at jobs \d+ times$/);
  });

  it('look twice at each claim of a group with slots, whatever the number of its first jobs', () => {
    queue.flow.group('held').pause = undefined;
    queue.flow.setGroup('held', { maxRunning: 1 });
    for (let i = 0; i < 1_000; i++) {
      queue.jobs.set(`claimed-${i}`, { group: 'held' });
      queue.claims.set(`claimed-${i}`, now + 1);
    }
    read(1);
    expect([...watched.violations]).toEqual([]);
  });
});

describe('the work of a call', () => {
  const ENDED = 3_000;
  const GROUPS = ['x', 'y', 'z'];
  const WAITING = 300;
  const only = { limits: [{ name: 'mixed', maxAttempts: 3, maxCrashes: 3 }], cursor: -1 };
  const request = { count: 11, slots: 8, maxAttempts: 3, token: 'token', worker: 'worker-0', stream: '', only };
  const taken = () => claimJobs(queue, request);
  const I4 = /^I4: one call of \w+ looked at jobs \d+ times$/;

  const wait = (count: number) => {
    for (let i = 0; i < count; i++) {
      const job = { payload: '0', group: GROUPS[i % GROUPS.length]! };
      queue.jobs.set(`waiting-${i}`, job);
      queue.toBack(`waiting-${i}`, job);
    }
  };

  it.each(
    ['attemptClaim', 'attemptRelease', 'sweepReclaim', 'sweepReclaimWorker', 'queueStats'].flatMap((script) => [
      { script, way: 'one by one' },
      { script, way: 'as a whole' },
    ]),
  )('may not grow with the jobs that have ended: $script, $way', ({ script, way }) => {
    wait(50);
    for (let i = 0; i < ENDED; i++) {
      queue.jobs.set(`ended-${i}`, { status: 'completed' });
    }
    const ids = [...queue.jobs.keys()];
    watched.run({ script, process: 'worker-0' }, () => {
      void (way === 'as a whole' ? [...queue.jobs] : ids.map((id) => queue.jobs.get(id)));
      return { jobs: [], refused: [] };
    });
    expect([...watched.violations].join()).toMatch(I4);
  });

  it('of a claim may search the line for each job that it takes', () => {
    wait(WAITING);
    const { jobs } = watched.run(claim(), taken);
    expect(jobs.length).toBe(request.count);
    expect([...watched.violations]).toEqual([]);
  });

  it('of a claim may not search the line twice for each job that it takes', () => {
    wait(WAITING);
    watched.run(claim(), () => {
      const reply = taken();
      reply.jobs.forEach(() => queue.pending.forEach((id) => queue.jobs.get(id)));
      return reply;
    });
    expect([...watched.violations].join()).toMatch(I4);
  });

  it('of a release may search the line for the place of each job', () => {
    wait(WAITING);
    const { jobs } = watched.run(claim(), taken);
    queue.pending.forEach((id) => (queue.jobs.get(id)!.group = 'other'));
    const releases = jobs.map(({ id, token, fence }) => ({
      id,
      token,
      fence,
      reason: 'interruption' as const,
      delayMs: 0,
    }));
    watched.run({ script: 'attemptRelease', process: 'worker-0' }, () => release(queue, releases));
    expect(queue.claims.size).toBe(0);
    expect([...watched.violations]).toEqual([]);
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
    queue.scheduleDue.set('each-second', nextDueMs);
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
    queue.schedules.set('each-second', { ticks: '2' });
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
  ids.forEach((id) => queue.scheduled.set(id, now));
  watched.run(claim(), () => {
    ids.forEach((id) => queue.scheduled.delete(id));
    Array.from({ length: taken }, (_, i) => queue.claims.set(`taken-${i}`, now + 1));
    return { jobs: [], refused: [] };
  });
  expect([...watched.violations]).toEqual(faults);
});

function end(script: string, count: number): void {
  const ids = Array.from({ length: count }, (_, i) => `ended-${script}-${i}`);
  ids.forEach((id) => queue.claims.set(id, now + 1));
  watched.run({ script, process: 'worker-0' }, () => {
    ids.forEach((id) => queue.claims.delete(id));
    return ids.map(() => 'ok');
  });
}

function hold(count: number): void {
  watched.run(claim(), () => {
    for (let i = 0; i < count; i++) {
      const job = { status: 'processing', worker: 'worker-0', fence: String(i) };
      mark(job);
      queue.jobs.set(`held-${i}`, job);
      queue.claims.set(`held-${i}`, now + 1);
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
