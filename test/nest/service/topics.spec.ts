// What a publication adds, with which ids, and what it says of a topic that nobody has subscribed to.
import { expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import {
  defineTopic,
  EnqueueError,
  InvalidOptionError,
  InvalidPayloadError,
  type Job,
  JobQueueService,
  type MiddlewareEntry,
  NoSubscriptionError,
  OnTopic,
  PublishError,
  type TopicPayload,
} from 'nest-job-queue';
import { z } from 'zod';
import { checkPublicationId } from '#queue/model/topic.js';
import { WorkerLifecycle } from '#nest/lifecycle/worker-lifecycle.js';
import { failure } from '../../support/faults/failure.js';
import { eventually } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { holdTimers } from '../../support/worker/held-timers.js';
import { compileApp, KeptLog, onEachStore, passTime, startApp } from '../app.js';

/** The part of a worker that renews its announcement. */
interface Announcing {
  reports: {
    registration: {
      announcedAtMs: Map<object, number>;
      checkedAtMs: Map<object, number>;
      runOnce(): Promise<void>;
    };
  };
}

/** Makes the class of two subscriptions of a topic, which note what they get. */
function subscribersOf(topic: string, got: [string, unknown][]) {
  class Subscribers {
    @OnTopic(topic, { subscription: 'receipts', maxAttempts: 2 })
    receipt(job: Job) {
      got.push(['receipts', job.payload]);
      if (job.attempt === 1) throw new Error('the mail server is away');
    }

    @OnTopic(topic, { subscription: 'stock' })
    stock(job: Job) {
      got.push(['stock', job.payload]);
    }
  }
  return Subscribers;
}

onEachStore('a topic', () => {
  let app: INestApplication;
  const jobsOf = () => app.get(JobQueueService);

  it('gives each subscription a job of its own, with its own retries and its own queue', async () => {
    const topic = uniqueQueueName();
    const got: [string, unknown][] = [];
    app = await startApp({ providers: [subscribersOf(topic, got)] });
    const { jobs } = await jobsOf().publish(topic, { order: 17 });
    await passTime(app);
    await Promise.all(jobs.map((job) => job.result()));
    expect(jobs.map(({ queue, name }) => [queue, name])).toEqual([
      [`${topic}/receipts`, `${topic}/receipts`],
      [`${topic}/stock`, `${topic}/stock`],
    ]);
    expect(got.map(([name, payload]) => `${name} ${JSON.stringify(payload)}`).toSorted()).toEqual([
      'receipts {"order":17}',
      'receipts {"order":17}',
      'stock {"order":17}',
    ]);
  });

  it('keeps the order of a group, where a worker hands its publications on', async () => {
    const topic = uniqueQueueName();
    const got: unknown[] = [];
    class Subscriber {
      @OnTopic(topic, { subscription: 'receipts', concurrency: 5, groups: { maxRunning: 1 } })
      receipt({ payload }: Job) {
        got.push(payload);
      }
    }
    app = await startApp({ providers: [Subscriber] });
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    for (const each of numbers) await jobsOf().publish(topic, each, { fanOut: 'worker', group: 'g' });
    await passTime(app);
    await eventually(() => got.length === numbers.length);
    expect(got).toEqual(numbers);
  });

  it('adds no job twice for one id, also once the jobs have ended', async () => {
    const topic = uniqueQueueName();
    const got: [string, unknown][] = [];
    app = await startApp({ providers: [subscribersOf(topic, got)] });
    const first = await jobsOf().publish(topic, 1, { id: 'paid-17' });
    await passTime(app);
    await Promise.all(first.jobs.map((job) => job.result()));
    const again = await jobsOf().publish(topic, 1, { id: 'paid-17' });
    expect(again.jobs.map(({ outcome }) => outcome)).toEqual(['existing', 'existing']);
    expect(again.jobs.map(({ id }) => id)).toEqual(first.jobs.map(({ id }) => id));
    expect(got).toHaveLength(3);
  });

  it('keeps apart the jobs of two subscriptions of one queue', async () => {
    const [topic, other, queue] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
    const got: string[] = [];
    class Shared {
      @OnTopic(topic, { subscription: 'a', queue })
      @OnTopic(topic, { subscription: 'b', queue })
      @OnTopic(other, { subscription: 'a', queue })
      note({ name }: Job) {
        got.push(name);
      }
    }
    app = await startApp({ providers: [Shared] });
    await jobsOf().publish(topic, 1, { id: 'one' });
    await jobsOf().publish(other, 1, { id: 'one' });
    await passTime(app);
    await eventually(() => got.length === 3);
    expect(got.toSorted()).toEqual([`${topic}/a`, `${topic}/b`, `${other}/a`].toSorted());
  });

  it('is handed on by a worker, with its group and its metadata, once for one id', async () => {
    const topic = uniqueQueueName();
    const got: unknown[] = [];
    class Subscriber {
      @OnTopic(topic, { subscription: 'a' })
      note({ id, group, metadata, payload }: Job) {
        got.push({ id, group, metadata, payload });
      }
    }
    app = await startApp({ providers: [Subscriber] });
    const options = { id: 'one', fanOut: 'worker', group: 'g', metadata: { by: 'ada' }, ifNone: 'ignore' } as const;
    expect(await jobsOf().publish(topic, 1, options)).toEqual({ id: 'one', jobs: [] });
    await passTime(app);
    await eventually(() => got.length > 0);
    expect(got).toEqual([{ id: `one:${topic}/a`, group: 'g', metadata: { by: 'ada' }, payload: 1 }]);
    await jobsOf().publish(topic, 1, options);
    const again = await jobsOf().publish(topic, 1, { id: 'one' });
    expect(again.jobs.map(({ outcome }) => outcome)).toEqual(['existing']);
  });

  it('without a subscription answers by an error, or by an empty list if asked for', async () => {
    app = await startApp({});
    const topic = uniqueQueueName();
    const error = await failure(() => jobsOf().publish(topic, 1));
    expect(error).toBeInstanceOf(NoSubscriptionError);
    expect(error).toMatchObject({ topic, message: expect.stringContaining(`@OnTopic("${topic}")`) });
    expect(await jobsOf().publish(topic, 1, { id: 'a', ifNone: 'ignore' })).toEqual({ id: 'a', jobs: [] });
  });

  it('of a definition checks the payload for publisher and subscriber', async () => {
    const Paid = defineTopic(uniqueQueueName(), { payload: z.object({ order: z.number().transform(String) }) });
    const got: string[] = [];
    class Subscriber {
      @OnTopic(Paid, { subscription: 'a' })
      note({ payload }: Job<TopicPayload<typeof Paid>>) {
        got.push(payload.order);
      }
    }
    app = await startApp({ providers: [Subscriber] });
    // @ts-expect-error: the definition wants a number
    const error = await failure(() => jobsOf().publish(Paid, { order: '17' }));
    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect(error).toMatchObject({ path: 'payload.order' });
    await jobsOf().publish(Paid, { order: 17 });
    await passTime(app);
    await eventually(() => got.length > 0);
    expect(got).toEqual(['17']);
  });

  it('lists its subscriptions, and ends one that no worker handles', async () => {
    const topic = uniqueQueueName();
    app = await startApp({ providers: [subscribersOf(topic, [])], jobs: { worker: false } });
    const { topics } = jobsOf();
    expect(await topics.list(topic)).toMatchObject([
      { topic, name: 'receipts', queue: `${topic}/receipts`, isHandled: false },
      { topic, name: 'stock', queue: `${topic}/stock`, isHandled: false },
    ]);
    expect(await topics.remove(topic, 'receipts')).toBe(true);
    expect(await topics.remove(topic, 'receipts')).toBe(false);
    expect(await jobsOf().queue(`${topic}/receipts`).actionLog.latest()).toMatchObject([
      { action: 'remove-subscription', subject: `subscription receipts of topic ${topic}`, via: 'app', count: 1 },
    ]);
    expect((await jobsOf().publish(topic, 1)).jobs).toHaveLength(1);
  });
});

it('a subscription that a live worker handles is not ended', async () => {
  const topic = uniqueQueueName();
  const app = await startApp({ providers: [subscribersOf(topic, [])] });
  const { topics } = app.get(JobQueueService);
  expect(await topics.list(topic)).toMatchObject([{ isHandled: true }, { isHandled: true }]);
  const error = await failure(() => topics.remove(topic, 'stock'));
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error).toMatchObject({ hint: expect.stringContaining('Deploy the app without it first') });
});

it('a subscription whose queue has another prefix is looked for there', async () => {
  const topic = uniqueQueueName();
  const queues = { [`${topic}/stock`]: { prefix: uniqueQueueName('p') } };
  const app = await startApp({ providers: [subscribersOf(topic, [])], jobs: { queues } });
  const { topics } = app.get(JobQueueService);
  expect(await topics.list(topic)).toMatchObject([{ isHandled: true }, { isHandled: true }]);
  expect(await failure(() => topics.remove(topic, 'stock'))).toBeInstanceOf(InvalidOptionError);
});

it('a subscription whose queue has a hash tag is looked for there, and gets no publication under other keys', async () => {
  const topic = uniqueQueueName();
  const queue = `${topic}/stock`;
  const tagged = { queues: { [queue]: { hashTag: true } } };
  const got: [string, unknown][] = [];
  await startApp({ providers: [subscribersOf(topic, got)], jobs: tagged });
  const plain = (await startApp({})).get(JobQueueService);
  expect(await plain.topics.list(topic)).toMatchObject([
    { isHandled: true, hashTag: false },
    { isHandled: true, hashTag: true },
  ]);
  const error = await failure(() => plain.publish(topic, 1));
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error).toMatchObject({ hint: expect.stringContaining('same prefix and hashTag') });
  const alike = (await startApp({ jobs: tagged })).get(JobQueueService);
  const { jobs } = await alike.publish(topic, 1);
  await Promise.all(jobs.map((job) => job.result()));
  expect(got.map(([name]) => name).toSorted()).toEqual(['receipts', 'receipts', 'stock']);
});

it('a subscription whose queue cannot be read is not ended, and the others are listed', async () => {
  const topic = uniqueQueueName();
  const app = await startApp({ providers: [subscribersOf(topic, [])], jobs: { worker: false } });
  const { topics } = app.get(JobQueueService);
  await connect().set(`queue:${topic}/stock:names`, 'forged');
  expect(await topics.list(topic)).toMatchObject([
    { name: 'receipts', isHandled: false },
    { name: 'stock', isHandled: null },
  ]);
  const error = await failure(() => topics.remove(topic, 'stock'));
  expect(error).toMatchObject({ hint: expect.stringContaining('A live worker may handle it') });
  expect(await topics.list(topic)).toHaveLength(2);
});

it('a publication that ended halfway says so, and a repeat with its id adds the rest', async () => {
  const [topic, full] = [uniqueQueueName(), uniqueQueueName()];
  class Subscriber {
    @OnTopic(topic, { subscription: 'a' })
    a() {}

    @OnTopic(topic, { subscription: 'b', queue: full })
    b() {}
  }
  const queues = { [full]: { maxPending: 1 } };
  const app = await startApp({ providers: [Subscriber], jobs: { worker: false, queues } });
  const jobs = app.get(JobQueueService);
  await jobs.enqueue(full, 'in the way');
  const error = await failure<PublishError>(() => jobs.publish(topic, 1));
  expect(error).toBeInstanceOf(PublishError);
  expect(error.items.map(({ outcome }) => outcome)).toEqual(['new', 'not-sent']);
  await jobs.queue(full).purge({ confirm: full });
  const { jobs: added } = await jobs.publish(topic, 1, { id: error.publicationId });
  expect(added.map(({ outcome }) => outcome)).toEqual(['existing', 'new']);
});

it.each([
  ['codec', { codec: { name: 'own', encode: String, decode: String } }, {}],
  ['redact', { redact: ['iban'] }, { redact: ['password'] }],
])('the app does not boot if publications would bypass the %s of the queue', async (option, own, defaults) => {
  const topic = uniqueQueueName();
  class Subscriber {
    @OnTopic(topic, { subscription: 'a' })
    a() {}
  }
  const jobs = { ...defaults, queues: { [`${topic}/a`]: own } };
  const app = await compileApp({ providers: [Subscriber], jobs });
  const error = await failure(() => app.init());
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error).toMatchObject({
    subject: `${option} of queue "topic-publications/${topic}"`,
    expected: expect.stringContaining(`"${topic}/a"`),
    hint: expect.stringContaining('in forRoot itself'),
  });
  const whole = { ...jobs, queues: { ...jobs.queues, [`topic-publications/${topic}`]: own } };
  await startApp({ providers: [Subscriber], jobs: { ...whole, worker: false } });
});

it('a publication waits for a process that subscribes to its topic', async () => {
  const [topic, other] = [uniqueQueueName(), uniqueQueueName()];
  const got: [string, unknown][] = [];
  const app = await startApp({ providers: [subscribersOf(other, got)] });
  const jobs = app.get(JobQueueService);
  await startApp({ providers: [subscribersOf(topic, [])], jobs: { worker: false } });
  await jobs.publish(topic, 1, { fanOut: 'worker' });
  await jobs.publish(other, 1, { fanOut: 'worker' });
  await eventually(() => got.some(([name]) => name === 'stock'));
  expect(await jobs.queue(`topic-publications/${topic}`).stats()).toMatchObject({ pending: 1 });
});

it('a handover without a reply names the id of the publication', async () => {
  const topic = uniqueQueueName();
  const lost: MiddlewareEntry = {
    enqueue: () => Promise.reject(new EnqueueError('unknown', 'q', ['of-the-job'], 'no reply')),
  };
  const app = await startApp({ jobs: { worker: false, middleware: [lost] } });
  const error = await failure<PublishError>(() => app.get(JobQueueService).publish(topic, 1, { fanOut: 'worker' }));
  expect(error).toBeInstanceOf(PublishError);
  expect(error.publicationId).not.toContain(topic);
  expect(error.message).toContain(`Publish it again with id "${error.publicationId}"`);
});

it('a fan-out without a subscription is a dead letter after one attempt', async () => {
  const topic = uniqueQueueName();
  const app = await startApp({ providers: [subscribersOf(topic, [])], jobs: { worker: 'manual' } });
  const jobs = app.get(JobQueueService);
  await jobs.publish(topic, 1, { fanOut: 'worker', id: 'one' });
  await connect().hdel('queue:topics', topic);
  await jobs.startWorkers();
  const error = await failure(() => jobs.queue(`topic-publications/${topic}`).awaitResult(`one:${topic}`));
  expect(error).toMatchObject({ name: 'JobFailedError', message: expect.stringContaining('has no subscription') });
});

it('declares where a publication reads, also for a queue with a prefix of its own', async () => {
  const topic = uniqueQueueName();
  const queues = { [`${topic}/stock`]: { prefix: 'other' } };
  const app = await startApp({ providers: [subscribersOf(topic, [])], jobs: { worker: false, queues } });
  const { jobs } = await app.get(JobQueueService).publish(topic, 1);
  expect(jobs).toHaveLength(2);
});

it('a refusal of a queue names the publication, and no place in a list', async () => {
  const topic = uniqueQueueName();
  const app = await startApp({ providers: [subscribersOf(topic, [])], jobs: { worker: false } });
  const jobs = app.get(JobQueueService);
  const loop: Record<string, unknown> = {};
  loop['loop'] = loop;
  const error = await failure(() => jobs.publish(topic, loop));
  expect(error).toMatchObject({ path: 'payload.loop' });
  expect(error['message']).not.toContain('enqueueMany');
});

it('the app starts although it cannot declare its subscriptions, says so once, and goes on trying', async () => {
  const { fire } = holdTimers(10_000);
  const [topic, prefix] = [uniqueQueueName(), uniqueQueueName('p')];
  const redis = connect();
  await redis.set(`${prefix}:topics`, 'text of another program');
  const log = new KeptLog();
  const providers = [subscribersOf(topic, [])];
  const app = await startApp({ providers, jobs: { prefix }, log });
  const jobs = app.get(JobQueueService);
  const said = () => log.lines.filter((line) => line.includes('Could not declare the subscriptions of topics'));
  expect(said()).toHaveLength(1);
  expect(said()[0]).toMatch(/^error .* trying again every 10 s/);
  const job = await jobs.enqueue(`${topic}/stock`, 1);
  await job.result(); // the worker runs
  await fire();
  await redis.del(`${prefix}:topics`);
  await fire();
  await eventually(async () => (await jobs.topics.list(topic)).length === 2);
  expect(said()).toHaveLength(1);
});

it('a live worker declares its subscriptions again where Redis has lost the register alone, and moves none', async () => {
  const [topic, prefix] = [uniqueQueueName(), uniqueQueueName('p')];
  const app = await startApp({ providers: [subscribersOf(topic, [])], jobs: { prefix } });
  const { topics } = app.get(JobQueueService);
  const redis = connect();
  await redis.del(`${prefix}:topics`);
  const newer = `${topic}/of-a-newer-deploy`;
  const other = { topic, name: 'stock', queue: newer };
  await app
    .get(JobQueueService)
    .queue('any')
    .exec((calls) => calls.topics.declare({ subscriptions: [other] }));
  const { registration } = (app.get(WorkerLifecycle).worker as unknown as Announcing).reports;
  registration.announcedAtMs.clear();
  registration.checkedAtMs.clear();
  await registration.runOnce();
  await eventually(async () => (await topics.list(topic)).length === 2);
  expect((await topics.list(topic)).map(({ queue }) => queue)).toEqual([`${topic}/receipts`, newer]);
});

it('a process without a worker declares its subscriptions again too', async () => {
  const timers = holdTimers(120_000);
  const [topic, prefix] = [uniqueQueueName(), uniqueQueueName('p')];
  const app = await startApp({ providers: [subscribersOf(topic, [])], jobs: { prefix, worker: false } });
  const { topics } = app.get(JobQueueService);
  await connect().del(`${prefix}:topics`);
  for (const _ of ['once', 'again']) {
    await timers.fire();
    await eventually(async () => (await topics.list(topic)).length === 2);
    await connect().del(`${prefix}:topics`);
  }
});

it('warns where a boot takes the queue of a subscription over', async () => {
  const topic = uniqueQueueName();
  await startApp({ providers: [subscribersOf(topic, [])], jobs: { worker: false } });
  class Moved {
    @OnTopic(topic, { subscription: 'stock', queue: `${topic}/elsewhere` })
    stock() {}
  }
  const log = new KeptLog();
  await startApp({ providers: [Moved], jobs: { worker: false }, log });
  const said = log.lines.filter((line) => line.includes('has the queue'));
  expect(said).toEqual([expect.stringContaining(`"${topic}/elsewhere" from now on`)]);
  expect(said[0]).toContain(`jobs in queue "${topic}/stock" stay there`);
});

const Bad = (...options: Parameters<typeof OnTopic>) => {
  class Subscriber {
    handle() {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Subscriber.prototype, 'handle')!;
  OnTopic(...options)(Subscriber.prototype, 'handle', descriptor);
  return Subscriber;
};

it.each([
  ['a topic with a slash', () => Bad('order/paid'), 'topic of @OnTopic on Subscriber.handle'],
  [
    'a thread',
    () => Bad('order.paid', { thread: 'file.js' } as never),
    '@OnTopic("order.paid").thread on Subscriber',
  ],
  ['a long subscription', () => Bad('order.paid', { subscription: 'x'.repeat(64) }), '.subscription'],
  ['no options', () => Bad('order.paid', null as never), '@OnTopic on Subscriber.handle'],
])('refuses a subscription with %s', async (_, decorate, subject) => {
  const error = await failure(decorate);
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error).toMatchObject({ subject: expect.stringContaining(subject) });
});

it.each([
  ['a subscription that is bound twice', () => [Bad('order.paid'), Bad('order.paid')], 'one handler of'],
  [
    'a subscription in the queue of publications',
    () => [Bad('order.paid', { queue: 'topic-publications/order.paid' })],
    'for topics',
  ],
  ['an unknown option', () => [Bad('order.paid', { maxAttempt: 3 } as never)], 'maxAttempts'],
])('the app does not boot with %s', async (_, providers, words) => {
  const app = await compileApp({ providers: providers() });
  const error = await failure(() => app.init());
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error).toMatchObject({ message: expect.stringContaining(words) });
});

it('takes the longest id of a publication that may be, and none longer', () => {
  expect(() => checkPublicationId('x'.repeat(64))).not.toThrow();
  expect(() => checkPublicationId('x'.repeat(65))).toThrow('publish.id');
});

it.each([
  ['a topic that no queue can be named after', ['order paid', 1], 'topic'],
  ['an unknown option', ['order.paid', 1, { priority: 3 }], 'priority'],
  ['a long id', ['order.paid', 1, { id: 'x'.repeat(65) }], 'publish.id'],
  [
    'two starts that a worker fans out',
    ['order.paid', 1, { fanOut: 'worker', delayMs: 1, runAt: new Date() }],
    'publish: expected delayMs or runAt',
  ],
  ['an order without a transaction', ['order.paid', 1, { ordered: true }], 'publish.ordered'],
  [
    'a transaction that the caller fans out',
    ['order.paid', 1, { transaction: {}, fanOut: 'caller' }],
    'publish.fanOut',
  ],
  ['a transaction without an outbox', ['order.paid', 1, { transaction: {} }], 'transaction'],
])('refuses to publish with %s', async (_, args, subject) => {
  const app = await startApp({ jobs: { worker: false } });
  const publish = (...given: unknown[]) => app.get(JobQueueService).publish(...(given as [string, unknown]));
  const error = await failure(() => publish(...args));
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error).toMatchObject({ message: expect.stringContaining(subject) });
});
