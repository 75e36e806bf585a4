import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob, type JobDefinition } from '#queue/enqueue/define-job.js';
import { InvalidOptionError, JobCancelledError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { coreQueue } from '../../support/queue/core-queue.js';

const Import = defineJob('import', { payload: z.null(), result: z.object({ rows: z.number() }) });
const Export = defineJob('export', { payload: z.null(), result: z.object({ rows: z.number().optional() }) });
const unique = { key: 'files', for: 'unfinished' } as const;

async function completeNext(queue: JobQueue): Promise<void> {
  await queue.complete((await queue.claim())!, { rows: 5, secret: true });
}

describe('the handle of an enqueue that found another job', () => {
  it('reads the result of one of the same definition by its schema', async () => {
    const { queue } = coreQueue();
    const first = await queue.enqueue(Import, null, { unique });
    const kept = await queue.enqueue(Import, null, { unique });
    expect(kept).toMatchObject({ id: first.id, outcome: 'kept', name: 'import' });
    await completeNext(queue);
    expect(await kept.result()).toEqual({ rows: 5 });
  });

  it.each<
    [string, (queue: JobQueue, definition: JobDefinition) => Promise<{ outcome: string; result(): unknown }>]
  >([
    ['kept', (queue, definition) => queue.enqueue(definition, null, { unique, id: 'second' })],
    ['existing', (queue, definition) => queue.enqueue(definition, null, { id: 'first' })],
    ['kept', async (queue, definition) => (await queue.enqueueMany(definition, [{ payload: null, unique }]))[0]!],
  ])('does not take the result of another definition for its own: %s', async (outcome, enqueue) => {
    const { queue } = coreQueue();
    await queue.enqueue(Import, null, { unique, id: 'first' });
    const other = await enqueue(queue, Export);
    expect(other).toMatchObject({ id: 'first', outcome, name: 'import' });
    const refused = await Promise.resolve(other.result()).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(InvalidOptionError);
    expect((refused as Error).message).toBe(
      'result of job first: expected a job "export", found a job "import". ' +
        'The enqueue found another job: read it by its own name or definition.',
    );
    await completeNext(queue);
    await expect(Promise.resolve(other.result())).rejects.toThrow(InvalidOptionError);
    expect(await queue.result('first')).toEqual({ rows: 5, secret: true });
  });

  it('gives the stored result where a name was enqueued, which has no schema', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(Import, null, { unique });
    const kept = await queue.enqueue(null, { unique, name: 'other' });
    expect(kept).toMatchObject({ outcome: 'kept', name: 'import' });
    await completeNext(queue);
    expect(await kept.result()).toEqual({ rows: 5, secret: true });
  });

  it('has the name of the existing job, also each of many', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(1, { name: 'import', unique });
    await queue.enqueue(2, { name: 'export', id: 'own', unique: { key: 'other', for: { ms: 60_000 } } });
    const handles = await queue.enqueueMany([
      { payload: 1 },
      { payload: 1, name: 'mine', id: 'own' },
      { payload: 1, name: 'mine', unique },
      { payload: 1, name: 'mine', unique: { key: 'other', for: 'pending', onConflict: 'replace' } },
      { payload: 1, name: 'newer', unique: { key: 'other', for: 'pending' } },
      { payload: 1, name: 'mine', id: 'mine' },
    ]);
    expect(handles.map(({ outcome, name }) => [outcome, name])).toEqual([
      ['new', queue.name],
      ['existing', 'export'],
      ['kept', 'import'],
      ['replaced', 'mine'],
      ['kept', 'mine'],
      ['new', 'mine'],
    ]);
  });

  it('has the name that was asked for where the job has none, or has gone', async () => {
    const { queue, state } = coreQueue({ completedHistory: 10 });
    const held = { key: 'k', for: { ms: 60_000 } };
    await queue.enqueue(1, { name: 'import', id: 'a', unique: held });
    await state.redis.hdel(state.keys.job('a'), 'name');
    expect(await queue.enqueue(1, { name: 'mine', unique: held })).toMatchObject({ outcome: 'kept', name: 'mine' });
    await queue.complete((await queue.claim())!);
    await state.redis.del(state.keys.job('a'));
    expect(await queue.enqueue(1, { name: 'mine', unique: held })).toMatchObject({ outcome: 'kept', name: 'mine' });
  });

  it('is of the new definition where that replaced the job', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(Import, null, { unique });
    const replaced = await queue.enqueue(Export, null, { unique: { ...unique, onConflict: 'replace' } });
    expect(replaced).toMatchObject({ outcome: 'replaced', name: 'export' });
    await completeNext(queue);
    expect(await replaced.result()).toEqual({ rows: 5 });
  });
});

it('a handle cancels its job, also one of a definition', async () => {
  const { queue } = coreQueue();
  const job = await queue.enqueue(Import, null);
  expect(await job.cancel({ ifStatus: 'scheduled' })).toBe('changed');
  expect(await job.cancel()).toBe('cancelled');
  await expect(job.result()).rejects.toThrow(JobCancelledError);
});
