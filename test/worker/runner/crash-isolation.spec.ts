// The checks in Redis before an isolated job starts, by the age of its claim.
import { describe, expect, it } from '@jest/globals';
import { CrashIsolation } from '#worker/runner/crash-isolation.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { SafeLogger } from '#queue/errors/safe-logger.js';
import { FailureLog } from '#worker/reports/failure-log.js';
import { ClaimBudget } from '#worker/runner/claims.js';
import { QueueRunner, type QueueRunnerHost } from '#worker/runner/queue-runner.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { askedClaim } from '../../support/worker/asked-claim.js';
import { enqueueIsolated } from '../../support/worker/isolated-jobs.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { inside } from '../../support/queue/inside.js';

const VISIBILITY_MS = 30_000;

/** Makes a worker without loops that claimed an isolated job `agoMs` ago. The scripts named in `fails` get no reply. */
async function workerWithIsolated(
  agoMs: number,
  { visibilityMs = VISIBILITY_MS, fails = [] as string[], claiming = 1, isClosed = false, isLent = false } = {},
) {
  const { queue } = coreQueue({ visibilityMs });
  const scripts = await inside(queue).scripts();
  await enqueueIsolated(queue);
  const log: string[] = [];
  const host: QueueRunnerHost<QueueRunner> = {
    announce: () => {},
    afterWake: () => undefined,
    expectsJobs: () => {},
    changed: () => isolation.check(),
    holdsSettlements: () => {},
    settle: () => {},
    emit: undefined,
    isolate: (...job) => isolation.isolate(...job),
    expectIsolated: () => isolation.expect(),
    sendsBack: () => isolation.sendsBack,
    interruptWait: () => undefined,
    releaseIsolated: (of) => isolation.releaseOf(of),
    warn: () => {},
    failures: new FailureLog(SafeLogger.of(silentLogger)),
  };
  const handlers = new Map([[queue.name, { handle: () => void log.push('run') }]]);
  const options = { queue, calls: scripts, handlers, concurrency: 1, prefetch: 0, budget: new ClaimBudget() };
  const runner = new QueueRunner(options, host);
  const isolation = new CrashIsolation(
    () => [runner],
    () => isolation.check(),
  );
  const request = { count: 1, token: 't', worker: 'w', stream: 'trip', attemptLimits: [], slots: 1 };
  const answer = await inside(queue).runner.run(scripts.claim(request));
  const run = inside(queue).runner.run.bind(inside(queue).runner);
  inside(queue).runner.run = async (call) => {
    log.push(call.script);
    if (fails.includes(call.script)) throw new Error('away');
    return run(call);
  };
  const claim = runner.claims.reserve(askedClaim('trip', 1));
  const others = runner.claims.reserve(askedClaim('wait', claiming - 1));
  if (isLent) runner.claims.lend(others);
  if (isClosed) runner.close();
  runner.take(answer, { ...claim, askedAtMs: performance.now() - agoMs });
  return { runner, isolation, log, others };
}

describe('an isolated job', () => {
  it.each([
    ['starts by a call, if its claim is surely current', VISIBILITY_MS / 3, ['attemptStart', 'run']],
    [
      'has its claim extended first, where that may have run out',
      VISIBILITY_MS,
      ['attemptExtend', 'attemptStart', 'run'],
    ],
  ])('%s', async (_, agoMs, asked) => {
    const { runner, isolation, log } = await workerWithIsolated(agoMs);
    isolation.check();
    await eventually(() => runner.attempts.size === 0);
    expect(log).toEqual(asked);
  });

  it('has it extended first too where it waited here for that long', async () => {
    const { runner, isolation, log } = await workerWithIsolated(0, { visibilityMs: 200 });
    const other = runner.claims.reserve(askedClaim('wait', 1)); // another job may come, so it waits
    isolation.check();
    await sleep(101); // more than half of the visibility timeout
    expect(log).toEqual([]);
    runner.abandon(other);
    isolation.check();
    await eventually(() => runner.attempts.size === 0);
    expect(log).toEqual(['attemptExtend', 'attemptStart', 'run']);
  });

  it.each([
    ['were in flight', false],
    ['were in flight whose slots others use', true],
  ])('waits for its turn also where its queue was paused and resumed while claims %s', async (_, isLent) => {
    const { runner, isolation, log, others } = await workerWithIsolated(0, { claiming: 2, isClosed: true, isLent });
    runner.open();
    isolation.check();
    await sleep(20); // shows that nothing starts
    expect(log).toEqual([]);
    runner.abandon(others);
    isolation.check();
    await eventually(() => runner.attempts.size === 0);
    expect(log).toEqual(['attemptStart', 'run']);
  });

  it.each([
    ['', false],
    [', also one whose slots others use', true],
  ])('goes back at a pause once no claim is in flight%s: its jobs would be before it', async (_, isLent) => {
    const { runner, isolation, log, others } = await workerWithIsolated(0, { claiming: 2, isLent });
    runner.close();
    isolation.check();
    expect(runner.settlements.releases).toEqual([]);
    runner.abandon(others);
    expect(runner.settlements.releases).toMatchObject([{ settlement: { reason: 'interruption', delayMs: 0 } }]);
    isolation.check();
    expect(isolation.isActive).toBe(false);
    expect(log).toEqual([]);
  });

  it('goes back if Redis does not say whether its claim is current', async () => {
    const { runner, isolation, log } = await workerWithIsolated(VISIBILITY_MS, { fails: ['attemptExtend'] });
    isolation.check();
    await eventually(() => runner.attempts.size === 0);
    expect(log).toEqual(['attemptExtend']);
    expect(runner.settlements.releases).toMatchObject([{ settlement: { reason: 'interruption', delayMs: 0 } }]);
    expect(isolation.isActive).toBe(false);
  });
});
