// A worker process that dies or freezes in the middle of a job.
import { describe, expect, it, jest } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { enqueueIsolated } from '../../support/worker/isolated-jobs.js';
import { connect } from '../../support/redis/redis.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { WorkerProcess } from '../../support/worker/worker-process.js';
import { connectionsOf, idle, newQueue, startWorker } from '../../support/worker/workers.js';

const VISIBILITY_MS = 1_500;
const SWEEP_MS = 500;
const SLACK_MS = 2_000;

/**
 * The longest time until an heir takes the job of a process that also maintained. The right of the dead one ends after two
 * intervals. Then the heir gives live workers a heartbeat and 2.5 s, because it has not looked before, and sweeps.
 */
const TAKEN_OVER_MS = 2 * SWEEP_MS + VISIBILITY_MS / 3 + 2_500 + SWEEP_MS;

// The first process of the file transpiles the sources, which takes a busy machine longer than a test has.
jest.setTimeout(60_000);

describe('a worker that is killed in the middle of a job', () => {
  it('is followed by another once its right to maintain and the wait after a gap are over; the job is recorded once', async () => {
    const queue = newQueue({ visibilityMs: VISIBILITY_MS });
    const dying = await startProcess(queue, { workMs: 3_600_000 });
    const { id } = await queue.enqueue({});
    await dying.event('started');
    const heir = await startWorker(queue, () => 'done', { sweepIntervalMs: SWEEP_MS });
    const killedAt = performance.now();
    await dying.signal('SIGKILL');
    await heir.event('started');
    expect(performance.now() - killedAt).toBeLessThan(TAKEN_OVER_MS + SLACK_MS);
    await heir.event('completed');
    await expectRecordedOnce(queue, id);
    expect(await queue.get(id)).toMatchObject({ result: 'done', attempts: 2, crashes: 1, errors: 0 });
    expect((await queue.get(id))!.attemptLog).toMatchObject([
      { attempt: 1, outcome: 'crash' },
      { attempt: 2, outcome: 'completed' },
    ]);
  });

  it('is followed by one that starts only after it', async () => {
    const queue = newQueue({ visibilityMs: VISIBILITY_MS });
    const dying = await startProcess(queue, { workMs: 3_600_000 });
    const { id } = await queue.enqueue({});
    await dying.event('started');
    await dying.signal('SIGKILL');
    const heir = await startProcess(queue, { workMs: 10 });
    const readyAt = performance.now();
    await heir.event('completed');
    expect(performance.now() - readyAt).toBeLessThan(TAKEN_OVER_MS + SLACK_MS);
    await expectRecordedOnce(queue, id);
  });

  it('loses none of many jobs, whenever it dies', async () => {
    // What was reclaimed is first in line again, and may so be with each that dies.
    const queue = newQueue({ visibilityMs: VISIBILITY_MS, maxAttempts: 10, maxCrashes: 10 });
    const handles = await queue.enqueueMany(Array.from({ length: 400 }, (_, payload) => ({ payload })));
    const heir = await startWorker(queue, () => sleep(40), {
      sweepIntervalMs: SWEEP_MS,
      perQueue: 2,
    });
    for (let kills = 0; kills < 3; kills++) {
      const dying = await startProcess(queue, { workMs: 150 });
      await dying.event('completed');
      await dying.signal('SIGKILL');
    }
    await eventually(async () => (await queue.stats()).completed === 400, { timeoutMs: 40_000 });
    expect((await queue.list('completed', { limit: 1_000 })).map(({ id }) => id).toSorted()).toEqual(
      handles.map(({ id }) => id).toSorted(),
    );
    expect((await queue.stats()).totals.completed).toBe(400);
    expect(heir.count('lost')).toBe(0);
  });
});

describe('a worker that freezes past its claim', () => {
  it('and thaws aborts at its next heartbeat; the job is recorded once', async () => {
    const queue = newQueue({ visibilityMs: VISIBILITY_MS });
    const frozen = await startProcess(queue, { workMs: 3_600_000 });
    const { id } = await queue.enqueue({});
    await frozen.event('started');
    await frozen.signal('SIGSTOP');
    const heir = await startWorker(queue, () => 'done', { sweepIntervalMs: SWEEP_MS });
    await heir.event('completed');
    const thawedAt = performance.now();
    await frozen.signal('SIGCONT');
    expect(await frozen.event('aborted')).toMatchObject({ id, attempt: 1, reason: 'ClaimLostError' });
    expect(performance.now() - thawedAt).toBeLessThan(VISIBILITY_MS / 3 + SLACK_MS);
    await frozen.event('lost');
    await expectRecordedOnce(queue, id);
    expect(await queue.get(id)).toMatchObject({ result: 'done', attempts: 2 });
  });

  it('and has finished when it thaws has its settle refused, while the other still works', async () => {
    const queue = newQueue({ visibilityMs: VISIBILITY_MS });
    const frozen = await startProcess(queue, { workMs: 300, deaf: true });
    const { id } = await queue.enqueue({});
    await frozen.event('started');
    await frozen.signal('SIGSTOP');
    let finish!: (result: string) => void;
    const heir = await startWorker(queue, () => new Promise((resolve) => (finish = resolve)), {
      sweepIntervalMs: SWEEP_MS,
    });
    await heir.event('started');
    await frozen.signal('SIGCONT');
    await frozen.event('worked');
    await frozen.event('lost');
    expect(frozen.events.filter(({ type }) => type === 'completed')).toEqual([]);
    expect(await queue.get(id)).toMatchObject({ status: 'processing', attempts: 2 });
    finish('by the heir');
    await heir.event('completed');
    await expectRecordedOnce(queue, id);
    expect(await queue.get(id)).toMatchObject({ result: 'by the heir' });
  });

  it('keeps its claim if no process reclaimed it', async () => {
    const queue = newQueue({ visibilityMs: 600 });
    const frozen = await startProcess(queue, { workMs: 400 }, { sweepIntervalMs: 0 });
    const { id } = await queue.enqueue({});
    await frozen.event('started');
    await frozen.signal('SIGSTOP');
    await eventually(async () => (await queue.stats()).expiredClaims === 1);
    await frozen.signal('SIGCONT');
    await frozen.event('completed');
    expect(await queue.get(id)).toMatchObject({ status: 'completed', attempts: 1 });
  });
});

describe('a worker that freezes before the reply of its claim', () => {
  it.each([
    ['the job', enqueueOne, 0],
    ['an isolated one', enqueueIsolated, 2],
  ])(
    'and thaws in time has all of a visibility timeout for %s: no other begins it',
    async (_, enqueue, crashes) => {
      const queue = newQueue({ visibilityMs: 3_000 });
      const [id = ''] = await enqueue(queue);
      const frozen = await frozenWithClaim(queue, 3_000);
      const heir = await startWorker(queue, () => 'by the heir', { sweepIntervalMs: SWEEP_MS });
      await sleep(2_500);
      await frozen.signal('SIGCONT');
      await frozen.event('completed');
      expect(heir.count('started')).toBe(0);
      expect(await queue.get(id)).toMatchObject({ status: 'completed', attempts: crashes + 1, crashes });
    },
  );

  it('and thaws too late does not begin the job', async () => {
    const queue = newQueue({ visibilityMs: VISIBILITY_MS });
    const [id = ''] = await enqueueOne(queue);
    const frozen = await frozenWithClaim(queue, 10);
    const heir = await startWorker(queue, () => 'by the heir', { sweepIntervalMs: SWEEP_MS });
    await heir.event('completed');
    await heir.worker.stop();
    await frozen.signal('SIGCONT');
    await frozen.event('lost');
    await expectRecordedOnce(queue, id);
    const next = await queue.enqueue({});
    await frozen.event('completed');
    expect(frozen.events.filter(({ type }) => type === 'started').map((event) => event.id)).toEqual([next.id]);
  });
});

async function enqueueOne(queue: JobQueue): Promise<string[]> {
  return [(await queue.enqueue({})).id];
}

/** Freezes a worker right after its claim ran, before it gets the reply. */
async function frozenWithClaim(queue: JobQueue, workMs: number) {
  await queue.pause();
  const redisOptions = { connectionName: queue.name };
  const frozen = await startProcess(queue, { workMs, redisOptions });
  const named = connect(redisOptions);
  const waits = async () => (await connectionsOf(named)).some((line) => /flags=\w*b/.test(line));
  const hasClaimed = async () => (await queue.stats()).processing === 1;
  do {
    // The claim behind a wait that ended while the queue was paused took nothing. A frozen worker sends no other.
    await queue.pause();
    await frozen.signal('SIGCONT');
    await idle(named);
    await frozen.signal('SIGSTOP');
    await queue.resume();
    await eventually(async () => !(await waits()));
  } while (!(await hasClaimed()));
  return frozen;
}

function startProcess(
  queue: JobQueue,
  work: { workMs: number; deaf?: boolean; redisOptions?: object },
  workerOptions = {},
) {
  return WorkerProcess.start({
    queue: queue.name,
    queueOptions: { visibilityMs: queue.options.visibilityMs },
    workerOptions: { sweepIntervalMs: SWEEP_MS, ...workerOptions },
    ...work,
  });
}

async function expectRecordedOnce(queue: JobQueue, id: string): Promise<void> {
  expect((await queue.list('completed')).map((job) => job.id)).toEqual([id]);
  const { totals, ...depths } = await queue.stats();
  expect(totals).toMatchObject({ completed: 1, reclaimed: 1, enqueued: 1 });
  expect(depths).toMatchObject({ pending: 0, processing: 0, scheduled: 0, failed: 0 });
}
