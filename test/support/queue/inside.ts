// The internals of a queue: its client and its calls, and on Redis what only Redis has.
import type { Redis } from 'ioredis';
import { ScriptStore } from '#memory/script-store.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { Connection } from '#queue/redis/connection.js';
import { isCluster, type RedisClient } from '#queue/redis/redis-client.js';
import type { RedisCall, ScriptRunner } from '#queue/transport/script-runner.js';
import type { RedisStore } from '#queue/redis-store.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import { clientOfStore } from '../memory/memory-client.js';

/** Runners whose `run` a test may have replaced. */
const touched = new Set<ScriptRunner>();

// The soak, which is no test, uses it too.
(globalThis as { afterEach?: (restore: () => void) => void }).afterEach?.(() => {
  touched.forEach((runner) => Reflect.deleteProperty(runner, 'run'));
  touched.clear();
});

export interface Inside {
  readonly store: RedisStore;
  readonly connection: Connection;
  /** Runs single calls of all queues on the client. A test's replacement of `run` is removed after the test. */
  readonly runner: ScriptRunner;
  scripts(): Promise<QueueCalls>;
  run<Reply>(call: RedisCall<Reply>): Promise<Reply>;
}

export function inside(queue: JobQueue): Inside {
  const store = queue.store as RedisStore;
  touched.add(store.runner);
  return {
    store,
    connection: store.connection,
    runner: store.runner,
    scripts: async () => (await queue.calls()) as QueueCalls,
    run: (call) => store.exec(call, queue.callLimit),
  };
}

/**
 * Returns a client of the server of a queue, on Redis or in memory, and the calls of the queue. Of a Cluster it is the master
 * that has the queue.
 */
export async function serverOf(queue: JobQueue): Promise<{ client: Redis; scripts: QueueCalls }> {
  const { store } = queue;
  const scripts = (await queue.calls()) as QueueCalls;
  const client = store instanceof ScriptStore ? clientOfStore(store) : inside(queue).connection.client;
  return { client: await masterWith(client, scripts.keys.stats), scripts };
}

async function masterWith(client: RedisClient, key: string): Promise<Redis> {
  if (!isCluster(client)) return client;
  const masters = client.nodes('master');
  const isThere = await Promise.all(masters.map((master) => master.exists(key).then(() => true, () => false))); // prettier-ignore
  return masters[isThere.indexOf(true)]!; // the others refer to it, by an error
}
