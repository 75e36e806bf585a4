// A name that is no longer used costs a process nothing.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { RedisStore } from '#queue/redis-store.js';
import { LOOK_MS, QueueRegistry, UNUSED_MS } from '#nest/connection/queue-registry.js';
import type { ServerConnection } from '#nest/connection/server-connection.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';

const NAMES = Number(process.env.NAMES ?? 2_000);

let clock: VirtualClock;
let registry: QueueRegistry;

beforeEach(() => {
  clock = new VirtualClock();
  const redis = { store: new ScriptStore(clock) } as Partial<ServerConnection> as ServerConnection;
  registry = new QueueRegistry({ queueDefaults: {}, queues: { configured: {} } }, redis);
  registry.queue('served');
});
afterEach(() => registry.close());

const names = () => registry.all.map(({ name }) => name);
const letTimePass = () => clock.advance(UNUSED_MS + 2 * LOOK_MS);

it('lets go of a queue that no call names for minutes, and keeps those that it serves or configures', async () => {
  registry.requested('once');
  registry.requested('served');
  registry.requested('configured');
  await clock.advance(UNUSED_MS - LOOK_MS);
  expect(names()).toEqual(['configured', 'served', 'once']);
  await letTimePass();
  expect(names()).toEqual(['configured', 'served']);
});

it('keeps a queue that calls name again and again', async () => {
  for (let i = 0; i < 20; i++) {
    registry.requested('often');
    await clock.advance(UNUSED_MS / 2);
  }
  expect(names()).toContain('often');
});

it.each(['pending', 'scheduled', 'processing'])('keeps a queue with a job that is %s', async (status) => {
  const queue = registry.requested('busy');
  await queue.enqueue({}, status === 'scheduled' ? { delayMs: 86_400_000 } : {});
  if (status === 'processing') await queue.claim();
  await letTimePass();
  expect(names()).toContain('busy');
  await queue.purge({ confirm: 'busy' });
  await letTimePass();
  expect(names()).not.toContain('busy');
});

it('keeps a queue that remembers an id, until maintenance has forgotten it', async () => {
  const queue = registry.requested('busy');
  await queue.enqueue({}, { id: 'order-1' });
  await queue.complete((await queue.claim())!);
  await letTimePass();
  expect(names()).toContain('busy');
  await queue.purge({ confirm: 'busy' });
  await letTimePass();
  expect(names()).not.toContain('busy');
});

it('asks a server that does not answer once, and not again at each look', async () => {
  const stats = jest.spyOn(registry.requested('silent'), 'stats').mockReturnValue(new Promise(() => undefined));
  await letTimePass();
  expect(stats).toHaveBeenCalledTimes(1);
  expect(names()).toContain('silent');
});

it('has one object for a name while the app holds it, and maintains its queue again at its next call', async () => {
  const held = registry.requested('held');
  await letTimePass();
  expect(names()).not.toContain('held');
  await held.enqueue({});
  expect(names()).toContain('held');
  expect(registry.requested('held')).toBe(held);
  await held.purge({ confirm: 'held' });
  await letTimePass();
  expect(names()).not.toContain('held');
  expect(registry.requested('held')).toBe(held);
  expect(names().filter((name) => name === 'held')).toEqual(['held']);
});

it('lets go of nothing while a listener follows all queues', async () => {
  const added: JobQueue[] = [];
  const follower = { added: (queue: JobQueue) => void added.push(queue), closed: () => undefined, keepsAll: true };
  const end = registry.watch(follower);
  registry.requested('once');
  await letTimePass();
  expect(names()).toContain('once');
  end();
  await letTimePass();
  expect(names()).not.toContain('once');
  expect(added).toHaveLength(1);
});

it('after many names, the memory is that of the start, and no queue is left to maintain', async () => {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  // On Redis, because the store in memory keeps its queues in this process.
  const redis = { store: new RedisStore(connect(), clock) } as Partial<ServerConnection> as ServerConnection;
  const onRedis = new QueueRegistry({ queueDefaults: {}, queues: {} }, redis);
  const prefix = uniqueQueueName();
  collect();
  const atStart = process.memoryUsage().heapUsed;

  for (let i = 0; i < NAMES; i++) onRedis.requested(`${prefix}-${i}`);
  const full = process.memoryUsage().heapUsed - atStart;
  await letTimePass();
  await eventually(() => onRedis.all.length === 0); // what a sweep goes through
  collect();

  expect(process.memoryUsage().heapUsed - atStart).toBeLessThan(full / 3);
  onRedis.close();
}, 60_000);
