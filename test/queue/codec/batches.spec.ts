// A batch of queues with a codec: its readers get the outcomes as the handlers returned them.
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import superjson from 'superjson';
import { encrypted, NonRetryableError, type Job, type JobCodec } from 'nest-job-queue/core';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const bySuperjson: JobCodec = {
  name: 'superjson',
  encode: (value) => superjson.serialize(value),
  decode: (json) => superjson.deserialize(json as ReturnType<typeof superjson.serialize>),
};
const byKey = encrypted([{ id: 'june', key: randomBytes(32) }]);

onEachStore('a batch', () => {
  it.each([bySuperjson, byKey])('returns results and errors as they were before the codec $name', async (codec) => {
    const [queue, other] = [newQueue({ codec }), newQueue({ codec })];
    const seen: unknown[] = [];
    const handlers = {
      give: ({ payload }: Job) => ({ of: payload }),
      fail: () => {
        throw new NonRetryableError('SECRET error');
      },
      sum: async (job: Job) => {
        for await (const { result, error } of job.batch!.members()) seen.push(result ?? error);
        return job.payload;
      },
    };
    const batch = queue.batch({ finally: { name: 'sum', payload: { is: 'the follow-up' } } });
    await batch.add('give', { n: 1 });
    await batch.add('give', { n: 2 }, { queue: other });
    await batch.add('fail', {});
    await batch.seal();
    await startWorker([{ queue: other, handlers }]);
    await startWorker([{ queue, handlers }]);
    await batch.wait();
    await maintainBatches(other);
    expect(await queue.result(`@batch:${batch.id}:finally`)).toEqual({ is: 'the follow-up' });
    expect(seen).toEqual([{ of: { n: 1 } }, { of: { n: 2 } }, 'SECRET error']);
  });
});
