// When waiting workers start delayed jobs, and how often they look. Jobs are due one after the other, by virtual time.
import { afterEach, describe, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import type { SharedLimitValues } from '#queue/model/shared-limit.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';

const DELAY_MS = 1_000;

let fleet: { clock: VirtualClock; workers: Worker[] } | undefined;

afterEach(async () => {
  const stopping = fleet?.workers.map((worker) => worker.stop({ timeoutMs: 0 })) ?? [];
  await fleet?.clock.advance(60_000);
  await Promise.all(stopping);
  fleet = undefined;
});

/** Runs delayed jobs on some workers. Returns how late each started in ms, and how many scripts the workers called. */
async function runDelayed({
  workers,
  jobs,
  gapMs,
  limits,
}: {
  workers: number;
  jobs: number;
  gapMs: number;
  limits?: Record<string, SharedLimitValues>;
}) {
  const clock = new VirtualClock(undefined, 1);
  const server = new ScriptServer(() => clock.now());
  const late: number[] = [];
  let scripts = 0;
  const link = <Reply>(_script: string, run: () => Reply): Promise<Reply> => {
    scripts++;
    return Promise.resolve().then(run);
  };
  const handlers = { email: (job: { payload: unknown }) => void late.push(clock.now() - (job.payload as number)) };
  fleet = {
    clock,
    workers: Array.from({ length: workers }, () => {
      const names = limits && { limits: Object.keys(limits) };
      const queue = new JobQueue(new ScriptStore(clock, { server, link }), 'email', names);
      return new Worker([{ queue, concurrency: 10, handlers }], { ...(limits && { limits }) });
    }),
  };
  const starting = fleet.workers.map((worker) => worker.start());
  await clock.advance(100);
  await Promise.all(starting);
  const queue = new JobQueue(new ScriptStore(clock, { server }), 'email');
  const from = clock.now() + DELAY_MS;
  await queue.enqueueMany(
    Array.from({ length: jobs }, (_, i) => ({ payload: from + gapMs * i, delayMs: DELAY_MS + gapMs * i })),
  );
  await clock.advance(DELAY_MS - 10);
  scripts = 0;
  await clock.advance(10 + jobs * gapMs + 100);
  expect(late).toHaveLength(jobs);
  return { late: late.toSorted((a, b) => a - b), scripts };
}

it.each([1, 4])(
  'starts each job at most 1 ms late, although the next is due 2 ms later (%d workers)',
  async (workers) => {
    const { late } = await runDelayed({ workers, jobs: 10, gapMs: 2 });
    expect(late.at(-1)).toBeLessThanOrEqual(1);
  },
);

it('starts the jobs of a queue that shares limits as early, once each is due', async () => {
  const { late } = await runDelayed({ workers: 1, jobs: 5, gapMs: 300, limits: { api: { maxRunning: 5 } } });
  expect(late.at(-1)).toBeLessThanOrEqual(1);
});

describe('1,000 jobs due a second', () => {
  it.each([1, 4, 20])('need about as many scripts of %d workers as of one', async (workers) => {
    const { late, scripts } = await runDelayed({ workers, jobs: 2_000, gapMs: 1 });
    expect(scripts).toBeLessThanOrEqual(3 * 2_000); // a claim and a completion of each job, and a half in vain
    expect(late[1_000]).toBeLessThanOrEqual(1);
    expect(late[1_980]).toBeLessThanOrEqual(5);
  });
});
