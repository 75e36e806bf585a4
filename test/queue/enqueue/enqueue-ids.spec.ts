// The ids in the error of a failed enqueue. Its caller needs them for a repeat, whatever else was in flight.
import { describe, expect, it } from '@jest/globals';
import type { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { connect } from '../../support/redis/redis.js';

async function silentQueue() {
  const proxy = await FaultProxy.start();
  const client = connect({ retryStrategy: () => 20, maxRetriesPerRequest: null }, proxy.url);
  client.on('error', () => undefined);
  const { queue: patient, state } = coreQueue({}, client);
  // So that the server knows the script, and acts on its digest. The short timeout must not cover the time to connect.
  await patient.enqueue(['first'], { id: 'first' });
  const queue = sameQueue(patient, { enqueueTimeoutMs: 1_000 }, client);
  await queue.stats(); // a queue that is not known yet is asked for first
  return { proxy, queue, state };
}

const failure = (action: Promise<unknown>) =>
  action.then(
    () => undefined,
    (error: unknown) => error as EnqueueError,
  );

describe('an enqueue that fails', () => {
  it('names its own job, and not those that travelled with it', async () => {
    const { proxy, queue, state } = await silentQueue();
    const lost = proxy.loseReplies();
    const failures = Promise.all([failure(queue.enqueue('a')), failure(queue.enqueue('b'))]);
    await lost;
    const [a, b] = await failures;
    expect(['first', ...a!.jobIds, ...b!.jobIds]).toEqual(await state.pending());
    expect(a!.jobIds).toHaveLength(1);
  });

  it('names all jobs of a call in their order, though it was sent in several steps', async () => {
    const { proxy, queue, state } = await silentQueue();
    const { id } = await queue.enqueue(['second']); // the first batch goes ahead of others
    const lost = proxy.loseReplies();
    const failed = failure(queue.enqueueMany(Array.from({ length: 1_100 }, (_, payload) => ({ payload }))));
    await lost;
    expect(await failed).toMatchObject({ outcome: 'unknown' });
    expect(['first', id, ...(await failed)!.jobIds]).toEqual(await state.pending());
  });
});
