// The Redis of the tables: a master with a replica, since one of the options waits for replicas.
import { beforeAll, beforeEach, expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { connect } from '../../support/redis/redis.js';
import { startReplicatedRedis, type ReplicatedRedis } from '../../support/redis/replicated-redis.js';

let pair: ReplicatedRedis;
let replica: Redis;

beforeAll(async () => {
  pair = await startReplicatedRedis();
  replica = connect({}, pair.replica.url);
});

// The check of one queue reads all keys of the server, and a thousand cells leave many.
beforeEach(() => pair.redis.flushdb());

export function serverUrl(): string {
  return pair.master.url;
}

export function server(): Redis {
  return pair.redis;
}

/** Expects that the replica has the job, and that the enqueue waited for it. */
export async function expectOnReplica(state: TestQueue, id: string, payload: string): Promise<void> {
  expect(await replica.hget(state.keys.job(id), 'payload')).toBe(JSON.stringify(payload));
  expect(await state.total('durable')).toBeGreaterThan(0);
}
