// The example of docs/choosing.md as written: each enqueue says the slots of its job.
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { JobQueueModule, JobQueueService, type JobHandle } from 'nest-job-queue';
import { eventually } from '../../support/faults/wait.js';
import { loadExample } from '../example.js';

interface Example {
  RenderHandler: Type;
  Studio: Type<{ render(scene: { frames: number }): Promise<JobHandle> }>;
}

it('a job takes the slots of its enqueue, and its worker announces the range', async () => {
  const { RenderHandler, Studio } = await loadExample<Example>('choosing.md', 'slots');
  const imports = [JobQueueModule.forRoot({ redis: 'memory' })];
  const moduleRef = await Test.createTestingModule({ imports, providers: [RenderHandler, Studio] }).compile();
  const app = await moduleRef.init();
  const jobs = [await app.get(Studio).render({ frames: 2_000 }), await app.get(Studio).render({ frames: 10 })];
  await Promise.all(jobs.map((job) => job.result()));
  const queue = app.get(JobQueueService).queue('render');
  expect(await Promise.all(jobs.map(async ({ id }) => (await queue.get(id))!.slots))).toEqual([4, 1]);
  await eventually(async () => (await queue.workers())[0]?.weights);
  expect((await queue.workers())[0]!.weights).toEqual([{ name: 'render', slots: 1, most: 8 }]);
  await app.close();
});
