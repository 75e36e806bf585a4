import { expect, it } from '@jest/globals';
import { DurabilityTimeoutError, JobQueueService } from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startReplicatedRedis } from '../../support/redis/replicated-redis.js';
import { startApp, handlerOf } from '../app.js';

it('durability of a queue and of one enqueue, in an app', async () => {
  const { master, replica } = await startReplicatedRedis();
  const [payments, mails] = [uniqueQueueName('payments'), uniqueQueueName('mails')];

  const Payments = handlerOf(payments, () => 'paid');

  const app = await startApp({
    jobs: { redis: master.url, durabilityTimeoutMs: 1_000, queues: { [payments]: { durability: 'replica' } } },
    providers: [Payments],
  });
  const jobs = app.get(JobQueueService);
  expect(await (await jobs.enqueue(payments, { cents: 100 })).result()).toBe('paid');

  await replica.kill('SIGSTOP');
  expect((await jobs.enqueue(mails, {})).outcome).toBe('new');
  await expect(jobs.enqueue(mails, {}, { durability: 'replica' })).rejects.toThrow(DurabilityTimeoutError);
  const error = await jobs.enqueue(payments, {}).then(
    () => undefined,
    (thrown: unknown) => thrown as DurabilityTimeoutError,
  );
  expect(error).toMatchObject({ name: 'DurabilityTimeoutError', queue: payments, acknowledged: 0 });
  expect(await error!.handles[0]!.result()).toBe('paid');
  await replica.kill('SIGCONT');
});
