// I4 at full size: a cancelled batch ends its waiting members in slices that block no other client. Its queue is paused, and
// other jobs stand between them. The server's time grows with
// the number of members, and not faster. CANCELLED_MEMBERS=1000000 takes two minutes.
import { beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const MEMBERS = Number(process.env.CANCELLED_MEMBERS ?? 200_000);
const STEP = 5_000;
const LONGEST_CALL_MS = 400;

let redis: Redis;

beforeAll(async () => {
  redis = connect({}, (await startOwnRedis()).url);
});

/** Returns a paused queue with a sealed batch. Its members and other jobs alternate in the line. */
async function pausedBatch(members: number) {
  const queue = new JobQueue(redis, uniqueQueueName());
  await queue.pause();
  const batch = queue.batch({ finally: { name: queue.name } });
  for (let added = 0; added < members; added += STEP) {
    await batch.addMany(
      queue.name,
      Array.from({ length: STEP }, () => ({ payload: 0 })),
    );
    await queue.enqueueMany(Array.from({ length: STEP / 10 }, () => ({ payload: 0 })));
  }
  await batch.seal();
  return { queue, batch };
}

/** Returns the CPU seconds that the server has used. A busy machine changes them little. */
async function serverSeconds(): Promise<number> {
  const cpu = await redis.info('cpu');
  return ['user', 'sys'].reduce(
    (sum, kind) => sum + Number(new RegExp(`used_cpu_${kind}:([\\d.]+)`).exec(cpu)![1]),
    0,
  );
}

async function secondsToCancel(members: number): Promise<number> {
  const { queue, batch } = await pausedBatch(members);
  const start = await serverSeconds();
  await batch.cancel();
  while ((await batch.status()).open > 0) {
    await maintainBatches(queue);
  }
  const seconds = (await serverSeconds()) - start;
  expect(await batch.status()).toMatchObject({ open: 0, cancelled: members, total: members });
  expect(await queue.stats()).toMatchObject({ pending: members / 10, scheduled: 1 });
  return seconds;
}

it('a cancelled batch of very many waiting members ends in slices, in a time that grows with their number', async () => {
  await redis.config('SET', 'slowlog-log-slower-than', LONGEST_CALL_MS * 1_000);
  const tenth = await secondsToCancel(MEMBERS / 10);
  const all = await secondsToCancel(MEMBERS);
  process.stdout.write(`${MEMBERS / 10} members: ${tenth.toFixed(1)} s, ${MEMBERS}: ${all.toFixed(1)} s\n`);
  expect(all / tenth).toBeLessThan(25); // by a search for each it was 100
  expect(await redis.slowlog('GET', 10)).toEqual([]);
}, 600_000);
