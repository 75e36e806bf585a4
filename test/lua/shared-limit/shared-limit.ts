import type { Lease, SharedLimitValues } from '#queue/model/shared-limit.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { queueOn, type TestQueue } from '../../support/queue/queue-state.js';
import { uniqueQueueName } from '../../support/redis/redis.js';

export const LIFE_MS = 30_000;

/** A limit that the queues of a test share, by a clock that the test moves. */
export interface TestLimit {
  readonly limit: string;
  readonly clock: { nowMs: number };
  /** Two queues of the same Redis. */
  readonly one: TestQueue;
  readonly two: TestQueue;
  /** Leases permits for a queue. The token is also that of its permits. */
  lease(
    queue: TestQueue,
    count: number,
    token?: string,
    worker?: string,
    cost?: number,
    least?: number,
  ): Promise<Lease>;
  /** Gives permits of a token back. */
  giveBack(
    queue: TestQueue,
    permits: string[],
    given?: { isUnused?: boolean; version?: string; cost?: number; renamed?: string },
  ): Promise<string[]>;
  running(): Promise<number>;
}

let tokens = 0;

/** Makes an unused limit with these values, as if set at run time. */
export async function testLimit(values: SharedLimitValues = {}): Promise<TestLimit> {
  const limit = uniqueQueueName();
  const clock = { nowMs: Date.now() };
  const redis = connectClocked(clock);
  const [one, two] = [queueOn(redis), queueOn(redis)];
  await one.run(one.scripts.sharedLimits.set({ limit, values }));
  return {
    limit,
    clock,
    one,
    two,
    lease: (queue, count, token = `token-${++tokens}`, worker = 'worker-1', cost = 1, least) =>
      queue.run(
        queue.scripts.sharedLimits.lease({
          limit,
          worker,
          token,
          count,
          lifeMs: LIFE_MS,
          declares: false,
          cost,
          least,
        }),
      ),
    giveBack: (queue, permits, { isUnused = false, version = '1', cost = 1, renamed } = {}) =>
      queue.run(
        queue.scripts.sharedLimits.giveBack({
          limit,
          worker: 'worker-1',
          permits: permits.map((id) => ({ id, ...(isUnused && { refund: cost }), version, renamed })),
        }),
      ),
    running: async () => (await one.run(one.scripts.sharedLimits.get({ limit }))).running,
  };
}

/** Returns the name of a queue as its keys spell it. */
export const spelled = ({ scripts }: TestQueue): string => scripts.keys.spelled;
