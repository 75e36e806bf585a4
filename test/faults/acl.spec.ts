// A Redis user with exactly a queue's permissions, and the effect of a missing one.
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Redis, RedisOptions } from 'ioredis';
import { JobHandler, JobQueueService, RecurringJob } from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { DurabilityTimeoutError } from '#queue/enqueue/enqueue-batcher.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { RedisPermissionError } from '#queue/errors/redis-errors.js';
import type { Job } from '#worker/handlers/job.js';
import { KeptLog, startApp, handlerOf } from '../nest/app.js';
import { BACK_MS } from '../support/queue/bounds.js';
import { createUser, DOCTOR_PERMISSIONS, MINIMAL_PERMISSIONS } from '../support/redis/acl.js';
import { startOwnRedis, type OwnRedis } from '../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { eventually, sleep } from '../support/faults/wait.js';
import { leaveBroken, newQueue, startWorker } from '../support/worker/workers.js';
import { inside } from '../support/queue/inside.js';

/** Commands, those inside of scripts included, that a client which asks without a pause far exceeds in a second. */
const SPINNING = 100;

let server: OwnRedis;
let admin: Redis;
beforeAll(async () => {
  server = await startOwnRedis({ args: ['--appendonly', 'yes'] });
  admin = connect({}, server.url);
});
const user = (permissions = MINIMAL_PERMISSIONS) => createUser(admin, server.url, permissions);

/** Returns what the server refused. Redis 7.0 has no CLIENT SETINFO, so nobody can be granted it there. */
async function refusals(): Promise<string[]> {
  const entries = (await admin.call('ACL', 'LOG')) as string[][];
  return entries
    .map((entry) => entry[entry.indexOf('object') + 1]!)
    .filter((object) => object !== 'client|setinfo');
}

/** Makes a queue of a user who may not read its invariants. */
async function queueOf(
  permissions: string,
  name?: string,
  options: QueueOptions = {},
  connection: RedisOptions = {},
) {
  const queue = newQueue(options, await createUser(admin, server.url, permissions, connection), name);
  leaveBroken(queue);
  return queue;
}

describe('a user with the minimal permissions', () => {
  it('carries a whole life of jobs', async () => {
    await admin.call('ACL', 'LOG', 'RESET');
    const queue = newQueue({ backoff: { type: 'fixed', delayMs: 1 } }, await user());
    leaveBroken(queue); // the invariants are read by another
    newQueue({}, admin, queue.name);
    const worker = await startWorker(
      queue,
      async (job: Job) => {
        await job.progress(50);
        await job.log('half');
        if (String(job.payload) === 'fails' || (job.payload === 'retried' && job.attempt === 1))
          throw new Error('no');
        return job.payload;
      },
      { sweepIntervalMs: 100 },
    );
    const result = (await queue.enqueue('plain')).result();
    expect(await result).toBe('plain');
    await queue.enqueueMany([{ payload: 'batch' }, { payload: 'prior', priority: 5 }]);
    await queue.enqueue(['late'], { delayMs: 20, unique: { key: 'k', for: 'unfinished' } });
    await (await queue.enqueue('retried')).result();
    const dead = await queue.enqueue(['fails'], { maxAttempts: 1 });
    await expect(dead.result()).rejects.toThrow('no');
    await queue.deadLetters.redrive(dead.id);
    await worker.event('failed', 2);
    await queue.deadLetters.discard(dead.id);
    await queue.schedules.upsert('tick', { everyMs: 1_000 });
    await queue.schedules.remove('tick');
    const { id } = await queue.enqueue(['cancelled'], { delayMs: 60_000 });
    await queue.reschedule(id, { delayMs: 50_000 });
    await queue.cancel(id);
    await queue.pause();
    await queue.resume();
    await eventually(async () => (await queue.stats()).completed === 5);
    await queue.purge({ confirm: queue.name });
    await worker.worker.stop();
    expect((await queue.list('completed')).length).toBe(0);
    expect(await refusals()).toEqual([]);
  });

  it('and with three more has the doctor, who without them names the first', async () => {
    const queue = newQueue({}, admin);
    const { id } = await queue.enqueue('lost');
    const { keys } = await inside(queue).scripts();
    await admin.lrem(keys.pending, 1, id);
    const doctorOf = async (permissions: string) =>
      (await queueOf(permissions, queue.name)).doctor({ repair: true });
    await expect(doctorOf(MINIMAL_PERMISSIONS)).rejects.toThrow(RedisPermissionError);
    await expect(doctorOf(MINIMAL_PERMISSIONS)).rejects.toThrow('the command scan');
    const { findings } = await doctorOf(`${MINIMAL_PERMISSIONS} ${DOCTOR_PERMISSIONS}`);
    expect(findings).toMatchObject([{ kind: 'orphan', subject: id, repaired: true }]);
  });

  it('and with one more has another database, and an enqueue that waits for replicas', async () => {
    const elsewhere = await queueOf(`${MINIMAL_PERMISSIONS} +select`, undefined, {}, { db: 1 });
    expect(await elsewhere.enqueue('elsewhere')).toMatchObject({ outcome: 'new' });
    const options = { durability: 'replica', durabilityTimeoutMs: 50 } as const;
    const waiting = await queueOf(`${MINIMAL_PERMISSIONS} +wait`, undefined, options);
    await expect(waiting.enqueue('there is no replica')).rejects.toThrow(DurabilityTimeoutError);
  });

  it('carries the Nest module, its events, its schedules and its health', async () => {
    await user();
    await admin.call('ACL', 'LOG', 'RESET');
    const name = uniqueQueueName();
    const Handler = handlerOf(name, () => 'done');
    @JobHandler(`${name}-often`)
    @RecurringJob({ everyMs: 200 })
    class Often {
      handle() {}
    }
    const log = new KeptLog();
    const redis = server.url.replace('//', '//queue:pw@');
    const app = await startApp({
      jobs: { redis, maintenance: { everyMs: 100 } },
      providers: [Handler, Often],
      log,
    });
    const jobs = app.get(JobQueueService);
    const seen: string[] = [];
    const listening = jobs.events.subscribe(({ status }) => void seen.push(status));
    expect(await (await jobs.enqueue(name, null)).result()).toBe('done');
    await eventually(() => seen.includes('completed'));
    listening.unsubscribe();
    const health = app.get(JobQueueHealthIndicator);
    expect(await health.check('jobs', { requireWorker: true })).toMatchObject({ jobs: { status: 'up' } });
    await sleep(250); // a sweep or two
    await app.close();
    expect(log.lines.filter((line) => !line.startsWith('log'))).toEqual([]);
    // The boot audit asks for the configuration where it may, and does without where it may not.
    expect(await refusals()).toEqual(['config|get']);
  });
});

describe('a missing permission', () => {
  it('of a command that a script calls stops a worker before its first job, by name', async () => {
    const queue = newQueue({}, await user(`${MINIMAL_PERMISSIONS} -zrem -publish`));
    leaveBroken(queue);
    const starting = startWorker(queue);
    await expect(starting).rejects.toThrow(RedisPermissionError);
    await expect(starting).rejects.toMatchObject({
      missing: [`the command publish on the channel queue:${queue.name}:events`, 'the command zrem'],
    });
  });

  it('to run scripts refuses an enqueue, by name, and nothing was written', async () => {
    const queue = newQueue({}, await user(`${MINIMAL_PERMISSIONS} -evalsha`));
    leaveBroken(queue);
    await expect(queue.enqueue({})).rejects.toMatchObject({
      outcome: 'not-sent',
      message: expect.stringContaining('found refused: the command evalsha'),
    });
    await expect(queue.stats()).rejects.toThrow('the command evalsha');
    expect(await admin.keys(`queue:${queue.name}:*`)).toEqual([]);
  });

  it('of a command inside of the script takes back the earlier writes of the script', async () => {
    const queue = await queueOf(`${MINIMAL_PERMISSIONS} -lpush`);
    await expect(queue.enqueue({})).rejects.toMatchObject({
      outcome: 'not-sent',
      message: expect.stringContaining('found refused: a command that a script runs'),
    });
    expect(await admin.keys(`queue:${queue.name}:job:*`)).toEqual([]);
  });

  it('of a command that no script calls is named too', async () => {
    const queue = await queueOf(`${MINIMAL_PERMISSIONS} -hgetall`);
    await expect(queue.get('any')).rejects.toThrow(RedisPermissionError);
    await expect(queue.get('any')).rejects.toThrow('the command hgetall');
  });

  it('to the keys of another prefix is named', async () => {
    const queue = newQueue({ prefix: 'other' }, await user());
    leaveBroken(queue);
    await expect(queue.stats()).rejects.toThrow("found refused: the queue's keys");
  });

  it('to ask the server for its version keeps an app from booting', async () => {
    await user(`${MINIMAL_PERMISSIONS} -info`);
    jest.spyOn(console, 'warn').mockImplementation(() => undefined); // ioredis speaks for itself here
    const redis = server.url.replace('//', '//queue:pw@');
    await expect(startApp({ jobs: { redis } })).rejects.toThrow('found refused: the command info');
  });

  it('to subscribe fails a wait for a result, by name', async () => {
    const queue = newQueue({}, await user(`${MINIMAL_PERMISSIONS} -subscribe`));
    leaveBroken(queue);
    const job = await queue.enqueue({});
    await expect(job.result()).rejects.toThrow('found refused: the command subscribe');
  });

  it('to block lets a worker look once a second, and say so once', async () => {
    const queue = newQueue({}, await user(`${MINIMAL_PERMISSIONS} -bzpopmin`));
    leaveBroken(queue);
    const worker = await startWorker(queue);
    const before = await callsSoFar();
    await sleep(1_500); // shows that it does not poll all the time
    expect((await callsSoFar()) - before).toBeLessThan(SPINNING);
    await queue.enqueue({});
    const begun = performance.now();
    await worker.event('completed');
    expect(performance.now() - begun).toBeLessThan(BACK_MS);
    expect(worker.warnings).toHaveLength(1);
    expect(worker.warnings[0]).toContain('found refused: the command bzpopmin');
  });

  it('to block does not make a manual claim ask without a pause', async () => {
    const queue = newQueue({}, await user(`${MINIMAL_PERMISSIONS} -bzpopmin`));
    leaveBroken(queue);
    await queue.stats();
    const before = await callsSoFar();
    expect(await queue.claim({ timeoutMs: 600 })).toBeNull();
    expect((await callsSoFar()) - before).toBeLessThan(SPINNING);
  });

  it('that is revoked at work stops the work, and no job is lost when it is granted again', async () => {
    const queue = newQueue({}, await user());
    leaveBroken(queue);
    const worker = await startWorker(queue);
    const other = newQueue({}, admin, queue.name);
    await admin.call('ACL', 'SETUSER', 'queue', '-evalsha');
    await other.enqueue({});
    await eventually(() => worker.warnings.some((line) => line.includes('the command evalsha')));
    await admin.call('ACL', 'SETUSER', 'queue', '+evalsha');
    await worker.event('completed');
  });
});

async function callsSoFar(): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await admin.info('stats'))![1]);
}
