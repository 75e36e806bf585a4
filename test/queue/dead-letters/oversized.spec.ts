// Jobs with an id, a name or options longer than any. Each becomes a dead letter by a short id, from whichever place it is in.
import { expect, it } from '@jest/globals';
import type { JobQueue } from 'nest-job-queue/core';
import { eventually } from '../../support/faults/wait.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const redis = connect();
const LONG = 'i'.repeat(2_000);

/** Where such an id may be. Each place is planted by a command on a key of the queue. */
const PLACES: Record<string, (base: string) => Promise<unknown>> = {
  'the line': (base) => redis.lpush(`${base}pending`, LONG),
  'the urgent line': (base) => redis.zadd(`${base}prioritized`, 1, LONG),
  'the delayed jobs, due': (base) => redis.zadd(`${base}scheduled`, 1, LONG),
  'the delayed jobs, in a year': (base) => redis.zadd(`${base}scheduled`, Date.now() + 3e10, LONG),
  'the claims': (base) => redis.zadd(`${base}claims`, 1, LONG),
  'the claims of other clients': (base) => redis.lpush(`${base}processing`, LONG),
  'their failures': (base) => redis.lpush(`${base}failed`, LONG),
  'the dead letters': (base) => redis.zadd(`${base}dead`, 1, LONG),
};

async function onlyDeadLetter(queue: JobQueue) {
  await queue.enqueue({ wakes: true });
  await eventually(async () => (await queue.stats()).failed === 1 && (await queue.list('failed')).length === 1);
  const [dead] = await queue.list('failed');
  return dead!;
}

it.each(
  Object.entries(PLACES).flatMap(([place, plant]) =>
    [true, false].map((hasHash) => [place, hasHash, plant] as const),
  ),
)('an id that is too long in %s becomes a dead letter (with a hash: %s)', async (_place, hasHash, plant) => {
  const queue = newQueue();
  const base = `queue:${queue.name}:`;
  const ran: unknown[] = [];
  if (hasHash) {
    const fields = { name: queue.name, payload: '{"kept":1}', status: 'pending', enqueued_at_ms: '1' };
    await redis.hset(`${base}job:${LONG}`, fields);
  }
  await plant(base);
  const { worker } = await startWorker(queue, ({ payload }) => void ran.push(payload), { sweepIntervalMs: 50 });
  const dead = await onlyDeadLetter(queue);
  expect(dead.id).toMatch(/^@oversized:\d+$/);
  expect(dead.lastError).toMatch(/^The id of the job has 2000 bytes, .* begins with "iii/s);
  expect(dead.payload).toEqual(hasHash ? { kept: 1 } : undefined);
  expect(await redis.exists(`${base}job:${LONG}`)).toBe(0);
  const [kind] = await queue.deadLetters.kinds();
  expect(kind).toMatchObject({
    count: 1,
    error: expect.stringMatching(/^(The id of the job has|Its id, or another part)/),
  });
  if (hasHash) {
    await queue.deadLetters.redrive(dead.id);
    await eventually(() => ran.some((payload) => (payload as { kept?: number }).kept === 1));
  }
  await worker.stop();
  expect((await queue.doctor({ repair: true })).counts).not.toHaveProperty('oversized');
});

it.each([
  ['name', { name: LONG }, 'The name of the job has 2000 bytes'],
  [
    'options',
    { options: `{"backoff":${'1'.repeat(300_000)}}`, max_attempts: '5' },
    'The options of the job has 300012 bytes',
  ],
  ['group', { group: LONG, attempts: '1' }, 'The group of the job has 2000 bytes'],
])('a job whose %s is too long becomes a dead letter', async (_part, fields, reason) => {
  const queue = newQueue();
  const base = `queue:${queue.name}:`;
  await redis.hset(`${base}job:a`, {
    name: queue.name,
    payload: '{}',
    status: 'pending',
    enqueued_at_ms: '1',
    ...fields,
  });
  await redis.lpush(`${base}pending`, 'a');
  await startWorker(queue);
  const dead = await onlyDeadLetter(queue);
  expect(dead.lastError).toMatch(new RegExp(`^${reason}`));
  expect(dead.name.length).toBeLessThan(200);
});

it('a long id in a group frees the slot of the group', async () => {
  const queue = newQueue({ groups: { maxRunning: 1 } });
  const base = `queue:${queue.name}:`;
  const ran: unknown[] = [];
  await queue.enqueue({ n: 1 }, { group: 'a', id: 'first' });
  await redis.hset(`${base}job:${LONG}`, {
    name: queue.name,
    payload: '{}',
    status: 'pending',
    enqueued_at_ms: '1',
    group: 'a',
    options: ' {"group":"a"}',
  });
  await redis.zadd(`${base}groups:waiting:a`, 0, LONG);
  await startWorker(queue, ({ payload }) => void ran.push(payload), { sweepIntervalMs: 50 });
  await eventually(() => ran.length === 1);
  await queue.enqueue({ n: 2 }, { group: 'a' });
  await eventually(() => ran.length === 2);
  expect((await queue.list('failed')).map(({ id }) => id)).toEqual([expect.stringMatching(/^@oversized:/)]);
});

it('refuses an id of such a dead letter', async () => {
  await expect(newQueue().enqueue({}, { id: '@oversized:1' })).rejects.toThrow('for jobs whose own id is too long');
});
