// The one rule of `enqueued` events: a producer's enqueue that added a job publishes one, and nothing else does.
import { afterEach, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { eventually } from '../../support/faults/wait.js';
import { queueOn } from '../../support/queue/queue-state.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const HOUR = 3_600_000;

let stop: (() => void) | undefined;

afterEach(() => stop?.());

async function enqueuedOf(queue: JobQueue): Promise<string[]> {
  const ids: string[] = [];
  stop = await queue.store.subscribe(await queue.calls(), ({ id, status }) => {
    if (status === 'enqueued') ids.push(id);
  });
  return ids;
}

async function end(queue: JobQueue, how: 'complete' | 'fail'): Promise<void> {
  const job = (await queue.claim())!;
  await (how === 'complete' ? queue.complete(job) : queue.fail(job, new Error('no'), { final: true }));
}

onEachStore('an enqueued event', () => {
  it('comes with each new job, not with ticks, follow-ups, redriven, rerun or replaced jobs', async () => {
    const queue = newQueue({ maxAttempts: 1, eventExtras: { enqueued: true } });
    const ids = await enqueuedOf(queue);
    const unique = { key: 'k', for: 'pending', onConflict: 'replace' } as const;
    const plain = await queue.enqueue(1);
    const grouped = await queue.enqueue(2, { group: 'g', delayMs: HOUR, unique });
    await queue.enqueue(3, { group: 'g', delayMs: HOUR, unique }); // takes the place of the former
    await queue.producer.one(undefined, 1, { id: plain.id }).catch(() => undefined); // a known id

    await queue.schedules.upsert('s', { everyMs: HOUR });
    await queue.schedules.runNow('s');
    await queue.batch({ then: { name: 'then' } }).seal();
    await end(queue, 'complete');
    await queue.runAgain(plain.id);
    while ((await queue.stats()).pending > 0) await end(queue, 'fail');
    for (const { id } of await queue.list('failed')) await queue.deadLetters.redrive(id);
    const last = await queue.enqueue(4);
    await eventually(() => ids.includes(last.id));
    expect(ids).toEqual([plain.id, grouped.id, last.id]);
  });
});

it('does not come with a tick that is due, nor with a failure job', async () => {
  const queue = newQueue({ maxAttempts: 1, eventExtras: { enqueued: true } });
  const state = queueOn(connect(), {}, queue.name);
  const ids = await enqueuedOf(queue);
  await queue.schedules.upsert('s', { everyMs: HOUR });
  await state.redis.zadd(state.keys.scheduleDue, 'XX', (await state.now()) - 1_000, 's');
  expect(await queue.schedules.tick()).toMatchObject({ enqueued: 1 });
  await state.redis.zadd(state.keys.names, await state.now(), `@failed:${queue.name}`);
  await end(queue, 'fail');
  expect(await queue.claim()).toMatchObject({ name: `@failed:${queue.name}` });
  const last = await queue.enqueue(1);
  await eventually(() => ids.includes(last.id));
  expect(ids).toEqual([last.id]);
});
