// A payload of more than 32 MiB, from a process that allows it, for a worker of the default limit.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const MIB = 1024 * 1024;
const giant = 'x'.repeat(33 * MIB);

onEachStore('a giant payload', () => {
  it('gets to a consumer with the default limit, also after a purge', async () => {
    const producer = newQueue({ maxPayloadBytes: 40 * MIB });
    const consumer = newQueue({}, producer.store, producer.name);
    await producer.enqueue('small');
    await producer.purge({ confirm: producer.name });
    const { id } = await producer.enqueue(giant);
    const job = await consumer.claim();
    expect(job).toMatchObject({ id });
    expect(job!.payload).toHaveLength(giant.length);
    await consumer.complete(job!);
    await consumer.purge({ confirm: consumer.name });
  });
});

/** A store that counts the announcements of limits. */
class CountingStore extends ScriptStore {
  announced = 0;

  override exec: ScriptStore['exec'] = (call, ...rest) => {
    this.announced += (call as { script?: string }).script === 'queueNotePayload' ? 1 : 0;
    return super.exec(call, ...rest);
  };
}

it.each<[string, (queue: JobQueue, payload: string) => Promise<unknown>]>([
  ['enqueue', (queue, payload) => queue.enqueue(payload)],
  ['enqueueMany', (queue, payload) => queue.enqueueMany([{ payload: 1 }, { payload }, { payload: 2 }])],
  ['update', async (queue, payload) => queue.update((await queue.enqueue(1)).id, payload)],
  ['redrive', (queue, payload) => queue.deadLetters.redrive('missing', { payload })],
  ['a schedule', (queue, payload) => queue.schedules.upsert('daily', { everyMs: 86_400_000 }, { payload })],
  ['the follow-up of a batch', (queue, payload) => queue.batch({ then: { name: 'end', payload } }).seal()],
])('the limit is announced before a giant payload alone, by %s', async (_, send) => {
  const store = new CountingStore();
  const queue = newQueue({ maxPayloadBytes: 40 * MIB }, store);
  await send(queue, 'small');
  expect(store.announced).toBe(0);
  await send(queue, giant);
  expect(store.announced).toBe(1);
});
