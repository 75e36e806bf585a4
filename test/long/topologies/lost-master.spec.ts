// A master that dies permanently: jobs that its replica acknowledged continue there. Nothing else is promised.
import { describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { DurabilityTimeoutError, JobQueueService } from 'nest-job-queue';
import { handlerOf, startApp } from '../../nest/app.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { failure } from '../../support/faults/failure.js';
import { startOwnRedis, type OwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { FAST_REPLICATION, startReplica } from '../../support/redis/replicas.js';

/** The delay of everything to and from the replica, in ms, so that unacknowledged writes die with the master. */
const BEHIND_MS = 50;

/** Starts an app that enqueues on a master whose replica is behind. */
async function producerOf(name: string, durabilityTimeoutMs: number) {
  const master = await startOwnRedis({ args: FAST_REPLICATION });
  const line = await FaultProxy.start(master.url);
  const replica = await startReplica({ port: Number(new URL(line.url).port) });
  line.delay(BEHIND_MS);
  const queues = { [name]: { durability: 'replica' as const, durabilityTimeoutMs } };
  const app = await startApp({
    jobs: { redis: master.url, worker: false, maintenance: false, audit: 'off', queues },
  });
  return { master, line, replica, jobs: app.get(JobQueueService) };
}

/** Makes the replica the master, with a worker on it. */
async function promote(replica: OwnRedis, name: string): Promise<INestApplication> {
  await connect({}, replica.url).replicaof('NO', 'ONE');
  return startApp({
    jobs: { redis: replica.url, audit: 'off' },
    providers: [handlerOf(name, () => 'done there')],
  });
}

describe('a master that is killed as soon as it has answered', () => {
  it("loses no job that was enqueued with durability: 'replica': it runs where the replica is promoted", async () => {
    const name = uniqueQueueName();
    const { master, replica, jobs } = await producerOf(name, 10_000);
    const { id, outcome } = await jobs.enqueue(name, { cents: 100 });
    await master.kill();
    expect(outcome).toBe('new');
    const heir = (await promote(replica, name)).get(JobQueueService);
    expect(await heir.result(name, id)).toBe('done there');
    expect(await heir.get(name, id)).toMatchObject({ payload: { cents: 100 }, attempts: 1 });
  });

  it('loses jobs that no replica had: a plain one, and one with a DurabilityTimeoutError', async () => {
    const name = uniqueQueueName();
    const { master, line, replica, jobs } = await producerOf(name, 2_000);
    const kept = await jobs.enqueue(name, 'kept');
    line.pause(); // cut off without an error
    const plain = await jobs.enqueue(name, 'plain', { durability: 'memory' });
    const refusal = await failure<DurabilityTimeoutError>(() => jobs.enqueue(name, 'refused'));
    await master.kill();
    expect(plain.outcome).toBe('new');
    expect(refusal).toBeInstanceOf(DurabilityTimeoutError);
    expect(refusal).toMatchObject({ queue: name, replicas: 1, acknowledged: 0, timeoutMs: 2_000 });
    const heir = (await promote(replica, name)).get(JobQueueService);
    expect(await heir.result(name, kept.id)).toBe('done there');
    expect(await Promise.all([plain.id, ...refusal.jobIds].map((id) => heir.get(name, id)))).toEqual([null, null]);
  });
});
