import { expect, it } from '@jest/globals';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { connect } from '../support/redis/redis.js';
import { testQueue, type TestQueue } from '../support/queue/queue-state.js';
import { hasCommand } from '../support/memory/commands.js';

/** Returns every message that is published to the queue while `action` runs. */
async function published(q: TestQueue, action: () => Promise<void>): Promise<unknown[]> {
  const subscriber = connect();
  await subscriber.subscribe(q.keys.events);
  const messages: unknown[] = [];
  const ended = new Promise<void>((resolve) => {
    subscriber.on('message', (_channel: string, message: string) =>
      message === '"end"' ? resolve() : messages.push(JSON.parse(message)),
    );
  });
  await action();
  await q.redis.publish(q.keys.events, '"end"');
  await ended;
  subscriber.disconnect();
  return messages;
}

/** Takes jobs through every transition that is published. */
async function allTransitions(q: TestQueue): Promise<void> {
  const completed = await q.addAndClaim('completed');
  await q.run(q.scripts.progress({ claim: completed, progress: '1' }));
  await q.complete(completed);
  const failed = await q.addAndClaim('failed');
  await q.fail(failed);
  const [again] = await q.claim(1);
  await q.fail(again!, { final: true });
  const released = await q.addAndClaim('released');
  await q.run(q.scripts.release([{ ...released, reason: 'snooze', delayMs: 1_000 }]));
  await q.addAndClaim('crashed');
  await q.expireClaims('crashed');
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  await q.run(q.scripts.cancel({ id: 'crashed' }));
}

const ALL = [
  { id: 'completed', status: 'progress', attempt: 1, progress: 1 },
  { id: 'completed', status: 'completed', attempt: 1 },
  { id: 'failed', status: 'retry', attempt: 1, error: 'no' },
  { id: 'failed', status: 'failed', attempt: 2, error: 'no' },
  { id: 'released', status: 'released', attempt: 0 },
  { id: 'crashed', status: 'reclaimed', attempt: 1 },
  { id: 'crashed', status: 'cancelled', attempt: 1 },
];

it.each<QueueOptions>([{ events: 'listened' }, { events: 'always' }])(
  'report every end and retry, in order, with name, attempt, error and progress (%j)',
  async (options) => {
    const q = testQueue(options);
    const messages = await published(q, () => allTransitions(q));
    expect(messages).toEqual(ALL.map((event) => ({ ...event, name: q.name })));
  },
);

it('are silent where they are off', async () => {
  const q = testQueue({ events: 'off' });
  expect(await published(q, () => allTransitions(q))).toEqual([]);
});

if (hasCommand('PSUBSCRIBE')) {
  it('reach a client that listens by a pattern', async () => {
    const q = testQueue();
    const subscriber = connect();
    await subscriber.psubscribe(`*${q.name}*`);
    const heard = new Promise<string>((resolve) => {
      subscriber.once('pmessage', (_pattern: string, _channel: string, message: string) => resolve(message));
    });
    const job = await q.addAndClaim('a');
    await q.complete(job);
    expect(JSON.parse(await heard)).toEqual({ id: 'a', status: 'completed', name: q.name, attempt: 1 });
    subscriber.disconnect();
  });
}

it('cut a long error at the end of a character, and leave out a long progress', async () => {
  const q = testQueue();
  const message = `${'x'.repeat(999)}äöü`;
  const messages = await published(q, async () => {
    const job = await q.addAndClaim('a');
    await q.run(q.scripts.progress({ claim: job, progress: JSON.stringify('p'.repeat(2_000)) }));
    await q.fail(job, { error: { name: 'Error', message }, final: true });
  });
  expect(messages).toEqual([
    { id: 'a', status: 'progress', name: q.name, attempt: 1 },
    { id: 'a', status: 'failed', name: q.name, attempt: 1, error: 'x'.repeat(999) },
  ]);
});

it.each<[QueueOptions, object]>([
  [{ eventExtras: { results: true } }, { result: { a: [] } }],
  [{ events: 'always', eventExtras: { results: true } }, { result: { a: [] } }],
  [{}, {}],
])('carry results only where they are asked for: %j', async (options, carried) => {
  const q = testQueue(options);
  const messages = await published(q, async () => {
    await q.complete(await q.addAndClaim('a'), '{"a":[]}');
    await q.complete(await q.addAndClaim('b'));
    await q.run(q.scripts.complete([{ ...(await q.addAndClaim('c')), result: JSON.stringify('r'.repeat(2_000)) }]));
  });
  const completed = { status: 'completed', name: q.name, attempt: 1 };
  expect(messages).toEqual([
    { id: 'a', ...completed, ...carried },
    { id: 'b', ...completed },
    { id: 'c', ...completed },
  ]);
});

it.each([undefined, 100])(
  'report each job that an enqueue added, once, where that is asked for (maxPending %s)',
  async (maxPending) => {
    const q = testQueue({ eventExtras: { enqueued: true }, ...(maxPending && { maxPending }) });
    const job = (id: string, options = '') => ({ id, name: q.name, payload: '1', options });
    const batch = [job('a'), job('later', '{"delay_ms":1000}'), job('a')];
    const messages = await published(q, async () => {
      await q.run(q.enqueueCall(batch));
      await q.run(q.enqueueCall(batch));
    });
    expect(messages).toEqual(['a', 'later'].map((id) => ({ id, status: 'enqueued', name: q.name })));
    expect(await q.total('enqueued')).toBe(2);
  },
);
