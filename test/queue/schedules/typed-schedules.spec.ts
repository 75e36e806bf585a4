import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import { InvalidOptionError, InvalidPayloadError } from '#queue/errors/errors.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import type { DeclaredSchedule } from '#worker/handlers/handler.js';
import { Worker } from '#worker/worker.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { HOURLY } from '../../support/queue/schedules.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const payload = z.object({ of: z.string() });
const Report = defineJob('report', { payload, priority: 7, maxAttempts: 9 });
const Slow = defineJob('slow', { payload: payload.refine(async ({ of }) => of !== 'nothing') });
const bad = { of: 5 } as never;

function worker(schedule: DeclaredSchedule) {
  const queue = newQueue();
  const handlers = { report: defineHandler(Report, () => 'done'), slow: defineHandler(Slow, () => 'done') };
  return { queue, handlers, schedules: { nightly: schedule } };
}

async function fault(asked: () => unknown): Promise<unknown> {
  try {
    return await asked();
  } catch (error) {
    return error;
  }
}

describe('an upsert of a definition', () => {
  it('refuses a payload that does not fit, with its path, and writes nothing', async () => {
    const { queue, state } = coreQueue();
    const refused = await fault(() =>
      queue.schedules.upsert('nightly', HOURLY, { definition: Report, payload: bad }),
    );
    expect(refused).toBeInstanceOf(InvalidPayloadError);
    expect(refused).toMatchObject({
      path: 'schedule "nightly".payload.of',
      message: 'schedule "nightly".payload.of: expected string, found 5.',
    });
    expect(await state.snapshot()).toEqual({});
  });

  it('refuses one that is left out, and one that an asynchronous schema does not take', async () => {
    const { queue, state } = coreQueue();
    const without = await fault(() => queue.schedules.upsert('s', HOURLY, { definition: Report } as never));
    expect(without).toMatchObject({ message: 'schedule "s".payload: expected object, found null.' });
    const slow = { definition: Slow, payload: { of: 'nothing' } };
    expect(await fault(() => queue.schedules.upsert('s', HOURLY, slow))).toBeInstanceOf(InvalidPayloadError);
    expect(await state.snapshot()).toEqual({});
    expect(await queue.schedules.upsert('s', HOURLY, { ...slow, payload: { of: 'all' } })).toBe('created');
  });

  it('names its jobs, and gives them the defaults of the definition where it sets none', async () => {
    const { queue } = coreQueue();
    await queue.schedules.upsert('s', HOURLY, { definition: Report, payload: { of: 'all' }, maxAttempts: 2 });
    const { id } = await queue.schedules.runNow('s');
    const job = await queue.get(id);
    expect(job).toMatchObject({ name: 'report', payload: { of: 'all' }, priority: 7, maxAttempts: 2 });
  });

  it('refuses another name, and a value that is no definition', async () => {
    const { queue } = coreQueue();
    const named = { definition: Report, payload: { of: 'all' }, name: 'other' };
    expect(await fault(() => queue.schedules.upsert('s', HOURLY, named as never))).toEqual(
      new InvalidOptionError('schedule "s".name', 'that of the definition, "report"', '"other"'),
    );
    const wrong = { definition: { name: 'report' }, payload: 1 };
    expect(await fault(() => queue.schedules.upsert('s', HOURLY, wrong as never))).toMatchObject({
      message: 'schedule "s".definition: expected a definition of defineJob, found an object with name.',
    });
  });
});

describe('a schedule of a worker', () => {
  it('whose handler has a definition is refused before the worker starts', async () => {
    const { queue, ...rest } = worker({ recurrence: HOURLY, options: { name: 'report', payload: { of: 5 } } });
    expect(await fault(() => new Worker([{ queue, ...rest }]))).toEqual(
      new InvalidPayloadError('schedule "nightly".payload.of', 'string', '5'),
    );
    expect(await queue.schedules.list()).toEqual([]);
  });

  it('is refused when the worker starts where the schema is asynchronous', async () => {
    const { queue, ...rest } = worker({
      recurrence: HOURLY,
      options: { name: 'slow', payload: { of: 'nothing' } },
    });
    const started = await fault(() => startWorker([{ queue, ...rest }]));
    expect(started).toBeInstanceOf(InvalidPayloadError);
    expect(await queue.schedules.list()).toEqual([]);
  });

  it('that fits is declared, with the defaults of the definition', async () => {
    const { queue, ...rest } = worker({ recurrence: HOURLY, options: { name: 'report', payload: { of: 'all' } } });
    await startWorker([{ queue, ...rest }]);
    const { id } = await queue.schedules.runNow('nightly');
    expect(await queue.get(id)).toMatchObject({ name: 'report', priority: 7 });
  });
});
