import { expect, it } from '@jest/globals';
import { resolveQueueOptions } from '#queue/model/queue-options.js';
import { allCalls } from '#queue/scripts/all-calls.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import type { QueueStore } from '#queue/store/queue-store.js';
import type { ScriptCall } from '#queue/transport/script-runner.js';
import { MaintenanceRight, type OpenQueue } from '#worker/maintenance/maintenance-right.js';

const options = resolveQueueOptions('test queue', {});

/** Returns the key and the arguments by which a process asks for the right to maintain these queues. */
async function askedFor(names: readonly string[]) {
  const sent: ScriptCall<unknown>[] = [];
  const store = {
    clock: { randomId: () => 'process', clear: () => undefined, monotonic: () => 0 },
    exec: (call: ScriptCall<unknown>) => (sent.push(call), Promise.resolve({ hasRight: true, turnInMs: 0 })),
  } as unknown as QueueStore;
  const queues = names.map((name) => ({ queue: { name }, calls: allCalls(new QueueKeys(name), options) }));
  await new MaintenanceRight(store, 1_000, () => undefined).holds('', queues as unknown as OpenQueue[], 1_000);
  return sent.map(({ keys, args }) => ({ keys, args }));
}

it('is one for all processes with the same queues, in whatever order each of them opens these', async () => {
  const right = await askedFor(['mail', 'fax', 'pdf']);
  expect(right).toHaveLength(1);
  expect(await askedFor(['pdf', 'mail', 'fax'])).toEqual(right);
  expect(await askedFor(['pdf', 'mail', 'thumb'])).not.toEqual(right);
});
