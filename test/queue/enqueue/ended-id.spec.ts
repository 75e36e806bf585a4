// An enqueue with the id of an ended job adds nothing, which a warning says.
import { expect, it } from '@jest/globals';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

/** Makes a queue with one job of each end, and the warnings of its enqueues. */
async function ended() {
  const warnings: string[] = [];
  const logger = { log: () => {}, warn: (line: string) => void warnings.push(line), error: () => {} };
  const queue = newQueue({ logger, maxAttempts: 1 });
  for (const id of ['completed', 'failed', 'cancelled', 'waits']) await queue.enqueue(1, { id, name: `of ${id}` });
  await queue.complete((await queue.claim())!);
  await queue.fail((await queue.claim())!, new Error('no'));
  await queue.cancel('cancelled');
  return { queue, warnings };
}

onEachStore('an enqueue with the id of an ended job', () => {
  it.each([
    ['completed', 'has completed. The id is free once its result is forgotten, after `resultTtlMs`'],
    ['failed', 'is a dead letter. The id is free once you discard it'],
    ['cancelled', 'was cancelled. The id is free once the job is forgotten, after `cancelledTtlMs`'],
  ])('that %s warns once per name, and names the remedy', async (id, until) => {
    const { queue, warnings } = await ended();
    const outcomes = [await queue.enqueue(2, { id, name: 'next' }), await queue.enqueue(3, { id, name: 'next' })];
    outcomes.push(...(await queue.enqueueMany([{ payload: 4, id, name: 'next' }])));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['existing', 'existing', 'existing']);
    expect(warnings).toEqual([
      `An enqueue of "next" in queue "${queue.name}" added nothing, because its id is in use: job "${id}" ${until}. ` +
        'To allow one job at a time, use `unique` instead of `id`.',
    ]);
    await queue.enqueue(5, { id, name: 'other' });
    expect(warnings).toHaveLength(2);
  });

  it('does not warn of a job that waits, of a new one, or of a unique key', async () => {
    const { queue, warnings } = await ended();
    const unique = { key: 'k', for: 'unfinished' } as const;
    const outcomes = [
      await queue.enqueue(2, { id: 'waits' }),
      await queue.enqueue(2, { id: 'new' }),
      await queue.enqueue(2, { unique }),
      await queue.enqueue(2, { unique }),
    ];
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['existing', 'new', 'new', 'kept']);
    expect(warnings).toEqual([]);
  });
});
