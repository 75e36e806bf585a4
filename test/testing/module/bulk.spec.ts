// Bulk handlers in the testing module: the clock of the test gathers their calls.
import { expect, it } from '@jest/globals';
import { JobHandler, type Job } from 'nest-job-queue';
import { startTested } from './app.js';

const calls: unknown[][] = [];

@JobHandler('index', { bulk: { size: 3, waitMs: 60_000 }, maxAttempts: 2, backoff: 1_000 })
class IndexHandler {
  handle(jobs: Job<string>[]) {
    calls.push(jobs.map(({ payload }) => payload));
    return jobs.map(({ payload, attempt }) =>
      payload === 'bad' && attempt === 1 ? new Error('no') : payload.length,
    );
  }
}

it('drain runs their calls, waits for others as waitMs says, and tries failed jobs again', async () => {
  const { testing, jobs: service } = await startTested({ providers: [IndexHandler] });
  const jobs = await service.enqueueMany(
    'index',
    ['one', 'bad', 'three', 'four'].map((payload) => ({ payload })),
  );
  expect(await testing.drain()).toMatchObject({ completed: 4, retry: 1 });
  expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([3, 3, 5, 4]);
  expect(calls).toEqual([
    ['one', 'bad', 'three'],
    ['four', 'bad'],
  ]);
  expect(testing.errors.map(({ id, error }) => [id, (error as Error).message])).toEqual([[jobs[1]!.id, 'no']]);
});
