// An encrypted value belongs to its queue, its job and its part of the job. Somebody who can write to Redis moves values.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { encrypted, JobQueue, type JobCodec } from 'nest-job-queue/core';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const codec = encrypted([{ id: 'june', key: randomBytes(32) }]);

function queueOf(name = uniqueQueueName(), use: JobCodec = codec) {
  const redis = connect();
  const queue = new JobQueue(redis, name, { codec: use, maxAttempts: 1 });
  const key = (id: string) => `queue:${name}:job:${id}`;
  const read = async (id: string, field: string) => (await redis.hget(key(id), field))!;
  const write = (id: string, field: string, value: string) => redis.hset(key(id), field, value);
  return { queue, redis, read, write };
}

/** Claims and completes the jobs that wait. Returns their payloads. A job that this process cannot read fails. */
async function payloadsRun(queue: JobQueue): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let job = await queue.claim(); job; job = await queue.claim()) {
    seen.push(job.payload);
    await queue.complete(job);
  }
  return seen;
}

describe('an encrypted payload does not run', () => {
  it('in another job', async () => {
    const { queue, read, write } = queueOf();
    const [one, two] = [await queue.enqueue({ text: 'pay 1' }), await queue.enqueue({ text: 'pay 1000' })];
    const [first, second] = [await read(one.id, 'payload'), await read(two.id, 'payload')];
    await write(one.id, 'payload', second);
    await write(two.id, 'payload', first);
    expect(await payloadsRun(queue)).toEqual([]);
    expect(await one.get()).toMatchObject({ status: 'failed', lastError: expect.stringContaining('cannot read') });
  });

  it('in another queue, under the same id', async () => {
    const [mail, pay] = [queueOf(), queueOf()];
    await mail.queue.enqueue({ text: 'to all' }, { id: 'one' });
    await pay.queue.enqueue({ text: '1000' }, { id: 'one' });
    await mail.write('one', 'payload', await pay.read('one', 'payload'));
    expect(await payloadsRun(mail.queue)).toEqual([]);
  });

  it('that is the result of the same job', async () => {
    const { queue, read, write } = queueOf();
    const job = await queue.enqueue({ text: 'in' });
    await queue.complete((await queue.claim())!, 'out');
    await queue.runAgain(job.id);
    await write(job.id, 'payload', await read(job.id, 'result'));
    expect(await payloadsRun(queue)).toEqual([]);
  });

  it('that names a schedule as its source', async () => {
    const { queue, redis, write } = queueOf();
    await queue.schedules.upsert('nightly', { cron: '0 3 * * *' }, { payload: 'all' });
    const job = await queue.enqueue({ text: 'mine' });
    await write(job.id, 'payload', (await redis.hget(`queue:${queue.name}:schedule:nightly`, 'payload'))!);
    expect(await payloadsRun(queue)).toEqual([]);
    expect((await job.get())!.lastError).toBe(
      `The payload of job "${job.id}" was stored for "@schedule:nightly". Discard the job.`,
    );
  });
});

describe('an encrypted payload runs', () => {
  it('in the jobs of its schedule and in the follow-up of its batch', async () => {
    const { queue } = queueOf();
    await queue.schedules.upsert('by:hour', { cron: '0 * * * *' }, { payload: { text: 'tick' } });
    await queue.schedules.runNow('by:hour');
    const batch = queue.batch({ id: 'b:1', finally: { name: queue.name, payload: { text: 'after' } } });
    await batch.add(queue.name, { text: 'member' });
    await batch.seal();
    expect(await payloadsRun(queue)).toEqual(
      expect.arrayContaining([{ text: 'after' }, { text: 'member' }, { text: 'tick' }]),
    );
  });

  it('in the job whose payload it replaced', async () => {
    const { queue } = queueOf();
    const unique = { key: 'cart', for: 'pending' as const, onConflict: 'replace' as const };
    const job = await queue.enqueue({ text: 'old' }, { unique });
    await queue.enqueue({ text: 'new' }, { unique });
    expect((await job.get())!.payload).toEqual({ text: 'new' });
    expect(await payloadsRun(queue)).toEqual([{ text: 'new' }]);
  });

  it('after an update, and after a redrive with another payload', async () => {
    const { queue } = queueOf();
    const job = await queue.enqueue({ text: 'first' });
    await queue.update(job.id, 'second');
    await queue.fail((await queue.claim())!, 'no');
    await queue.deadLetters.redrive(job.id, { payload: 'third' });
    expect(await payloadsRun(queue)).toEqual(['third']);
  });
});

const KEPT = { text: 'kept' };

onEachStore('an encrypted payload runs in the new job that a dead letter was redriven as', () => {
  const unique = { key: 'cart', for: 'pending' as const, onConflict: 'replace' as const };
  it.each<[string, (queue: JobQueue) => Promise<unknown>]>([
    ['an enqueue', (queue) => queue.enqueue(KEPT, { id: 'a/$&\'"' })],
    [
      'a replacement',
      async (queue) => [await queue.enqueue({ text: 'old' }, { unique }), await queue.enqueue(KEPT, { unique })],
    ],
    [
      'a schedule',
      async (queue) => {
        await queue.schedules.upsert('by:hour', { cron: '0 * * * *' }, { payload: KEPT });
        await queue.schedules.runNow('by:hour');
      },
    ],
    ['a batch', (queue) => queue.batch({ id: 'b/1"', then: { payload: KEPT } }).seal()],
    [
      'a batch elsewhere',
      (queue) =>
        newQueue({ codec })
          .batch({ then: { queue: queue.name, payload: KEPT } })
          .seal(),
    ],
  ])('of %s, also the second time', async (_, add) => {
    const queue = newQueue({ codec, maxAttempts: 1 });
    await queue.stats(); // in memory a queue has the options of who uses it first
    await add(queue);
    for (let i = 0; i < 2; i++) {
      const claimed = (await queue.claim())!;
      expect(claimed.payload).toEqual(KEPT);
      await queue.fail(claimed, new Error('no'));
      expect(await queue.deadLetters.redriveAsNew(claimed.id)).toMatchObject({ outcome: 'redriven' });
    }
    expect(await payloadsRun(queue)).toEqual([KEPT]);
  });
});

it('a codec gets the same queue, part and id to encode and to decode', async () => {
  const places: string[] = [];
  const note = (verb: string, place: object) => places.push(`${verb} ${JSON.stringify(place)}`);
  const noting: JobCodec = {
    name: 'noting',
    encode: (value, _subject, place) => (note('encode', place), value),
    decode: (value, place) => (note('decode', place), value),
  };
  const { queue } = queueOf(uniqueQueueName(), noting);
  await queue.enqueue({ text: 'in' }, { id: 'a' });
  await queue.complete((await queue.claim())!, 'out');
  await queue.get('a');
  const place = (field: string) => JSON.stringify({ queue: queue.name, field, id: 'a' });
  expect([...new Set(places)]).toEqual([
    `encode ${place('payload')}`,
    `decode ${place('payload')}`,
    `encode ${place('result')}`,
    `decode ${place('result')}`,
  ]);
});
