// How many files of src one follows on a way through the code: V8 says which of them run. After a merge of files the
// number is lowered here. A higher one needs its reason in the commit.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { JobQueueService } from 'nest-job-queue';
import { startDashboard } from '../dashboard/dashboard-app.js';
import { handlerOf, startApp } from '../nest/app.js';
import { eventually, gate, type Gate } from '../support/faults/wait.js';
import { uniqueQueueName } from '../support/redis/redis.js';
import { executedSources, startCounting, stopCounting } from '../support/sources/executed-sources.mjs';
import { newQueue, startWorker } from '../support/worker/workers.js';

beforeAll(startCounting);
afterAll(stopCounting);

const OFF = { worker: false, maintenance: false } as const;
const TIMES = 5;
/**
 * What may run beside the way each time: a timer, or connections of specs that ran before in the process. Eight files were
 * seen.
 */
const BESIDE = 12;

/** Returns the files that run each time. What a timer runs beside the way is only in some of them. */
async function filesOf(way: () => Promise<unknown>, prepare: () => Promise<unknown> = async () => undefined) {
  const counts = new Map<string, number>();
  for (let time = 0; time <= TIMES; time += 1) {
    await prepare();
    await executedSources();
    await way();
    const files = await executedSources();
    if (time === 0) continue; // opens what is opened once
    for (const file of files) counts.set(file, (counts.get(file) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count === TIMES)
    .map(([file]) => file)
    .filter((file) => file.startsWith('src/'));
}

function expectAtMost(count: number, files: readonly string[]): void {
  const most = count + BESIDE;
  expect(files.length > most ? files.toSorted() : []).toEqual([]); // names them
}

it('a plain enqueue of the core runs 17 files', async () => {
  const queue = newQueue();
  const files = await filesOf(() => queue.enqueue({ to: 'ada' }));
  expect(files).toContain('src/queue/enqueue/producer.ts');
  expectAtMost(17, files);
});

it('a plain enqueue by the service runs 21 files', async () => {
  const name = uniqueQueueName('mail');
  const app = await startApp({ jobs: OFF, providers: [handlerOf(name)] });
  const jobs = app.get(JobQueueService);
  const files = await filesOf(() => jobs.enqueue(name, { to: 'ada' }));
  expect(files).toContain('src/nest/service/job-queue.service.ts');
  expectAtMost(21, files);
});

it('a job runs 37 files from its claim to its settlement', async () => {
  const queue = newQueue();
  const gates: Gate[] = [];
  const handler = () => {
    const end = gate();
    gates.push(end);
    return end.promise;
  };
  const worker = await startWorker(queue, handler, { concurrency: 1 });
  const running = (count: number) => eventually(() => gates.length === count);
  let ended = 0;
  // The first job runs while both are added, so that no enqueue is counted.
  const prepare = async () => {
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    await running(1);
  };
  const files = await filesOf(async () => {
    gates.shift()!.open();
    await running(1);
    gates.shift()!.open();
    await worker.event('completed', (ended += 2));
  }, prepare);
  expect(files).toContain('src/worker/attempt/attempt.ts');
  expectAtMost(37, files);
});

it('a redrive in the dashboard runs 38 files', async () => {
  const name = uniqueQueueName('mail');
  const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name] } });
  const queue = app.queue(name);
  const prepare = async () => {
    await queue.purge({ confirm: name, everything: true });
    await queue.enqueue({ to: 'ada' }, { id: 'dead', maxAttempts: 1 });
    await queue.fail((await queue.claim())!, new Error('502'));
  };
  const act = { action: 'redrive', queue: name, state: 'failed', ids: ['dead'] };
  const files = await filesOf(async () => {
    expect((await app.post('/api/jobs/act', act)).body).toEqual({ done: 1, spared: 0 });
  }, prepare);
  expect(files).toContain('src/dashboard/api/actions.controller.ts');
  expectAtMost(38, files);
});
