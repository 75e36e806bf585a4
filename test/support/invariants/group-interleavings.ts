// Random interleavings of all that can happen to grouped jobs, with crashes, lost replies and repeats. After every step
// the used slots equal the claims, no group exceeds its limit, and claims find every runnable group. At the end every
// job that may run does so, without a repair.
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { RuntimeLimits } from '#queue/model/limits.js';
import type { ScriptCall } from '#queue/transport/script-runner.js';
import { groupViolations } from './group-invariants.js';
import fc from '../queue/properties.js';
import { violations } from './invariants.js';
import { SlotWatch } from './slot-watch.js';
import { testQueue, type TestQueue } from '../queue/queue-state.js';

const HOUR = 3_600_000;
const GROUPS = ['a', 'b', 'c'];
const error = { name: 'Error', message: 'no' };

/** A sequence: its queue, the claims that its worker believes it holds, and all earlier calls for repeats. */
interface Play {
  q: TestQueue;
  held: ClaimedJob[];
  sent: ScriptCall<unknown>[];
  ids: string[];
}

type Step = (play: Play) => Promise<unknown>;

async function send<Reply>(play: Play, call: ScriptCall<Reply>): Promise<Reply> {
  play.sent.push(call);
  return play.q.run(call);
}

function take(play: Play, pick: number): ClaimedJob | undefined {
  return play.held.splice(pick % Math.max(1, play.held.length), 1)[0];
}

const scripts = (play: Play) => play.q.scripts;
const pickId = (play: Play, pick: number) => play.ids[pick % Math.max(1, play.ids.length)] ?? 'none';

/** Makes a step on one of the held claims. */
function onClaim(act: (play: Play, job: ClaimedJob) => ScriptCall<unknown>) {
  return fc.nat(20).map((pick): Step => async (play) => {
    const job = take(play, pick);
    await (job && send(play, act(play, job)));
  });
}

/** Makes a step on a job in any place. */
function onId(act: (play: Play, id: string) => ScriptCall<unknown>) {
  return fc.nat(60).map(
    (pick): Step =>
      (play) =>
        send(play, act(play, pickId(play, pick))),
  );
}

function onGroup(act: (play: Play, group: string) => ScriptCall<unknown>) {
  return fc.constantFrom(...GROUPS).map(
    (group): Step =>
      (play) =>
        send(play, act(play, group)),
  );
}

const enqueue = fc
  .record({
    group: fc.constantFrom(...GROUPS, undefined),
    priority: fc.constantFrom(undefined, 5),
    cost: fc.constantFrom(undefined, 3),
    delay_ms: fc.constantFrom(undefined, undefined, HOUR),
    max_attempts: fc.constantFrom(undefined, undefined, 1, 3),
    bytes: fc.constantFrom(0, 1_000),
  })
  .map(({ bytes, ...options }): Step => (play) => {
    const id = `j${play.ids.length}`;
    play.ids.push(id);
    const payload = JSON.stringify('x'.repeat(bytes));
    const worker = options.group && JSON.stringify({ group: options.group });
    return send(
      play,
      play.q.enqueueCall([{ id, name: play.q.name, payload, options: JSON.stringify({ ...options, worker }) }]),
    );
  });

const claimSize = fc.record({
  count: fc.integer({ min: 1, max: 6 }),
  mostBytes: fc.constantFrom(undefined, 1_500),
});

const claim = claimSize.map(({ count, mostBytes }): Step => async (play) => {
  const { jobs, refused } = await send(play, play.q.claimCall(count, { ...(mostBytes && { mostBytes }) }));
  play.held.push(...jobs);
  await (refused.length > 0 &&
    send(play, scripts(play).fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 })))));
});

const fail = (final: boolean, backoffMs: number) =>
  onClaim((play, job) => scripts(play).fail([{ ...job, error, final, backoffMs, begun: true }]));
const release = (reason: 'interruption' | 'snooze' | 'rate_limited', delayMs: number) =>
  onClaim((play, job) => scripts(play).release([{ ...job, reason, delayMs }]));

/** Repeats a claim whose reply was lost, with fewer bytes: the jobs that exceed them go back. */
const claimAgainWithFewerBytes: Step = async (play) => {
  const token = `again-${play.sent.length}`;
  await send(play, play.q.claimCall(4, { token }));
  const { jobs, refused } = await play.q.run(play.q.claimCall(4, { token, mostBytes: 1_200 }));
  play.held.push(...jobs);
  await (refused.length > 0 &&
    send(play, scripts(play).fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 })))));
};

/** A purge, cut short or complete. */
const purge = fc.constantFrom(2, 1_000).map(
  (limit): Step =>
    (play) =>
      send(play, scripts(play).purge({ limit })),
);

const clean = fc.constantFrom('grouped', 'scheduled', 'failed').map(
  (place): Step =>
    (play) =>
      send(play, scripts(play).clean({ place, olderThanMs: 0, limit: 3, passed: 0 })),
);

const crash: Step = async (play) => {
  await play.q.expireClaims(...play.held.map(({ id }) => id));
  await send(play, scripts(play).sweep.reclaim({ limit: 3, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 })); // its worker does not know, and settles later
};

const becomeDue: Step = async (play) => {
  await play.q.makeDue(...play.ids);
  await send(play, scripts(play).sweep.promote({ limit: 5 }));
};

/** The reply was lost: the client sends one of its calls again. */
const repeat = fc.nat(200).map((pick): Step => async (play) => {
  const call = play.sent[pick % Math.max(1, play.sent.length)];
  await (call && play.q.run(call));
});

/** A rate so fast that time lets the next job start at once. */
const FAST = { limit: 1_000, periodMs: 1_000, burst: 2 };

const limits = fc
  .record({
    rateLimit: fc.constantFrom(undefined, undefined, FAST),
    maxRunning: fc.constantFrom(1, 1, 2, undefined),
    weight: fc.constantFrom(1, 4),
    onDeadHead: fc.constantFrom('skip' as const, 'hold' as const),
  })
  .chain((groups) =>
    fc.record({
      groups: fc.constant(groups),
      maxRunning: fc.constantFrom(undefined, undefined, 1, 3),
      rateLimit: fc.constantFrom(undefined, undefined, FAST),
    }),
  )
  .map(
    (of): Step =>
      (play) =>
        send(play, scripts(play).limits.set(of as RuntimeLimits)),
  );

const step = fc.oneof(
  { weight: 8, arbitrary: enqueue },
  { weight: 8, arbitrary: claim },
  { weight: 2, arbitrary: fc.constant(claimAgainWithFewerBytes) },
  { weight: 1, arbitrary: purge },
  { weight: 1, arbitrary: clean },
  { weight: 4, arbitrary: onClaim((play, job) => scripts(play).complete([{ ...job, result: '' }])) },
  { weight: 2, arbitrary: fail(false, 0) },
  { weight: 2, arbitrary: fail(false, HOUR) },
  { weight: 2, arbitrary: fail(true, 0) },
  { weight: 2, arbitrary: release('interruption', 0) },
  { weight: 1, arbitrary: release('snooze', HOUR) },
  { weight: 1, arbitrary: release('rate_limited', 2) },
  { weight: 2, arbitrary: fc.constant(crash) },
  { weight: 2, arbitrary: fc.constant(becomeDue) },
  { weight: 3, arbitrary: repeat },
  { weight: 1, arbitrary: limits },
  { weight: 1, arbitrary: onId((play, id) => scripts(play).cancel({ id })) },
  { weight: 1, arbitrary: onId((play, id) => scripts(play).remove({ id })) },
  { weight: 1, arbitrary: onId((play, id) => scripts(play).deadLetters.redrive({ ids: [id] })) },
  { weight: 1, arbitrary: onId((play, id) => scripts(play).reschedule({ id, delayMs: 0 })) },
  { weight: 1, arbitrary: onId((play, id) => scripts(play).reschedule({ id, delayMs: HOUR })) },
  { weight: 1, arbitrary: onGroup((play, group) => scripts(play).groups.pause({ name: group })) },
  { weight: 1, arbitrary: onGroup((play, group) => scripts(play).groups.resume({ name: group })) },
  { weight: 1, arbitrary: onGroup((play, group) => scripts(play).groups.clear({ name: group })) },
);

/**
 * Ends what rightly holds jobs back: claims of dead workers, delays, pauses, and dead letters, which are redriven. Then
 * a worker takes and completes until nothing is left. Repairs nothing, so that a stuck hold or slot is found.
 */
async function finish(play: Play): Promise<void> {
  const { q } = play;
  await q.expireClaims(...(await q.ranked(q.keys.claims)));
  await q.run(q.scripts.sweep.reclaim({ limit: 1_000, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
  await q.makeDue(...(await q.ranked(q.keys.scheduled)));
  for (const group of GROUPS) {
    await q.run(q.scripts.groups.resume({ name: group }));
  }
  for (let idle = 0; idle < 50;) {
    await q.run(q.scripts.deadLetters.redrive({ ids: await q.ranked(q.keys.dead) }));
    const { jobs, refused } = await q.run(q.claimCall(5));
    await (refused.length > 0 &&
      q.run(q.scripts.fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 })))));
    await (jobs.length > 0 && q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '' })))));
    const { pending } = await q.run(q.scripts.stats());
    if (pending === 0) return;
    idle = jobs.length + refused.length > 0 ? 0 : idle + 1;
    await pause(1); // the fast rates, and rests of 2 ms
  }
}

/** Plays this many random sequences, and checks the slots after each step. */
export async function playInterleavings(runs: number): Promise<void> {
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
    const play: Play = { q: testQueue({ maxAttempts: 3 }), held: [], sent: [], ids: [] };
    const { q } = play;
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
    const slots = new SlotWatch();
    for (const each of steps) {
      await each(play);
      expect(await slots.look(q.redis, q.scripts)).toEqual([]);
      expect(await groupViolations(q.redis, q.keys, GROUPS)).toEqual([]);
    }
    await finish(play);
    expect(await q.run(q.scripts.stats())).toMatchObject({ pending: 0, scheduled: 0, processing: 0 });
    expect(await violations(q.redis, q.scripts)).toEqual([]);
    await q.deleteKeys(); // the look above goes through all keys of the server
    q.broken = true; // spares these queues a second check at the end of the test
  });
  await fc.assert(property, { numRuns: runs });
}
