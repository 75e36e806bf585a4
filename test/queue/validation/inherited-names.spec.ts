// Every object inherits `constructor`, `toString` and others. As a name from outside they are names like any other.
import { describe, expect, it } from '@jest/globals';
import { resolveModuleOptions } from '#nest/job-queue.options.js';
import { JobQueueDashboardModule } from 'nest-job-queue/dashboard';
import { QueueRegistry } from '#nest/connection/queue-registry.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { suggest } from '#queue/validation/suggest.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { connect } from '../../support/redis/redis.js';

const INHERITED = Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== '__proto__');

describe.each(INHERITED)('%s', (name) => {
  it('is an unknown option wherever options are taken', async () => {
    const own = { [name]: 1 };
    const takers: (() => unknown)[] = [
      () => new JobQueue(connect(), 'jobs', own),
      () => new JobQueue(connect(), 'jobs', { rateLimit: own } as object),
      () => resolveModuleOptions(own),
      () => resolveModuleOptions({ queues: { [name]: own } }),
      () => JobQueueDashboardModule.forRoot(own),
      () => JobQueueDashboardModule.forRootAsync({ ...own, useFactory: () => ({}) }),
      () => coreQueue().queue.enqueue(null, own),
      () => coreQueue().queue.schedules.upsert('nightly', { cron: '0 3 * * *', ...own }),
      () => coreQueue().queue.limits.set(own),
    ];
    for (const take of takers) {
      const error = await Promise.resolve()
        .then(take)
        .catch((thrown: unknown) => thrown);
      expect([take.toString(), error]).toEqual([take.toString(), expect.any(InvalidOptionError)]);
    }
  });

  it('is a queue without options of its own', () => {
    const { redis } = { redis: { queue: () => ({}) } } as never;
    const registry = new QueueRegistry({ queueDefaults: {}, queues: {} }, redis);
    expect([registry.concurrencyOf(name), registry.prefetchOf(name)]).toEqual([10, undefined]);
  });

  it('is like no option', () => expect(suggest(name, ['maxAttempts'])).toBe('Known: maxAttempts.'));
});

it('a queue that is named as an option of other queues gets no advice about that option', () => {
  expect(suggest('repeat', ['email', 'video'])).toBe('Known: email, video.');
});
