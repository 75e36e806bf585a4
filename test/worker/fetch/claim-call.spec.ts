// How long a claim took decides how many bytes the next one may bring.
import { expect, it } from '@jest/globals';
import { ScriptStore, type StoreLink } from '#memory/script-store.js';
import { type Clock, systemClock } from '#queue/runtime/clock.js';
import { gate } from '../../support/faults/wait.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const JOBS = 40;
const PAYLOAD = 'x'.repeat(100 * 1_024);

/** On it each claim takes no time, also on a busy machine. */
const stopped: Clock = { ...systemClock, monotonic: () => 3_600_000 };

it('full replies that come quickly bring twice as many bytes each time', async () => {
  const found: number[] = [];
  const link: StoreLink = async (script, run) => {
    const answer = await run();
    if (script === 'attemptClaim') found.push((answer as { jobs: unknown[] }).jobs.length);
    return answer;
  };
  const queue = newQueue({}, new ScriptStore(stopped, { link }));
  await queue.enqueueMany(Array.from({ length: JOBS }, () => ({ payload: PAYLOAD })));
  const allRun = gate();
  let begun = 0;
  const handler = () => {
    if (++begun === JOBS) allRun.open();
    return allRun.promise;
  };
  await startWorker(queue, handler, { perQueue: JOBS });
  await allRun.promise;
  expect(found.filter((jobs) => jobs > 0)).toEqual([2, 5, 10, 20, 3]);
});
