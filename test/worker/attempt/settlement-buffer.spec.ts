// Jobs whose handlers ended, but whose end the server does not take.
import { expect, it } from '@jest/globals';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import type { Job } from '#worker/handlers/job.js';
import { createUser, MINIMAL_PERMISSIONS } from '../../support/redis/acl.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { leaveBroken, newQueue, startWorker } from '../../support/worker/workers.js';

const SLOTS = 2;

/** Makes a queue whose workers may not complete until the test allows it. */
async function withoutCompletions() {
  const server = await startOwnRedis();
  const admin = connect({}, server.url);
  const keys = new QueueKeys(uniqueQueueName());
  const own = newQueue({}, admin, keys.queue);
  const queue = newQueue({}, await createUser(admin, server.url, MINIMAL_PERMISSIONS), keys.queue);
  leaveBroken(queue); // the invariants are read by the other
  const others = keys.standard.filter((key) => key !== keys.completed).concat(keys.batch(''), keys.nudge(''));
  const ran: unknown[] = [];
  const start = async () => {
    const handlers = { [queue.name]: (job: Job) => void ran.push(job.payload) };
    await own.pause(); // until the worker is announced, which needs every key
    const worker = await startWorker([{ queue, concurrency: SLOTS, prefetch: 0, handlers }]);
    await admin.call('ACL', 'SETUSER', 'queue', 'resetkeys', ...others.map((key) => `~${key}*`));
    await own.resume();
    const refused = () => worker.warnings.filter((warning) => warning.includes('sending it again')).length;
    await eventually(() => refused() >= 3);
    return worker;
  };
  const allow = () => admin.call('ACL', 'SETUSER', 'queue', '~queue:*');
  return { own, admin, keys, ran, start, allow };
}

it('a worker claims three rounds and no more while the ends of its jobs are not taken, and loses none', async () => {
  const { own, ran, start, allow } = await withoutCompletions();
  await own.enqueueMany(Array.from({ length: 30 }, (_, payload) => ({ payload })));
  const worker = await start();
  expect(ran.length).toBe(3 * SLOTS);
  expect(await own.stats()).toMatchObject({ processing: ran.length, completed: 0 });
  await allow();
  await worker.event('completed', 30);
  expect(ran).toEqual(Array.from({ length: 30 }, (_, payload) => payload));
});

it('a worker starts no isolated job before its ends are taken, because its crash would lose them', async () => {
  const { own, admin, keys, ran, start, allow } = await withoutCompletions();
  await own.enqueue(['plain']);
  const worker = await start();
  const { id } = await own.enqueue(['isolated'], { delayMs: 60_000 });
  await admin.hset(keys.job(id), { crashes: 2, next_crash_is_last: 1 });
  await own.promote(id);
  await eventually(async () => (await own.stats()).processing === 2);
  expect(ran).toEqual([['plain']]);
  await allow();
  await worker.event('completed', 2);
  expect(ran).toEqual([['plain'], ['isolated']]);
});
