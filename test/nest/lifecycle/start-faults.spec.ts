// How an app starts while Redis has a fault: what passes is waited for, what stays is tried again slowly.
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import type { Redis } from 'ioredis';
import {
  JobHandler,
  JobQueueModule,
  JobQueueService,
  QueueLayoutError,
  RedisPermissionError,
  RedisUnsuitableError,
} from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { PASSING_FAULTS, type PassingFault } from '../../support/faults/refusing-server.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { createUser, MINIMAL_PERMISSIONS } from '../../support/redis/acl.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { holdTimers } from '../../support/worker/held-timers.js';
import { leaveBroken, newQueue, TestWorker } from '../../support/worker/workers.js';
import { LAYOUT } from '#queue/scripts/layout.js';
import { compileApp, handlerOf, KeptLog, startApp } from '../app.js';

const LOOK_MS = 2_000;
const LATER_MS = 10_000;

let url: string;
let boss: Redis;
/** The timers of the wait for Redis, or of the slow repeats. */
let timers: ReturnType<typeof holdTimers>;
beforeAll(async () => {
  ({ url } = await startOwnRedis());
  boss = connect({}, url);
});

/** Makes a client of the test, so that each fault can be put between it and the server. */
function clientOf(to = url): Redis {
  const client = connect({ maxRetriesPerRequest: null, retryStrategy: () => 20 }, to);
  client.on('error', () => undefined);
  return client;
}

/** Makes a silent server: a proxy swallows what is sent. */
async function silent(): Promise<{ to: string; fault: PassingFault }> {
  const proxy = await FaultProxy.start(url);
  const end = async () => {
    proxy.heal();
    proxy.cut();
  };
  return { to: proxy.url, fault: { reply: 'no answer', begin: async () => proxy.pause(), end } };
}

interface Scene {
  client: Redis;
  fault: PassingFault;
}

const silence = async (): Promise<Scene> => {
  const { to, fault } = await silent();
  return { client: clientOf(to), fault };
};
const PASSING: [string, () => Promise<Scene>][] = [
  ...PASSING_FAULTS.map((fault): [string, () => Promise<Scene>] => [
    fault.reply,
    async () => ({ client: clientOf(), fault }),
  ]),
  ['nothing', silence],
];

let scene: Scene | undefined;
afterEach(async () => {
  await scene?.fault.end(boss, scene.client).catch(() => undefined);
  scene = undefined;
});

async function begin(make: () => Promise<Scene>): Promise<Scene> {
  const made = await make();
  await made.client.ping();
  await made.fault.begin(boss, made.client);
  return (scene = made);
}

async function heal({ fault, client }: Scene): Promise<void> {
  scene = undefined;
  await fault.end(boss, client);
  // A killed script still runs for a moment.
  await eventually(async () => (await boss.ping().catch(() => '')) === 'PONG');
}

type App = Awaited<ReturnType<typeof startApp>>;

const healthOf = async (app: App) => (await app.get(JobQueueHealthIndicator).check('jobs')).jobs;
const resultOf = async (app: App, name: string) =>
  (await app.get(JobQueueService).enqueue(name, null)).result({ timeoutMs: 20_000 });

/** Ends the waits of a boot or a load once it has met the fault. */
async function hurried<Value>(log: KeptLog, reply: string, waiting: Promise<Value>): Promise<Value> {
  const isMet = () => reply === 'no answer' || log.lines.some((line) => line.includes(reply));
  for (;;) {
    const outcome = await Promise.race([waiting.then((value) => ({ value })), sleep(5)]);
    if (outcome) return outcome.value;
    if (isMet()) await timers.fire(0);
  }
}

function lazyModule(name: string) {
  @Module({ providers: [handlerOf(name)] })
  class LazyModule {}
  return LazyModule;
}

describe.each(PASSING)('while the server replies %s', (_, make) => {
  beforeEach(() => void (timers = holdTimers(LOOK_MS)));

  it('the start of a worker of the core waits', async () => {
    const { client, fault } = await begin(make);
    const queue = newQueue({}, client);
    const tested = new TestWorker([{ queue, handlers: { [queue.name]: () => 'done' } }], {});
    const started = tested.worker.start();
    if (fault.reply !== 'no answer') {
      await eventually(() => tested.worker.trouble?.message.includes(fault.reply));
    }
    await heal(scene!);
    await started;
    expect(await (await queue.enqueue(null)).result()).toBe('done');
    expect(tested.worker.trouble).toBeUndefined();
  });

  it('an app boots, health is down, and its worker starts after the fault', async () => {
    const name = uniqueQueueName();
    const { client, fault } = await begin(make);
    const log = new KeptLog();
    const app = await compileApp({ jobs: { redis: client }, providers: [handlerOf(name)], log });
    await hurried(log, fault.reply, app.init());
    expect(await healthOf(app)).toMatchObject({ status: 'down' });
    await heal(scene!);
    expect(await resultOf(app, name)).toBe('done');
    expect(await healthOf(app)).toMatchObject({ status: 'up' });
  });

  it('an app whose Redis was away at boot starts its worker after the fault', async () => {
    const name = uniqueQueueName();
    const { client, fault } = await begin(make);
    const away = await FaultProxy.start(`redis://127.0.0.1:${client.options.port}`);
    away.refuse();
    const redis = clientOf(away.url);
    const log = new KeptLog();
    const app = await compileApp({ jobs: { redis }, providers: [handlerOf(name)], log });
    await hurried(log, 'The app starts without it', app.init());
    if (fault.reply === 'LOADING') await fault.begin(boss, redis);
    away.heal();
    await eventually(async () => (await healthOf(app)).status === 'down');
    if (!/BUSY|no answer/.test(fault.reply)) {
      await eventually(() => log.lines.some((line) => line.includes(fault.reply)));
    }
    Reflect.deleteProperty(redis, 'sendCommand');
    await heal(scene!);
    expect(await resultOf(app, name)).toBe('done');
  });

  it('a queue that is new in a running app is served after the fault', async () => {
    const [first, name] = [uniqueQueueName(), uniqueQueueName()];
    const made = await make();
    const log = new KeptLog();
    const app = await startApp({ jobs: { redis: made.client }, providers: [handlerOf(first)], log });
    await begin(async () => made);
    const loading = app.get(LazyModuleLoader).load(() => lazyModule(name));
    await hurried(log, made.fault.reply, loading);
    await heal(scene!);
    expect(await resultOf(app, name)).toBe('done');
  });
});

/** An error that stays until somebody repairs it. */
interface Staying {
  error: abstract new (...given: never[]) => Error;
  /** Makes a client with the fault for these queues. */
  begin(queues: readonly string[]): Promise<Redis>;
  repair(queues: readonly string[]): Promise<unknown>;
}

/** The clients whose server says that it is too old. */
const outdated: Redis[] = [];
const outdate = (client: Redis) => {
  outdated.push(client);
  const info = client.info.bind(client) as (...args: unknown[]) => Promise<string>;
  // ioredis itself asks with a callback whether the server is ready.
  client.info = async (...args: unknown[]) =>
    typeof args.at(-1) === 'function' ? info(...args) : 'redis_version:6.2.14';
  client.eval = () => Promise.reject(new Error('ERR unknown command'));
};

const sweepOf = (queue: string) => `queue:${queue}:sweep`;
const STAYING: [string, Staying][] = [
  [
    'a missing permission',
    {
      error: RedisPermissionError,
      begin: () => createUser(boss, url, `${MINIMAL_PERMISSIONS} -zrem`, { maxRetriesPerRequest: null }),
      repair: () => boss.call('ACL', 'SETUSER', 'queue', '+zrem'),
    },
  ],
  [
    'a newer layout',
    {
      error: QueueLayoutError,
      begin: async (queues) => {
        await Promise.all(queues.map((queue) => boss.hset(sweepOf(queue), 'layout', LAYOUT + 1)));
        return clientOf();
      },
      repair: (queues) => Promise.all(queues.map((queue) => boss.del(sweepOf(queue)))),
    },
  ],
];

const TOO_OLD: [string, Staying] = [
  'a server that is too old',
  {
    error: RedisUnsuitableError,
    begin: async () => clientOf(),
    repair: async () =>
      outdated
        .splice(0)
        .forEach((client) => ['info', 'eval'].forEach((each) => Reflect.deleteProperty(client, each))),
  },
];

describe.each([...STAYING, TOO_OLD])('with %s', (what, { error, begin: beginStaying, repair }) => {
  beforeEach(() => void (timers = holdTimers(LATER_MS)));
  const spoil = (client: Redis) => what === TOO_OLD[0] && outdate(client);

  it('the start of a worker of the core rejects, and another start is a new one', async () => {
    const name = uniqueQueueName();
    const client = await beginStaying([name]);
    spoil(client);
    const queue = newQueue({}, client, name);
    leaveBroken(queue);
    const { worker } = new TestWorker([{ queue, handlers: { [name]: () => 'done' } }], {});
    await expect(worker.start()).rejects.toBeInstanceOf(error);
    await repair([name]);
    await worker.start();
    expect(await (await queue.enqueue(null)).result()).toBe('done');
    expect(worker.trouble).toBeUndefined();
  });

  it('an app does not boot', async () => {
    const name = uniqueQueueName();
    const redis = await beginStaying([name]);
    spoil(redis);
    const app = await compileApp({ jobs: { redis }, providers: [handlerOf(name)] });
    await expect(app.init()).rejects.toBeInstanceOf(error);
  });

  it('an app whose Redis was away at boot says so, tries again slowly, and heals', async () => {
    const name = uniqueQueueName();
    const made = await beginStaying([name]);
    const away = await FaultProxy.start(url);
    away.refuse();
    const { username, password } = made.options;
    const redis = connect({ username, password, maxRetriesPerRequest: null, retryStrategy: () => 20 }, away.url);
    redis.on('error', () => undefined);
    spoil(redis);
    const log = new KeptLog();
    const app = await compileApp({ jobs: { redis }, providers: [handlerOf(name)], log });
    await app.init();
    away.heal();
    await eventually(async () => (await healthOf(app)).worker?.error);
    expect(await healthOf(app)).toMatchObject({ status: 'down' });
    expect(log.lines).toContainEqual(
      expect.stringMatching(/^error The worker could not start; trying again every 10 s: /),
    );
    await repair([name]);
    await timers.fire();
    expect(await resultOf(app, name)).toBe('done');
    expect(await healthOf(app)).toMatchObject({ status: 'up' });
  });
});

it('an app that does not boot runs no job for another server, and leaves no connection', async () => {
  const [name, refused] = [uniqueQueueName(), uniqueQueueName()];
  const { options } = await createUser(boss, url, MINIMAL_PERMISSIONS.replace('+zadd', '-zadd'));
  const { host, port, username, password } = options;
  @JobHandler(refused, { connection: 'other' })
  class Refused {
    handle() {}
  }
  const app = await compileApp({
    jobs: { redis: url },
    imports: [JobQueueModule.forRoot({ name: 'other', redis: { host, port, username, password } })],
    providers: [handlerOf(name), Refused],
  });
  await expect(app.init()).rejects.toBeInstanceOf(RedisPermissionError);
  expect(await boss.client('LIST')).not.toContain('name=nest-job-queue');
});

it.each(['default', 'other'])(
  'an app whose %s server is missing leaves no connection to another',
  async (missing) => {
    const away = { redis: 'redis://127.0.0.1:1', requireRedis: { timeoutMs: 100 } };
    const [first, second] = missing === 'default' ? [away, { redis: url }] : [{ redis: url }, away];
    const app = await compileApp({
      jobs: first,
      imports: [JobQueueModule.forRoot({ name: 'other', ...second })],
      providers: [handlerOf(uniqueQueueName())],
    });
    await expect(app.init()).rejects.toBeInstanceOf(RedisUnsuitableError);
    expect(await boss.client('LIST')).not.toContain('name=nest-job-queue');
  },
);

it('an app whose second server falls silent says so before the jobs of the first have ended', async () => {
  const [name, silentName] = [uniqueQueueName(), uniqueQueueName()];
  const proxy = await FaultProxy.start(url);
  const [running, release] = [gate(), gate()];
  @JobHandler(silentName, { connection: 'other' })
  class Silent {
    onApplicationBootstrap() {
      proxy.pause();
    }
    handle() {}
  }
  const log = new KeptLog();
  const app = await compileApp({
    jobs: { redis: url },
    imports: [JobQueueModule.forRoot({ name: 'other', redis: proxy.url, requireRedis: { timeoutMs: 1_000 } })],
    providers: [handlerOf(name, () => (running.open(), release.promise)), Silent],
    log,
  });
  await newQueue({}, boss, name).enqueue(null);
  const booting = app.init().catch((error: unknown) => error);
  await running.promise;
  await eventually(() =>
    log.lines.some((line) => line.startsWith('error The worker did not start within 1000 ms. ')),
  );
  release.open();
  expect(await booting).toBeInstanceOf(RedisUnsuitableError);
});

describe.each(STAYING)('with %s', (_, { begin: beginStaying, repair }) => {
  beforeEach(() => void (timers = holdTimers(LATER_MS)));

  it('a queue that is new in a running app says so, is tried again slowly, and heals', async () => {
    const [first, name] = [uniqueQueueName(), uniqueQueueName()];
    const redis = await createUser(boss, url, MINIMAL_PERMISSIONS, { maxRetriesPerRequest: null });
    const log = new KeptLog();
    const app = await startApp({ jobs: { redis }, providers: [handlerOf(first)], log });
    const made = await beginStaying([name]);
    await app.get(LazyModuleLoader).load(() => lazyModule(name));
    expect(await healthOf(app)).toMatchObject({ status: 'down' });
    await repair([name]);
    await timers.fire();
    expect(await resultOf(app, name)).toBe('done');
    made.disconnect();
  });
});
