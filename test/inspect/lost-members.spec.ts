// A batch that waits for a member that is nowhere: the verdict names both, and says what to do.
import { describe, expect, it } from '@jest/globals';
import { readSigns } from '#inspect/signs.js';
import { verdictOf } from '#inspect/verdict.js';
import type { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { coreQueue } from '../support/queue/core-queue.js';

const judge = async (queue: JobQueue) => verdictOf(await readSigns(queue));

/** Returns a sealed batch whose two members wait in a queue. */
async function sealedBatch(where: string) {
  const [home, other] = [coreQueue(), coreQueue()];
  const there = where === 'another queue' ? other : home;
  const batch = home.queue.batch({ id: 'waits', then: { name: home.queue.name } });
  await batch.add('page', 1, { queue: there.queue, id: 'page' });
  await batch.add('page', 2, { queue: there.queue, id: 'other' });
  await batch.seal();
  return { home, there, batch };
}

/** Deletes a job with all its traces. */
async function lose({ keys, redis }: ReturnType<typeof coreQueue>['state'], id: string): Promise<void> {
  await redis.del(keys.job(id));
  await redis.hdel(keys.remoteMembers, id);
  await redis.lrem(keys.pending, 0, id);
}

describe.each(['its own queue', 'another queue'])('a member in %s', (where) => {
  it('that waits is no sign', async () => {
    const { home } = await sealedBatch(where);
    expect(await judge(home.queue)).toMatchObject({ severity: 'ok' });
  });

  it('that is gone is named, until maintenance counts it as removed', async () => {
    const { home, there } = await sealedBatch(where);
    await lose(there.state, 'page');
    expect(await judge(home.queue)).toMatchObject({
      severity: 'notice',
      state: 'waiting',
      summary: `batch \`waits\` waits for job \`page\` of queue \`${there.queue.name}\`, which is gone`,
      next: `wait a minute: maintenance of \`${home.queue.name}\` counts the job as removed`,
    });
    await maintainBatches(home.queue, { all: true });
    expect(await judge(home.queue)).toMatchObject({ severity: 'ok' });
  });

  it('that is gone is a warning where no process maintains the batch', async () => {
    const { home, there, batch } = await sealedBatch(where);
    await lose(there.state, 'page');
    await lose(there.state, 'other');
    await home.state.redis.zadd(home.state.keys.batches, Date.now() - 90_000, 'waits');
    const found = await judge(home.queue);
    expect(found).toMatchObject({ severity: 'warning', state: 'waiting' });
    expect(found.summary).toMatch(/which is gone, and 1 more member that is gone$/);
    expect(found.next).toMatch(/^start a process whose maintenance is on/);
    await maintainBatches(home.queue);
    expect(await batch.status()).toMatchObject({ removed: 2 });
  });
});
