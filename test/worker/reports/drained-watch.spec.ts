// The event that a queue has drained, by its workers.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueStore } from '#queue/store/queue-store.js';
import { DrainedWatch } from '#worker/reports/drained-watch.js';
import { eventually } from '../../support/faults/wait.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

onEachStore('a worker', () => {
  it('asks again while jobs run elsewhere, and publishes the end of the last one', async () => {
    const queue = newQueue({ eventExtras: { drained: true } });
    const replies: unknown[] = [];
    const exec = queue.store.exec.bind(queue.store);
    const noting = async (...[call, limit]: Parameters<typeof exec>) => {
      const reply = await exec(call, limit);
      if (call.script === 'queuePublishDrained') replies.push(reply);
      return reply;
    };
    queue.store.exec = noting as QueueStore['exec'];
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    const claimed = (await queue.claim())!;
    await startWorker(queue);
    await eventually(() => replies.includes('busy'), { what: 'a question while a job runs' });
    await queue.complete(claimed);
    await eventually(() => replies.includes('published'), { what: 'the event' });
    expect(replies.filter((reply) => reply !== 'busy')).toEqual(['published']);
    Reflect.deleteProperty(queue.store, 'exec');
  });
});

/** Returns shards whose replies to looks are given, in their order. Notes what is published. */
function shardsWith(looks: readonly (readonly (string | undefined | Error)[])[]) {
  const [published, warned]: [unknown[], string[]] = [[], []];
  const asked = looks.map(() => 0);
  const shards = looks.map((replies, i) => ({
    name: `shard-${i}`,
    options: { eventExtras: { drained: true } },
    uncheckedCalls: () => ({
      lookDrained: () => () => replies[Math.min(asked[i]!++, replies.length - 1)],
      publishDrained:
        ({ ofAll }: { ofAll: string }) =>
        () => (published.push(`${i}: ${ofAll}`), 'published'),
    }),
    store: {
      exec: async (call: () => unknown) => {
        const reply = call();
        if (reply instanceof Error) throw reply;
        return reply;
      },
    },
  })) as unknown as JobQueue[];
  for (const shard of shards) shard.allShards = shards;
  const watch = DrainedWatch.of(shards[1]!, (line) => void warned.push(line))!;
  const idle = async () => {
    watch.claimed(0);
    await new Promise(setImmediate);
  };
  return { shards, watch, idle, published, warned, asked };
}

it('asks all shards, those with jobs first, and publishes in the first one', async () => {
  const { shards, watch, idle, published, asked } = shardsWith([
    ['1 0 0'],
    [undefined, undefined, '2 0 0'],
    ['3 0 0'],
  ]);
  expect(DrainedWatch.of(shards[2]!, () => undefined)).toBe(watch);
  await idle();
  expect(asked).toEqual([0, 0, 0]); // no job has ended here
  watch.jobEnded();
  await idle();
  expect([published, asked]).toEqual([[], [2, 1, 1]]);
  await idle();
  expect([published, asked]).toEqual([[], [2, 2, 1]]);
  await idle();
  expect(published).toEqual(['0: 1 0 0,2 0 0,3 0 0']);
  await idle();
  expect(published).toHaveLength(1);
});

it('does not publish if a job has ended between the looks, because it may have added another one', async () => {
  const { watch, idle, published } = shardsWith([['1 0 0'], ['2 0 0', '3 0 0'], ['3 0 0']]);
  watch.jobEnded();
  await idle();
  expect(published).toEqual([]);
  await idle();
  expect(published).toEqual(['0: 1 0 0,3 0 0,3 0 0']);
});

it('publishes nothing while a shard does not reply, and warns once', async () => {
  const silent = new Error('no reply');
  const { watch, idle, published, warned } = shardsWith([['1 0 0'], [silent, silent, '2 0 0']]);
  watch.jobEnded();
  await idle();
  await idle();
  expect([published, warned]).toEqual([[], ['Could not publish that queue "shard-0" has drained: no reply']]);
  await idle();
  expect(published).toEqual(['0: 1 0 0,2 0 0']);
});
