import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { RedisUnsuitableError } from '#queue/errors/errors.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { connect } from '../../support/redis/redis.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';

async function behindProxy(options: QueueOptions = {}) {
  const proxy = await FaultProxy.start();
  const client = connect({ retryStrategy: () => 20, maxRetriesPerRequest: null }, proxy.url);
  client.on('error', () => undefined);
  const { queue, state } = coreQueue(options, client);
  await queue.stats(); // connected, and the server is known
  return { proxy, queue, state };
}

/** Runs one call whose first reply is lost with the connection; the client sends it again. */
async function withLostReply<Reply>(
  { proxy, queue }: { proxy: FaultProxy; queue: JobQueue },
  action: (queue: JobQueue) => Promise<Reply>,
): Promise<Reply> {
  const lost = proxy.loseReplies();
  const answer = action(queue);
  await lost;
  proxy.heal();
  proxy.cut();
  return answer;
}

describe('I3: a reply that was lost', () => {
  it('of a claim: the jobs come once, with one attempt', async () => {
    const setup = await behindProxy();
    await setup.queue.enqueueMany([{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
    await setup.queue.release((await setup.queue.claim())!); // the script is known to the server
    const jobs = await withLostReply(setup, (queue) => queue.claimMany(2));
    expect(jobs.map((job) => [job.payload, job.attempt])).toEqual([
      [1, 1],
      [2, 1],
    ]);
    expect(await setup.state.pending()).toHaveLength(1);
  });

  it('of a complete: it is recorded once, and counts as done', async () => {
    const setup = await behindProxy();
    await setup.queue.enqueue(1);
    const job = (await setup.queue.claim())!;
    expect(await withLostReply(setup, (queue) => queue.complete(job, 'done'))).toBe(true);
    expect(await setup.state.total('completed')).toBe(1);
    expect(await setup.state.redis.llen(setup.state.keys.completed)).toBe(1);
  });

  it('of a fail: it is one retry, and answers so', async () => {
    const setup = await behindProxy();
    await setup.queue.enqueue(1);
    const job = (await setup.queue.claim())!;
    expect(await withLostReply(setup, (queue) => queue.fail(job, new Error('no')))).toBe('retry');
    expect(await setup.state.total('retried')).toBe(1);
    expect(await setup.state.field(job.id, 'errors')).toBe('1');
  });

  it('of a release: the attempt is uncounted once', async () => {
    const setup = await behindProxy();
    await setup.queue.enqueue(1);
    const job = (await setup.queue.claim())!;
    expect(await withLostReply(setup, (queue) => queue.release(job))).toBe('released');
    expect(await setup.state.field(job.id, 'attempts')).toBe('0');
  });

  it.each([
    ['pending', {}],
    ['scheduled', { delayMs: 60_000 }],
  ])('of a cancel of a %s job: its event is published once', async (_, options) => {
    const setup = await behindProxy();
    const told: string[] = [];
    setup.queue.onCancelled(({ id }) => told.push(id));
    const { id } = await setup.queue.enqueue(1, options);
    await setup.queue.cancel('none'); // the script is known to the server
    expect(await withLostReply(setup, (queue) => queue.cancel(id))).toBe('cancelled');
    expect(await setup.queue.cancel(id)).toBe('cancelled');
    expect(told).toEqual([id]);
    expect(await setup.state.total('cancelled')).toBe(1);
  });

  it('of a cancel that was given up: its repeat reports the job, another process does not', async () => {
    const setup = await behindProxy({ enqueueTimeoutMs: 1_000 });
    const other = sameQueue(setup.queue);
    const told: string[] = [];
    setup.queue.onCancelled(({ id }) => told.push(id));
    other.onCancelled(() => told.push('elsewhere'));
    const { id } = await setup.queue.enqueue(1);
    await setup.queue.cancel('none');
    const lost = setup.proxy.loseReplies();
    const failure = expect(setup.queue.cancel(id)).rejects.toThrow(RedisUnsuitableError);
    await lost;
    await failure;
    setup.proxy.heal();
    setup.proxy.cut();
    expect(await other.cancel(id)).toBe('cancelled');
    expect(told).toEqual([]);
    expect(await setup.queue.cancel(id)).toBe('cancelled');
    expect(await setup.queue.cancel(id)).toBe('cancelled');
    expect(told).toEqual([id]);
  });
});
