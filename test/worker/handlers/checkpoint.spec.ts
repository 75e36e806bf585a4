// job.checkpoint: what the next attempt finds.
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import type { Job } from '#worker/handlers/job.js';
import { inside } from '../../support/queue/inside.js';
import { gate, within } from '../../support/faults/wait.js';
import { ClaimLostError } from '#queue/errors/errors.js';
import { connect } from '../../support/redis/redis.js';
import { leaveBroken, newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

async function count(job: Job): Promise<unknown> {
  const before = (job.lastCheckpoint as number | undefined) ?? 0;
  await job.checkpoint(before + 1);
  if (before < 2) {
    throw new Error('again');
  }
  return [before, job.lastCheckpoint];
}

onEachStore('a checkpoint', () => {
  it('each attempt continues from the last', async () => {
    const queue = newQueue();
    await startWorker(queue, count);
    const job = await queue.enqueue({});
    expect(await job.result()).toEqual([2, 3]);
    expect((await queue.get(job.id))!.checkpoint).toBe(3);
  });
});

it('a typed handler has it too, and a handler whose claim is lost gets an error', async () => {
  const queue = newQueue();
  const Count = defineJob(queue.name, { payload: z.object({}) });
  const seen = gate<[Error, boolean]>();
  await startWorker(
    queue,
    defineHandler(Count, async (job) => {
      await job.checkpoint(1);
      const { keys } = await inside(queue).scripts();
      await connect().hset(keys.job(job.id), 'claim_token', 'another');
      const error = await job.checkpoint(2).catch((thrown: unknown) => thrown);
      seen.open([error as Error, job.signal.aborted]);
    }),
  );
  await queue.enqueue(Count, {});
  const [error, aborted] = await within(20_000, 'the refusal', seen.promise);
  expect(error).toBeInstanceOf(ClaimLostError);
  expect(aborted).toBe(true);
  leaveBroken(queue);
});
