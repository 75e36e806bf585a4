// The internals of a queue on Redis, for tests of what only Redis has.
import type { JobQueue } from '#queue/job-queue.js';
import type { Connection } from '#queue/redis/connection.js';
import type { RedisCall, ScriptRunner } from '#queue/transport/script-runner.js';
import type { RedisStore } from '#queue/redis-store.js';
import type { QueueCalls } from '#queue/scripts/calls/all-calls.js';

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
