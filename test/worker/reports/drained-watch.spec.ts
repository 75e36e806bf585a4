// The event that a queue has drained, by its workers.
import { expect, it } from '@jest/globals';
import type { QueueStore } from '#queue/store/queue-store.js';
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
