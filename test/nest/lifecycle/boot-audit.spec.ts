import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { JobQueueService, RedisAuditError, type JobQueueModuleOptions } from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { checkRedisOptions } from '#nest/job-queue.options.js';
import { QueueRegistry } from '#nest/connection/queue-registry.js';
import { type AuditParts, BootAudit } from '#nest/lifecycle/boot-audit.js';
import { UnusedNames } from '#nest/lifecycle/unused-names.js';
import { WorkerLifecycle } from '#nest/lifecycle/worker-lifecycle.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { compileApp, handlerOf, KeptLog, startApp } from '../app.js';

/** A server without fault, but for what the arguments say. */
const SOUND = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction'];

/** Returns the warnings of a boot about the server, without its address. */
async function warningsOf(jobs: JobQueueModuleOptions, name = uniqueQueueName()): Promise<string[]> {
  const log = new KeptLog();
  const app = await startApp({ jobs, log, providers: [handlerOf(name)] });
  await app.close();
  return log.lines.flatMap((line) => /^warn Redis at \S+: (.*)/.exec(line)?.[1] ?? []);
}

describe('the audit at boot', () => {
  it('says nothing of a sound server', async () => {
    const { url } = await startOwnRedis({ args: SOUND });
    expect(await warningsOf({ redis: url })).toEqual([]);
    const app = await compileApp({ jobs: { redis: url, audit: 'error' }, providers: [handlerOf('any')] });
    await expect(app.init()).resolves.toBeDefined();
  });

  it.each([
    [
      ['--maxmemory-policy', 'allkeys-lru', '--maxmemory', '100mb'],
      'found allkeys-lru. When memory is short Redis deletes waiting jobs and whole queues, silently. Set maxmemory-policy',
    ],
    [
      ['--maxmemory-policy', 'volatile-ttl'],
      'found volatile-ttl, without effect while maxmemory is 0. When memory is short Redis deletes results that nobody has ' +
        'read yet, chunks of streams, and cancels on their way to a worker, silently. Set maxmemory-policy to noeviction',
    ],
    [
      ['--appendonly', 'no', '--save', ''],
      'found appendonly no and no snapshots. When Redis crashes, jobs that were acknowledged are lost. Set appendonly',
    ],
    [
      ['--appendonly', 'no', '--save', '60 1'],
      'found appendonly no and snapshots (save "60 1"). When Redis crashes, jobs that were acknowledged are lost, back to the ' +
        'last snapshot. Set appendonly',
    ],
    [
      ['--appendfsync', 'no'],
      'found appendfsync no. A crash of the machine loses about the last 30 s of jobs. Set appendfsync',
    ],
  ])('warns once of %j', async (args, text) => {
    const { url } = await startOwnRedis({ args: [...SOUND, ...args] });
    const warnings = await warningsOf({ redis: url });
    expect(warnings).toEqual([expect.stringContaining(text)]);
  });

  it('warns of a snapshot that failed', async () => {
    const { url, dir } = await startOwnRedis({ args: SOUND });
    const redis = connect({}, url);
    rmSync(dir, { recursive: true }); // the folder of a volume that is gone
    await redis.bgsave();
    await eventually(async () => (await redis.info('persistence')).includes('rdb_last_bgsave_status:err'));
    expect(await warningsOf({ redis: url })).toEqual([
      'persistence: expected rdb_last_bgsave_status ok, found err. Redis cannot write to its disk, and refuses writes ' +
        'for it or soon will. Look at its log and its disk.',
    ]);
  });

  // Skipped where there is no /dev/full, the disk that is always full: only Linux has it.
  (existsSync('/dev/full') ? it : it.skip)('warns of a write to the AOF that failed', async () => {
    const { url, dir } = await startOwnRedis({ args: [...SOUND, '--appendonly', 'no'] });
    mkdirSync(join(dir, 'appendonlydir'));
    // The file to which Redis writes until the base of a new AOF is there.
    symlinkSync('/dev/full', join(dir, 'appendonlydir', 'temp-appendonly.aof.incr'));
    const redis = connect({}, url);
    await redis.config('SET', 'appendonly', 'yes');
    await redis.set('any', 'value').catch(() => undefined);
    await eventually(async () => (await redis.info('persistence')).includes('aof_last_write_status:err'));
    const log = new KeptLog();
    await startApp({ jobs: { redis: url, worker: false, maintenance: false }, log });
    expect(log.lines).toContainEqual(
      expect.stringContaining('persistence: expected aof_last_write_status ok, found err. Redis cannot write'),
    );
  });

  it('warns of a replica, where nothing can be enqueued', async () => {
    const master = await startOwnRedis({ args: SOUND });
    const replica = await startOwnRedis({ args: [...SOUND, '--replicaof', master.host, String(master.port)] });
    const log = new KeptLog();
    const app = await startApp({ jobs: { redis: replica.url, worker: false }, log });
    await app.close();
    expect(log.lines).toContainEqual(
      expect.stringContaining(
        `role: expected a master, found a replica of ${master.host}:${master.port}. A replica`,
      ),
    );
  });

  it.each([true, false])('warns of jobs under the other spelling (hashTag: %j)', async (hashTag) => {
    const { url } = await startOwnRedis({ args: SOUND });
    const name = uniqueQueueName();
    const other = hashTag ? name : `{${name}}`;
    await connect({}, url).lpush(`queue:${other}:pending`, 'a');
    expect(await warningsOf({ redis: url, hashTag }, name)).toEqual([
      expect.stringContaining(
        `keys of queue "${name}": expected keys spelled queue:${hashTag ? `{${name}}` : name}:pending, ` +
          `found queue:${other}:pending. Jobs wait under the other spelling`,
      ),
    ]);
  });

  it('warns of a queue whose keys are among those of another', async () => {
    const { url } = await startOwnRedis({ args: SOUND });
    const name = uniqueQueueName();
    const redis = connect({}, url);
    await redis.lpush(`queue:${name}:job:pending`, 'a');
    await redis.hset(`queue:${name}:job:completed`, 'status', 'pending'); // the job with the id `completed`
    expect(await warningsOf({ redis: url }, name)).toEqual([
      expect.stringContaining(
        `keys of queue "${name}": expected no queue "${name}:job", whose keys are among those of "${name}", ` +
          `found queue:${name}:job:pending.`,
      ),
    ]);
  });

  it('warns a process that does not maintain its queues where no other does, once a fleet has started', async () => {
    const { url } = await startOwnRedis({ args: SOUND });
    const app = await startApp({ jobs: { redis: url, worker: false, maintenance: false, queues: { mail: {} } } });
    const queues = app.get(QueueRegistry, { strict: false });
    const looked = async (fleetBootMs?: number) => {
      const stats = jest.spyOn(queues.queue('mail'), 'stats');
      const lines: string[] = [];
      const logger = {
        log: () => undefined,
        error: () => undefined,
        warn: (line: string) => void lines.push(line),
      };
      const names = app.get(UnusedNames, { strict: false });
      await new BootAudit(
        {
          options: { app: 'own', audit: 'error', maintenance: false, worker: false },
          queues,
          logger,
          names,
          handlers: { queueNames: [] },
        },
        fleetBootMs,
      ).run();
      if (fleetBootMs !== undefined) {
        await eventually(() => Promise.resolve(stats.mock.results.length > 0));
        await stats.mock.results[0]!.value;
        await new Promise(setImmediate);
      }
      stats.mockRestore();
      return lines;
    };
    expect(await looked(0)).toEqual([]); // an unused queue has no state to warn of
    await queues.queue('mail').enqueue(null);
    expect(await looked()).toEqual([]); // the process that maintains it may boot at the same time
    expect(await looked(0)).toEqual([
      expect.stringContaining('No process has maintained queue "mail" yet, and this one has maintenance: false.'),
    ]);
    await startApp({ jobs: { redis: url, worker: false, maintenance: { everyMs: 100 }, queues: { mail: {} } } });
    const redis = connect({}, url);
    await eventually(async () => (await redis.hexists('queue:mail:sweep', 'maintained_at_ms')) === 1);
    expect(await looked(0)).toEqual([]);
  });

  it('warns of a queue whose last maintenance came just before the boot', async () => {
    const { url } = await startOwnRedis({ args: SOUND });
    const app = await startApp({ jobs: { redis: url, worker: false, maintenance: false, queues: { mail: {} } } });
    const at = String(Date.now() - 124_600); // overdue after 125 s, so between the two looks
    const fields = { last_run_at_ms: at, maintained_at_ms: at, every_ms: '5000' };
    await connect({}, url).hset('queue:mail:sweep', fields);
    const lines: string[] = [];
    const logger = {
      log: () => undefined,
      error: () => undefined,
      warn: (line: string) => void lines.push(line),
    };
    const queues = app.get(QueueRegistry, { strict: false });
    const names = app.get(UnusedNames, { strict: false });
    await new BootAudit(
      {
        options: { app: 'own', audit: 'error', maintenance: false, worker: false },
        queues,
        logger,
        names,
        handlers: { queueNames: [] },
      },
      200,
    ).run();
    await eventually(() => Promise.resolve(lines.length > 0));
    expect(lines).toEqual([expect.stringContaining('No process has maintained queue "mail" since ')]);
  });

  it('looks no more once the app is shut down', async () => {
    const { url } = await startOwnRedis({ args: SOUND });
    const app = await startApp({ jobs: { redis: url, worker: false, queues: { mail: {} } } });
    const names = app.get(UnusedNames, { strict: false });
    const look = jest.spyOn(names, 'lookAtAll').mockResolvedValue();
    const parts: AuditParts = {
      options: { app: 'own', audit: 'error', maintenance: { everyMs: 5_000 }, worker: false },
      queues: app.get(QueueRegistry, { strict: false }),
      logger: new KeptLog(),
      names,
      handlers: { queueNames: [] },
    };
    const [ended, inFlight] = [new BootAudit(parts, 0), new BootAudit(parts, 0)];
    await ended.run();
    ended.onApplicationShutdown(); // before the timers of its looks, which have no delay
    const run = inFlight.run();
    inFlight.onApplicationShutdown();
    await run;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(look).not.toHaveBeenCalled();
  });

  it('tells once of another app whose workers serve the same queue, and of no worker of the same app', async () => {
    const { url } = await startOwnRedis({ args: SOUND });
    const [shared, own] = ['email', 'of-one-app'];
    const linesOf = async (app: string, prefix = 'queue', names = [shared]) => {
      const log = new KeptLog();
      await startApp({ log, jobs: { redis: url, app, prefix }, providers: names.map((name) => handlerOf(name)) });
      // An app of an earlier test may have closed before its queue was in the register. Its warning is none of the audit.
      return log.lines.filter((line) => line.includes('Workers of another app'));
    };
    expect(await linesOf('shop', 'queue', [shared, own])).toEqual([]);
    expect(await linesOf('shop', 'queue', [shared, own])).toEqual([]);
    expect(await linesOf('crm', 'crm')).toEqual([]);
    expect(await linesOf('crm')).toEqual([
      'warn Workers of another app, "shop", serve queue "email" too, on this Redis with the prefix "queue". Each takes jobs of the ' +
        'other. Give one of them a `prefix` of its own in forRoot. If both are to serve them, give both the same `app`; ' +
        'this one is "crm".',
    ]);
  });

  it("audit: 'off' looks for nothing", async () => {
    const { url } = await startOwnRedis();
    expect(await warningsOf({ redis: url, audit: 'off' })).toEqual([]);
  });

  it("audit: 'error' refuses the boot and lists the findings", async () => {
    const { url, port } = await startOwnRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const app = await compileApp({ jobs: { redis: url, audit: 'error' }, providers: [handlerOf('any')] });
    const refusal = (await app.init().catch((error: unknown) => error)) as RedisAuditError;
    expect(refusal).toBeInstanceOf(RedisAuditError);
    expect(refusal.message).toMatch(
      new RegExp(`^Redis at 127.0.0.1:${port} endangers jobs: maxmemory-policy: .*; persistence: .*`),
    );
    expect(refusal.findings).toMatchObject([
      { subject: 'maxmemory-policy', expected: 'noeviction', remedy: expect.stringContaining('CONFIG SET') },
      { subject: 'persistence', expected: 'appendonly yes' },
    ]);
  });

  it("audit: 'error' follows where Redis was away at boot: the worker does not start, and health says why", async () => {
    const [port, name] = [await freePort(), uniqueQueueName()];
    const redis = `redis://127.0.0.1:${port}`;
    const app = await startApp({ jobs: { redis, audit: 'error' }, providers: [handlerOf(name)] });
    await startOwnRedis({ port, args: [...SOUND, '--maxmemory-policy', 'allkeys-lru'] });
    const health = async () => (await app.get(JobQueueHealthIndicator).check()).jobQueue;
    await eventually(async () => (await health()).message?.includes('could not start'));
    expect(await health()).toMatchObject({
      status: 'down',
      redis: { reachable: true },
      message: expect.stringMatching(/^the worker could not start: Redis at \S+ endangers jobs: maxmemory-policy/),
    });
    const { id } = await app.get(JobQueueService).enqueue(name, null);
    expect(await app.get(JobQueueService).get(name, id)).toMatchObject({ status: 'pending' });
  });

  const UNSOUND = [...SOUND, '--maxmemory-policy', 'allkeys-lru'];

  describe.each([
    ['a producer', () => ({ worker: false, maintenance: false }) as const, []],
    ['a worker', () => ({}), [handlerOf(uniqueQueueName())]],
  ])('follows where Redis comes later, in %s', (_who, own, providers) => {
    it('and warns once, however often Redis goes', async () => {
      const [port, log] = [await freePort(), new KeptLog()];
      const app = await startApp({ jobs: { redis: `redis://127.0.0.1:${port}`, ...own() }, providers, log });
      const server = await startOwnRedis({ port, args: UNSOUND });
      const warnings = () => log.lines.filter((line) => line.includes('expected noeviction, found allkeys-lru'));
      await eventually(() => Promise.resolve(warnings().length > 0));
      const lifecycle = app.get(WorkerLifecycle);
      if (lifecycle.canServe) await lifecycle.startWorkers();
      await server.restart();
      await app.get(JobQueueService).enqueue('any', null);
      await app.get(JobQueueService).queue('any').stats();
      expect(warnings()).toEqual([expect.stringMatching(/^warn Redis at 127.0.0.1:\d+: maxmemory-policy: /)]);
      expect(log.lines.filter((line) => line.startsWith('error'))).toEqual([]);
    });

    it('also when it comes before the boot is over', async () => {
      const [port, log] = [await freePort(), new KeptLog()];
      const client = connect({ lazyConnect: true, retryStrategy: () => 20 }, `redis://127.0.0.1:${port}`);
      client.on('error', () => undefined); // the app's own client, whose errors the library leaves to the app
      class RedisComes {
        async onApplicationBootstrap() {
          await startOwnRedis({ port, args: UNSOUND });
          await client.ping();
        }
      }
      await startApp({ jobs: { redis: client, ...own() }, providers: [...providers, RedisComes], log });
      await eventually(() => Promise.resolve(log.lines.some((line) => line.includes('found allkeys-lru'))));
    });
  });

  it("audit: 'error' follows in a producer: health says why, and the app lives", async () => {
    const [port, log, name] = [await freePort(), new KeptLog(), uniqueQueueName()];
    const jobs = { redis: `redis://127.0.0.1:${port}`, audit: 'error', worker: false, maintenance: false } as const;
    const app = await startApp({ jobs, log });
    await startOwnRedis({ port, args: UNSOUND });
    const health = async () => (await app.get(JobQueueHealthIndicator).check()).jobQueue;
    await eventually(async () => (await health()).message?.includes('endangers jobs'));
    expect(await health()).toMatchObject({ status: 'down', redis: { reachable: true } });
    expect(log.lines).toContainEqual(expect.stringMatching(/^error Redis at \S+ endangers jobs: maxmemory-policy/));
    const { id } = await app.get(JobQueueService).enqueue(name, null);
    expect(await app.get(JobQueueService).get(name, id)).toMatchObject({ status: 'pending' });
  });

  it('works for a user who may not ask for the configuration', async () => {
    const { url, host, port } = await startOwnRedis({ args: [...SOUND, '--appendonly', 'no'] });
    const acl = ['app', 'on', '>secret', '~*', '&*', '+@all', '-config'];
    await connect({}, url).call('ACL', 'SETUSER', ...acl);
    expect(await warningsOf({ redis: `redis://app:secret@${host}:${port}` })).toEqual([
      expect.stringContaining('found appendonly no. When Redis crashes, jobs that were acknowledged are lost. Set'),
    ]);
  });
});

describe('options of ioredis', () => {
  it.each([
    [
      { url: 'redis://user:pass@cache:6379' },
      '.redis.url: expected an option of ioredis, found "url", which ioredis ignores.',
    ],
    [{ hots: 'cache' }, '.redis.hots: expected a known option, found "hots". Did you mean host?'],
    [
      { host: 'cache', port: Number.NaN },
      '.redis.port: expected a number from 1 to 65535, found NaN. Number() of text, or of a missing variable, is NaN.',
    ],
    [{ host: 'cache', port: 'redis' }, '.redis.port: expected a number from 1 to 65535, found "redis".'],
    [{ host: 'cache', port: 70_000 }, '.redis.port: expected a number from 1 to 65535, found 70000.'],
    [
      { host: 'cache', db: Number.NaN },
      '.redis.db: expected a number from 0 to 2147483647, found NaN. Number() of',
    ],
    [
      {
        name: 'm',
        sentinels: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: Number.NaN },
        ],
      },
      '.redis.sentinels[1].port: expected a number from 1 to 65535, found NaN.',
    ],
    ['redis://cache:6379/pass', 'found "redis://cache:6379/…"'],
    ['redis://cache:6379/0#pass', 'found "redis://cache:6379/…"'],
    ['//cache:6379/pass', 'found "//cache:6379/…"'],
    [{ host: 'cache/pass' }, 'found "cache/…"'],
    ['redis://cache:undefined', 'After the host comes the number of a port'],
    ['redis://:pass@cache:NaN/0', 'After the host comes the number of a port'],
    ['redis://cache:6379/jobs', 'found "redis://cache:6379/…". After the host comes the number of a database'],
  ])('%j is refused, and does not connect to localhost', async (redis, text) => {
    const app = compileApp({ jobs: { redis: redis as JobQueueModuleOptions['redis'] } });
    await expect(app).rejects.toThrow(text);
    await expect(app).rejects.not.toThrow('pass');
  });

  it('of every kind are taken', () => {
    expect(() => checkRedisOptions('redis', { ...connect().options, tls: {} })).not.toThrow();
  });
});
