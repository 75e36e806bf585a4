// What a worker sends, and in which order, where the test says when each trip is answered.
import { expect, it, jest } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { ScriptCall } from '#queue/transport/script-runner.js';
import type { Settled } from '#queue/store/queue-store.js';
import { FetchLoop } from '#worker/fetch/fetch-loop.js';
import type { HandlerFunction } from '#worker/handlers/handler.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { SafeLogger } from '#queue/errors/safe-logger.js';
import { FailureLog } from '#worker/reports/failure-log.js';
import type { Attempt } from '#worker/attempt/attempt.js';
import { ClaimBudget } from '#worker/runner/claims.js';
import { QueueRunner } from '#worker/runner/queue-runner.js';
import { systemClock } from '#queue/runtime/clock.js';
import type { RetryingTransport } from '#queue/transport/retrying-transport.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { eventually } from '../../support/faults/wait.js';
import { askedClaim } from '../../support/worker/asked-claim.js';
import { inside } from '../../support/queue/inside.js';

const tickEnds = () => new Promise((resolve) => setImmediate(resolve));

/** Makes a worker with one slot in each queue, whose trips the test answers. Several queues are as in a Cluster. */
async function workerOfOne({
  handle = undefined as HandlerFunction | undefined,
  prefetch = 0,
  queues = 1,
  concurrency = Infinity,
  slotsOfEach = 1,
  claimsFromOne = false,
} = {}) {
  const log: string[] = [];
  const answers: ((reply: unknown) => void)[] = [];
  const carry = ([call]: ScriptCall<unknown>[]) => {
    const id = call!.script === 'attemptComplete' ? ` of ${call!.args[8]}` : '';
    log.push(call!.script.replace(/^(job|attempt)/, '').toLowerCase() + id);
    return new Promise<Settled<unknown>[]>((resolve) => answers.push((reply) => resolve([{ ok: true, reply }])));
  };
  const host = {
    changed: () => {},
    afterWake: () => undefined,
    expectsJobs: (runner: QueueRunner) => loop.expectJobs(runner),
    holdsSettlements: (runner: QueueRunner) => loop.expectSettlements(runner),
    settle: () => loop.settle(),
    emit: undefined,
    isolate: () => {},
    announce: () => {},
    interruptWait: () => undefined,
    releaseIsolated: () => {},
    expectIsolated: () => {},
    sendsBack: () => false,
    warn: () => {},
    failures: new FailureLog(SafeLogger.of(silentLogger)),
  };
  const run = ({ id }: { id: string }) => void log.push(`run ${id}`);
  const handlers = new Map([['mail', { handle: handle ?? run }]]);
  const runners: QueueRunner[] = [];
  for (let i = 0; i < queues; i++) {
    const { queue } = coreQueue();
    const calls = await inside(queue).scripts();
    const options = { queue, calls, handlers, concurrency: slotsOfEach, prefetch, budget: new ClaimBudget() };
    runners.push(new QueueRunner(options, host));
  }
  const transport = { carry } as unknown as RetryingTransport; // the loop calls nothing else
  const logger = { log: () => {}, warn: () => {}, error: () => {} };
  const look = () => loop.flush();
  const loop = new FetchLoop(
    {
      worker: 'w',
      together: runners.map((each) => [each]),
      room: () => {
        const used = runners.reduce((sum, runner) => sum + runner.claims.slots + runner.attempts.size, 0);
        return { slots: concurrency - used, jobs: concurrency - used };
      },
      claimsFromOne,
      transport,
      clock: systemClock,
      logger,
    },
    { answered: () => process.nextTick(look) },
  );
  const answerClaims = (trip: number, jobs: ClaimedJob[], limits = { isLimited: false, awaitsSlots: false }) =>
    answers[trip]!({ jobs, refused: [], nextDueInMs: undefined, isFull: false, isUnannounced: false, ...limits });
  const answerClaim = (trip: number, id: string) => answerClaims(trip, [claimed(id)]);
  return {
    runner: runners[0]!,
    runners,
    loop,
    log,
    answerClaim,
    answerClaims,
    answerCompletion: (trip: number) => answers[trip]!({ lost: [], followed: [] }),
    answerReleases: (trip: number) => answers[trip]!(['released']),
    start: look,
  };
}

/** Returns the reply to a claim: all jobs but `a` are prefetched. */
function answerOf(...ids: string[]) {
  return {
    jobs: ids.map((id) => ({ ...claimed(id), prefetched: id !== 'a' })),
    refused: [],
    nextDueInMs: undefined,
    isFull: false,
    isUnannounced: false,
    isLimited: false,
    awaitsSlots: false,
  };
}

function claimed(id: string) {
  return { id, name: 'mail', queue: 'mail', token: 't', fence: 1, attempt: 1, options: {} } as ClaimedJob;
}

it('claims the next job before it settles the last, and does not wait for that settlement', async () => {
  const { log, answerClaim, start } = await workerOfOne();
  start();
  answerClaim(0, 'a');
  await tickEnds();
  answerClaim(1, 'b');
  await tickEnds();
  expect(log).toEqual(['claim', 'run a', 'claim', 'complete of a', 'run b', 'claim']);
});

it('sends the end of a job before the next begins, which may crash or keep the process', async () => {
  const { log, answerClaim, answerCompletion, start } = await workerOfOne();
  start();
  answerClaim(0, 'a');
  await tickEnds();
  answerClaim(1, 'b');
  await tickEnds();
  answerCompletion(2); // of a, and in the same tick the next claim
  answerClaim(3, 'c');
  await tickEnds();
  expect(log.slice(6, 8)).toEqual(['complete of b', 'run c']);
});

it('sends the end of a job before one begins that was claimed ahead with it', async () => {
  const { log, answerClaims, start } = await workerOfOne();
  start();
  answerClaims(0, [claimed('a'), { ...claimed('b'), prefetched: true }]);
  await tickEnds();
  expect(log.slice(0, 4)).toEqual(['claim', 'run a', 'complete of a', 'run b']);
});

const awaitsSlots = { isLimited: true, awaitsSlots: true };

it('settles a job of a limited queue before it claims for the slot that this frees, also after a claim that found nothing', async () => {
  const { log, answerClaims, start } = await workerOfOne();
  start();
  answerClaims(0, [claimed('a')], awaitsSlots);
  await tickEnds();
  expect(log).toEqual(['claim', 'run a', 'complete of a', 'claim']);
});

it('claims for one half of the slots of a limited queue before the jobs of the other half begin', async () => {
  const { log, answerClaims, start } = await workerOfOne({ slotsOfEach: 2 });
  start();
  answerClaims(0, [claimed('a'), claimed('b')], awaitsSlots);
  await tickEnds();
  answerClaims(2, [claimed('c')], awaitsSlots);
  await tickEnds();
  expect(log).toEqual(['claim', 'run a', 'run b', 'complete of a', 'claim', 'claim', 'run c']);
});

it('releases at a pause the prefetched jobs with those of a claim in flight, so that their order stays', async () => {
  const { runner } = await workerOfOne({ handle: () => new Promise(() => {}), prefetch: 3 });
  const [first, second] = [
    runner.claims.reserve(askedClaim('trip', 3)),
    runner.claims.reserve(askedClaim('wait', 1)),
  ];
  runner.take(answerOf('a', 'b', 'c'), first);
  runner.close();
  expect(runner.settlements.releases).toEqual([]);
  runner.take(answerOf('d'), second);
  expect(runner.settlements.releases.map(({ settlement }) => settlement.id)).toEqual(['b', 'c', 'd']);
  expect(runner.state.running).toBe(1);
});

it.each([
  ['at once, where its claim was asked for just now', 1_000, ['run a']],
  ["not before Redis was asked, where it may be another's by now", 20_000, []],
])('begins a job %s', async (_, agoMs, log) => {
  const worker = await workerOfOne();
  const claim = worker.runner.claims.reserve(askedClaim('trip', 1));
  worker.runner.take(answerOf('a'), { ...claim, askedAtMs: performance.now() - agoMs });
  expect(worker.log).toEqual(log);
  await eventually(() => worker.runner.attempts.size === 0);
  expect(worker.log).toEqual(log); // Redis knows of no such claim
});

it.each([
  ['interruption', 'claims once that has arrived, since it comes first in the queue', []],
  ['snooze', 'claims at once, since it comes later', ['claim']],
] as const)('sends a job back before it claims: after an %s it %s', async (reason, _, claims) => {
  const { runner, log, answerReleases, start } = await workerOfOne();
  const attempt = { claim: claimed('a') } as Attempt;
  runner.settlements.release(attempt, { id: 'a', token: 't', fence: 1, reason, delayMs: 0 });
  start();
  expect([log, runner.capacity.freeForWait]).toEqual([['release', ...claims], 0]);
  answerReleases(0);
  await tickEnds();
  expect(log).toEqual(['release', 'claim']);
});

it('sends settlements of several queues of a Cluster in one tick, behind no claim of another', async () => {
  const { log, answerClaim, start } = await workerOfOne({ queues: 2 });
  start();
  expect(log).toEqual(['claim', 'claim']);
  answerClaim(1, 'a');
  await tickEnds();
  answerClaim(2, 'b'); // of the second again
  await tickEnds();
  expect(log.slice(2)).toEqual(['run a', 'claim', 'complete of a', 'run b', 'claim']);
});

it('is idle once no queue has a call in flight', async () => {
  const { runners, loop, answerClaims, start } = await workerOfOne({ queues: 2 });
  start();
  const idle = loop.idle().then(() => 'idle');
  runners.forEach((runner) => runner.close());
  answerClaims(1, []);
  await tickEnds();
  expect(await Promise.race([idle, tickEnds()])).toBeUndefined();
  answerClaims(0, []);
  expect(await idle).toBe('idle');
});

it('hands out each slot of the process once, in turns, whatever is in flight', async () => {
  const { runners, answerClaim, start } = await workerOfOne({
    queues: 3,
    concurrency: 2,
    handle: () => new Promise(() => {}),
  });
  const asked = () => runners.map(({ claims }) => claims.slots);
  start();
  expect(asked()).toEqual([1, 1, 0]);
  answerClaim(1, 'a');
  await tickEnds();
  expect(asked()).toEqual([1, 0, 0]);
  const { attempts } = runners[1]!;
  [...attempts].forEach((attempt) => attempts.delete(attempt)); // its job has ended
  start();
  expect(asked()).toEqual([1, 0, 1]);
});

it('asks only queues with ended jobs for them, since a process may have thousands of others', async () => {
  const { runners, log, answerClaim, start } = await workerOfOne({ queues: 3, concurrency: 3 });
  start();
  const asked = runners.map((runner, i) => {
    const taken = jest.spyOn(runner.settlements, 'take');
    return () => [i, taken.mock.calls.length];
  });
  answerClaim(0, 'a');
  await tickEnds();
  expect(log).toContain('complete of a');
  expect(asked.map((count) => count())).toEqual([
    [0, 1],
    [1, 0],
    [2, 0],
  ]);
});

it('leaves out a runner of a start that failed, whose announcement comes later', async () => {
  const [{ runner: failed }, { log, start, loop }] = [await workerOfOne(), await workerOfOne()];
  loop.expectJobs(failed);
  start();
  expect(log).toEqual(['claim']);
});

it('looks at no queue that had no job at its last claim, until it may have one again', async () => {
  const { runners, log, answerClaims, start } = await workerOfOne({ queues: 6 });
  start();
  runners.forEach((_, i) => answerClaims(i, i === 0 ? [claimed('a')] : []));
  await tickEnds();
  const looks = runners.map(({ prefetcher }) => jest.spyOn(prefetcher, 'measure'));
  const looked = () => looks.map((measure) => measure.mock.calls.length > 0);
  start();
  expect(looked().slice(1)).toEqual([false, false, false, false, false]);
  const before = log.length;
  runners[3]!.outlook.expectJobs();
  start();
  expect(looked().slice(1)).toEqual([false, false, true, false, false]);
  expect(log.slice(before)).toEqual(['claim']);
});

it('gives all slots to one queue at a time, if the worker claims from one, and the queues take turns', async () => {
  const worker = await workerOfOne({ queues: 3, concurrency: 4, slotsOfEach: 4, claimsFromOne: true });
  const asked = () => worker.runners.map(({ claims }) => claims.slots);
  worker.start();
  expect(asked()).toEqual([4, 0, 0]);
  worker.answerClaims(0, []);
  await tickEnds();
  expect(asked()).toEqual([0, 4, 0]);
  worker.answerClaims(1, []);
  await tickEnds();
  expect(asked()).toEqual([0, 0, 4]);
});

it('gives the slots of a claim without a reply to the next queue, if the worker claims from one', async () => {
  const worker = await workerOfOne({ queues: 2, concurrency: 4, slotsOfEach: 4, claimsFromOne: true });
  const asked = () => worker.runners.map(({ claims }) => claims.slots);
  worker.start();
  expect(asked()).toEqual([4, 0]);
  await eventually(() => asked()[0] === 0);
  worker.start();
  expect(asked()).toEqual([0, 4]);
  worker.answerClaim(0, 'a');
  await tickEnds();
  expect(worker.log.filter((line) => line.startsWith('run'))).toEqual(['run a']);
  expect(asked()[0]).toBe(0);
});
