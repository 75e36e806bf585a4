// Only the server knows whether a job can wait for others, and whether it would expire before its start. A call of several
// steps is checked as a whole before its first step.
import { describe, expect, it } from '@jest/globals';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { failure } from '../../support/faults/failure.js';
import { expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';
import { someOf } from '../../support/run/samples.js';

const HOUR = 3_600_000;
const COUNT = 1_000;

/** Makes the state in which a job is refused, and returns its options. */
type Refusal = (queue: JobQueue, state: TestQueue) => Promise<EnqueueOptions>;

/** Returns the id of a job that has ended so. */
async function ended(queue: JobQueue, how: 'failed' | 'cancelled'): Promise<string> {
  const { id } = await queue.enqueue(1);
  if (how === 'failed') {
    await queue.fail((await queue.claim())!, new Error('no'), { final: true });
  } else {
    await queue.cancel(id);
  }
  return id;
}

const refusals: [string, Refusal, string][] = [
  ['an unknown job', async () => ({ after: ['nobody'] }), 'after'],
  ['a dead letter', async (queue) => ({ after: [await ended(queue, 'failed')] }), 'after'],
  ['a cancelled job', async (queue) => ({ after: [await ended(queue, 'cancelled')] }), 'after'],
  [
    'a job that 1,000 others wait for',
    async (queue) => {
      const { id } = await queue.enqueue(1);
      await queue.enqueueMany(Array.from({ length: 1_000 }, () => ({ payload: 1, after: [id] })));
      return { after: [id] };
    },
    'after',
  ],
  [
    'an unknown job of another queue',
    async () => ({ after: [{ queue: coreQueue().queue.name, id: 'nobody' }] }),
    'after',
  ],
  [
    'its own expiry before its start',
    async (_, state) => ({ runAt: (await state.now()) + HOUR, expiresInMs: HOUR / 2 }),
    'expiresInMs',
  ],
];

describe.each(refusals)('a job that is refused because of %s', (_, refuse, option) => {
  it.each(someOf([0, 1, 499, 500, 700, 999], 3))(
    'at place %i of a call of two steps: nothing is written',
    async (place) => {
      const { queue, state } = coreQueue({ maxAttempts: 1 });
      const bad = await refuse(queue, state);
      const jobs = Array.from({ length: COUNT }, (__, i) => ({ payload: i, ...(i === place && bad) }));
      const before = await state.total('enqueued');
      const refused = await failure<InvalidOptionError>(() => queue.enqueueMany(jobs));
      expect(refused).toBeInstanceOf(InvalidOptionError);
      expect(refused.subject).toBe(`enqueueMany[${place}].${option}`);
      expect(await state.total('enqueued')).toBe(before);
    },
  );
});

it('where all is well, a call of two steps is written as a whole', async () => {
  const { queue } = coreQueue();
  const { id } = await queue.enqueue(1);
  const handles = await queue.enqueueMany(Array.from({ length: COUNT }, (_, i) => ({ payload: i, after: [id] })));
  expect(handles.every(({ outcome }) => outcome === 'new')).toBe(true);
});

it('a key of a wrong type refuses the call before its first step', async () => {
  const { queue, state } = coreQueue();
  state.broken = true;
  const { id } = await queue.enqueue(1);
  await state.redis.set(state.keys.awaiting, 'text');
  const jobs = Array.from({ length: COUNT }, (_, i) => ({ payload: i, ...(i === 700 && { after: [id] }) }));
  await expectUnchanged(state, async () => {
    await expect(queue.enqueueMany(jobs)).rejects.toThrow('has the wrong type');
  });
});

it.each(someOf([0, 499, 500, 999], 2))(
  'members of a sealed batch are refused with the new one at place %i',
  async (place) => {
    const { queue, state } = coreQueue();
    const batch = queue.batch({ id: 'b', finally: { name: 'end', payload: 1 } });
    const members = Array.from({ length: COUNT }, (_, i) => ({ payload: i, id: `m${i}` }));
    await batch.addMany(queue.name, members.toSpliced(place, 1));
    await batch.seal();
    await expectUnchanged(state, async () => {
      await expect(queue.findBatch('b').addMany(queue.name, members)).rejects.toThrow('sealed');
    });
  },
);
