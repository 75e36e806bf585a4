import { describe, expect, it } from '@jest/globals';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { connect } from '../support/redis/redis.js';
import { testQueue, type TestQueue } from '../support/queue/queue-state.js';

const error = { name: 'Error', message: 'no' };

/** Everything that is published to the queue while `action` runs. */
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
  await q.run(q.scripts.progress(completed, '1'));
  await q.run(q.scripts.complete([{ ...completed, result: '' }]));
  const failed = await q.addAndClaim('failed');
  await q.run(q.scripts.fail([{ ...failed, error, final: false, backoffMs: 0 }]));
  const [again] = await q.claim(1);
  await q.run(q.scripts.fail([{ ...again!, error, final: true, backoffMs: 0 }]));
  const released = await q.addAndClaim('released');
  await q.run(q.scripts.release([{ ...released, reason: 'snooze', delayMs: 1_000 }]));
  await q.addAndClaim('crashed');
  await q.expireClaims('crashed');
  await q.run(q.scripts.reclaim(10, 1e12, 0));
  await q.run(q.scripts.cancel('crashed'));
}

const ALL = [
  ['completed', 'progress'],
  ['completed', 'completed'],
  ['failed', 'retry'],
  ['failed', 'failed'],
  ['released', 'released'],
  ['crashed', 'reclaimed'],
  ['crashed', 'cancelled'],
];

describe('events', () => {
  it.each<QueueOptions>([{ events: 'listened' }, { events: 'always' }])(
    'tell every end and retry, in their order, with the name of the job (%j)',
    async (options) => {
      const q = testQueue(options);
      const messages = await published(q, () => allTransitions(q));
      expect(messages).toEqual(ALL.map(([id, status]) => ({ id, status, name: q.name })));
    },
  );

  it('are silent where they are off', async () => {
    const q = testQueue({ events: 'off' });
    expect(await published(q, () => allTransitions(q))).toEqual([]);
  });

  it('reach a client that listens by a pattern', async () => {
    const q = testQueue();
    const subscriber = connect();
    await subscriber.psubscribe(`*${q.name}*`);
    const heard = new Promise<string>((resolve) => {
      subscriber.once('pmessage', (_pattern: string, _channel: string, message: string) => resolve(message));
    });
    const job = await q.addAndClaim('a');
    await q.run(q.scripts.complete([{ ...job, result: '' }]));
    expect(JSON.parse(await heard)).toEqual({ id: 'a', status: 'completed', name: q.name });
    subscriber.disconnect();
  });
});
