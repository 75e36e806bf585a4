// A worker's wait whose connection has become half-open: nothing passes, and nobody is told.
import { expect, it } from '@jest/globals';
import { silentLogger } from '#queue/runtime/logger.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { idle, namedConnection, newQueue } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

/** The wait of a worker at rest, in ms. */
const REST_MS = 10_000;

it('gives up a wait that no nudge ends, and does not send it again before the next claim', async () => {
  const proxy = await FaultProxy.start();
  const client = namedConnection({}, proxy.url);
  const queue = newQueue({}, client);
  await queue.stats();
  const { store, scripts } = inside(queue);
  const calls = await scripts();
  const warnings: string[] = [];
  const wait = store.workerWait('w', [calls], { ...silentLogger, warn: (line) => void warnings.push(line) });
  try {
    const lost = wait.wait([calls], REST_MS, []);
    await idle(client);
    proxy.pause((requests) => requests.includes('bzpopmin'));
    wait.interrupt();
    const began = performance.now();
    await lost;
    const { outcomes } = await wait.wait([calls], 10, [calls.stats()]);
    expect(outcomes).toEqual([expect.objectContaining({ ok: true })]);
    expect(performance.now() - began).toBeLessThan(REST_MS / 2);
    expect(warnings).toEqual([]);
  } finally {
    wait.close();
  }
});
