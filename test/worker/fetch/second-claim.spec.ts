// A claim with a slow reply keeps its jobs, even if it was sent before the previous reply was handled.
import { expect, it } from '@jest/globals';
import { systemClock } from '#queue/runtime/clock.js';
import { ScriptStore, type StoreLink } from '#memory/script-store.js';
import { eventually } from '../../support/faults/wait.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

/** Holds the answer of one claim back. Returns what was sent meanwhile. */
function holdAnswerOf(claim: number) {
  const sent: string[] = [];
  const held: { letGo?: () => void } = {};
  let claims = 0;
  const link: StoreLink = async (script, run) => {
    const answer = run();
    sent.push(script);
    if (script === 'attemptClaim' && ++claims === claim) {
      await new Promise<void>((resolve) => (held.letGo = resolve));
    }
    return answer;
  };
  return { store: new ScriptStore(systemClock, { link }), sent, held };
}

it('a worker extends the claim of a slow answer in a queue with limits', async () => {
  const { store, sent, held } = holdAnswerOf(3);
  const queue = newQueue({ visibilityMs: 600 }, store);
  await queue.limits.set({ maxRunning: 10 });
  await queue.enqueueMany(Array.from({ length: 20 }, (_, i) => ({ payload: i })));
  await startWorker(queue, async () => {}, { perQueue: 4 });
  await eventually(() => held.letGo !== undefined, { what: 'the third claim' });
  await eventually(() => sent.includes('attemptExtendBatch'), { what: 'a heartbeat of the claim in flight' });
  held.letGo!();
  await eventually(async () => (await queue.stats()).completed === 20);
  expect((await queue.stats()).totals).not.toHaveProperty('reclaimed');
});
