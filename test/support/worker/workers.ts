// Queues and workers of one test. Workers are stopped after it, and then every queue is checked by the invariants.
import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import type { Redis, RedisOptions } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import type { JobQueueOptions } from '#queue/enqueue/enqueue-middleware.js';
import type { Handler, HandlerFunction } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import type { WorkerOptions, WorkerQueue } from '#worker/worker-options.js';
import type { WorkerEvent } from '#worker/handlers/attempt-middleware.js';
import type { RedisClient } from '#queue/redis/redis-client.js';
import type { QueueStore } from '#queue/store/queue-store.js';
import { ScriptStore } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { violations } from '../invariants/invariants.js';
import { connectClocked } from '../redis/clocked-redis.js';
import { connect, uniqueQueueName } from '../redis/redis.js';
import { eventually, within } from '../faults/wait.js';
import { serverOf } from '../queue/inside.js';
import { RETRIES_AT_ONCE } from '../queue/retries.js';

const workers = new Set<TestWorker>();
const queues = new Set<JobQueue>();
const broken = new WeakSet<JobQueue>();
let shared: Redis | undefined;
/** The store of queues without a client: the shared server, unless a test sets it. */
let memory: ScriptStore | undefined;

afterEach(async () => {
  await Promise.all([...workers].map((each) => each.worker.stop({ timeoutMs: 2_000 })));
  workers.clear();
  const used = [...queues];
  queues.clear();
  used.forEach((queue) => queue.close());
  for (const queue of used.filter((each) => !broken.has(each))) {
    expect(await violationsOf(queue)).toEqual([]);
  }
});

async function violationsOf(queue: JobQueue): Promise<string[]> {
  const { client, scripts } = await serverOf(queue);
  return violations(client, scripts);
}

/** Describes the same of queues on Redis, and of queues in memory. */
export function onEachStore(name: string, tests: () => void): void {
  const stores = {
    'on Redis': () => undefined,
    'in memory': () => new ScriptStore(),
  };
  describe.each(Object.entries(stores))(`${name} (%s)`, (_place, newStore) => {
    beforeEach(() => {
      memory = newStore();
    });
    afterEach(() => {
      memory = undefined;
    });
    tests();
  });
}

/** Makes an unused queue on the shared server or on `redis`. Its retries do not wait unless the options say so. */
export function newQueue(
  options: JobQueueOptions = {},
  client: RedisClient | QueueStore = memory ?? (shared ??= connect()),
  name = uniqueQueueName(),
): JobQueue {
  const queue = new JobQueue(client, name, { ...RETRIES_AT_ONCE, ...options });
  queues.add(queue);
  return queue;
}

/** Makes an unused queue whose time the test moves. Its keys on Redis expire by the time of the server. */
export function newClockedQueue(options: JobQueueOptions = {}): { queue: JobQueue; clock: { nowMs: number } } {
  const clock = { nowMs: Date.now() };
  const now = () => clock.nowMs;
  const byClock = { ...systemClock, now };
  const store = memory && new ScriptStore(byClock, { server: new ScriptServer(now) });
  return { queue: newQueue(options, store ?? connectClocked(clock)), clock };
}

/** Deletes the hash of a job, as its expiry does, or somebody with redis-cli. */
export async function loseHash(queue: JobQueue, id: string): Promise<void> {
  const { client, scripts } = await serverOf(queue);
  await client.unlink(scripts.keys.job(id));
}

/** Marks a queue as left in a state that no script produces. */
export function leaveBroken(queue: JobQueue): void {
  broken.add(queue);
}

/** A worker with a record of what happened in it. */
export class TestWorker {
  readonly events: WorkerEvent[] = [];
  readonly warnings: string[] = [];
  readonly worker: Worker;
  private readonly waiting = new Set<() => void>();

  constructor(workerQueues: WorkerQueue[], { onEvent, ...options }: WorkerOptions) {
    const note = (message: string) => void this.warnings.push(message);
    this.worker = new Worker(workerQueues, {
      sweepIntervalMs: 0,
      logger: { log: () => {}, warn: note, error: note },
      logFailures: false, // only tests of these logs turn them on
      ...options,
      onEvent: (event) => {
        this.events.push(event);
        this.waiting.forEach((look) => look());
        return onEvent?.(event);
      },
    });
    workers.add(this);
  }

  count(type: WorkerEvent['type'], id?: string): number {
    return this.events.filter((event) => event.type === type && (id === undefined || event.job.id === id)).length;
  }

  /** Resolves with the `count`-th event of a type (of a job). */
  async event(type: WorkerEvent['type'], count = 1, { id = '', timeoutMs = 20_000 } = {}): Promise<WorkerEvent> {
    const found = () =>
      this.events.filter((event) => event.type === type && (!id || event.job.id === id))[count - 1];
    const what = () =>
      `event "${type}" number ${count}; there were ${this.events.map((event) => event.type).join(' ')}`;
    let look: (() => void) | undefined;
    const coming = new Promise<WorkerEvent>((resolve) => {
      look = () => {
        const event = found();
        if (event) resolve(event);
      };
      this.waiting.add(look);
      look();
    });
    return within(timeoutMs, what, coming).finally(() => this.waiting.delete(look!));
  }
}

/** Starts a worker of one queue with one handler for all its jobs, or of several queues. */
export async function startWorker(
  target: JobQueue | WorkerQueue[],
  handler: ((job: Job<never>) => unknown) | Handler = () => undefined,
  { perQueue, ...options }: WorkerOptions & { perQueue?: number } = {},
): Promise<TestWorker> {
  const list = Array.isArray(target)
    ? target
    : [{ queue: target, concurrency: perQueue, handlers: { [target.name]: handler as HandlerFunction } }];
  const started = new TestWorker(list, options);
  await started.worker.start();
  return started;
}

/** Handles a job: runs until its signal is aborted, and rejects with the reason. */
export function untilAborted({ signal }: { signal: AbortSignal }): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}

/** Makes a named connection, so that the server's lists show it and its duplicates. */
export function namedConnection(options: RedisOptions = {}, url?: string): Redis {
  const connectionName = uniqueQueueName('client');
  return connect({ connectionName, ...options }, url);
}

/** Returns the server's lines on the connections of that name. */
export async function connectionsOf(redis: Redis): Promise<string[]> {
  const lines = String(await redis.client('LIST')).split('\n');
  return lines.filter((line) => line.includes(` name=${redis.options.connectionName} `));
}

/** Resolves when a worker on this (named) connection is idle: blocked on the server, waiting for a marker. */
export async function idle(redis: Redis): Promise<void> {
  await eventually(async () => (await connectionsOf(redis)).some((line) => /flags=\w*b/.test(line)), {
    what: 'a worker that waits',
  });
}
