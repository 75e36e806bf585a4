// The profile of a job in a thread, and the example of docs/profile.md.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { JobHandler, JobQueueService } from 'nest-job-queue';
import { WorkerLifecycle } from '#nest/lifecycle/worker-lifecycle.js';
import { loadExample } from '../../docs/example.js';
import { eventually } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { learn } from '../../support/worker/learn.js';
import { startApp, handlerOf } from '../app.js';

it.each(['cpu', 'heap'] as const)('is measured in the thread of the handler: %s', async (kind) => {
  const name = uniqueQueueName();

  @JobHandler(name, { thread: new URL('./threads/work.mjs', import.meta.url) })
  class Handler {}

  const app = await startApp({ providers: [Handler] });
  const { profiles } = app.get(JobQueueService).queue(name);
  await profiles.request({ kind });
  await learn(app.get(WorkerLifecycle).worker!);
  const job = await app.get(JobQueueService).enqueue(name, { do: 'burn' });
  expect(await job.result({ timeoutMs: 15_000 })).toBe(true);
  await eventually(async () => (await profiles.get())?.endedAt);
  const { json, record } = await profiles.download();
  expect(record).toMatchObject({ jobId: job.id, kind });
  expect(json).toContain(kind === 'cpu' ? 'burnsInThread' : 'thread-entry.cjs');
});

it('is written by the example of the page', async () => {
  const Handler = handlerOf('invoice', () => 1);

  const app = await startApp({ providers: [Handler] });
  const jobs = app.get(JobQueueService);
  const folder = mkdtempSync(join(tmpdir(), 'profile-'));
  const file = join(folder, 'invoice.cpuprofile');
  const { profileNext } = await loadExample<{
    profileNext: (jobs: JobQueueService, file: string) => Promise<void>;
  }>('profile.md', 'profile');
  const written = profileNext(jobs, file);
  await eventually(async () => (await jobs.queue('invoice').profiles.get())?.state === 'asked');
  await learn(app.get(WorkerLifecycle).worker!);
  await jobs.enqueue('invoice', {});
  await written;
  expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('samples');
  rmSync(folder, { recursive: true });
});
