// A call without a reply may have cancelled the job: its repeat gets the result, once.
import { expect, it } from '@jest/globals';
import { Canceller } from '#queue/operate/canceller.js';
import { coreQueue } from '../../support/queue/core-queue.js';

/** Makes a Canceller whose calls reach the server. `lose` says, in their order, whose replies are lost. */
function losing(...lose: boolean[]) {
  const { queue } = coreQueue();
  const told: string[] = [];
  const canceller = new Canceller({
    name: queue.name,
    options: queue.options,
    callLimit: queue.callLimit,
    store: queue.store,
    calls: () => queue.calls(),
    exec: async (build) => {
      const lost = lose.shift();
      const answer = await queue.exec(build);
      if (lost) {
        throw new Error('lost');
      }
      return answer;
    },
  });
  canceller.listen(({ id }) => told.push(id));
  return { queue, told, cancel: (id: string) => canceller.cancel(id) };
}

it.each([
  ['both are answered', false, false],
  ['the first is lost too', true, false],
  ['the second is lost too', false, true],
  ['both are lost too', true, true],
])('I3: of two repeats at the same time one reports the job, where %s', async (_, ...lost) => {
  const { queue, told, cancel } = losing(true, ...lost);
  const { id } = await queue.enqueue(1);
  await expect(cancel(id)).rejects.toThrow('lost');
  const repeats = await Promise.allSettled([cancel(id), cancel(id)]);
  expect(repeats.map(({ status }) => status === 'rejected')).toEqual(lost);
  expect(told).toEqual(lost.includes(false) ? [id] : []);
  expect(await cancel(id)).toBe('cancelled');
  expect(await cancel(id)).toBe('cancelled');
  expect(told).toEqual([id]);
});
