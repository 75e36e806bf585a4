// The first job of a queue that has a group is found by claims, whichever way it comes in.
import { describe, expect, it } from '@jest/globals';
import type { BatchOptions } from '#queue/batches/batch-options.js';
import { coreQueue } from '../../../support/queue/core-queue.js';
import { testQueue } from '../../../support/queue/queue-state.js';

describe('the first job with a group', () => {
  it('is claimed where it follows up a batch and the sweep moves it before a claim looks', async () => {
    const { queue, state } = coreQueue();
    const options: BatchOptions = { then: { name: queue.name, payload: 'follow-up', group: 'g' } };
    const batch = queue.batch(options);
    await batch.seal(); // an empty one fires at once
    await state.run(state.scripts.sweep.promote({ limit: 10 }));
    expect(await queue.claimMany(5)).toMatchObject([{ payload: 'follow-up' }]);
  });

  it.each(['the sweep', 'a call'])('is claimed where it replaced a job and %s promotes it', async (by) => {
    const q = testQueue();
    const unique = { unique: 'k', unique_for: 'unfinished', unique_replace: true, delay_ms: 3_600_000 };
    await q.add('a', unique);
    await q.add('b', { ...unique, group: 'g' });
    await q.makeDue('a');
    await (by === 'a call' ? q.run(q.scripts.promote({ id: 'a' })) : q.run(q.scripts.sweep.promote({ limit: 10 })));
    expect((await q.claim(5)).map(({ id }) => id)).toEqual(['a']);
  });

  it('is found by the doctor where the queue has forgotten that it has groups', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueue(1, { group: 'g' });
    await state.redis.hdel(state.keys.settings, 'has_groups');
    expect(await queue.claimMany(5)).toEqual([]);
    const { findings } = await queue.doctor({ repair: true });
    expect(findings).toMatchObject([{ kind: 'group', subject: 'g', found: 'jobs that no claim looks for' }]);
    expect(await queue.claimMany(5)).toHaveLength(1);
  });
});
