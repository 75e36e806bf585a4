import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';
import { DEFINITION } from '../../support/queue/seeded-batch.js';

it('creates an open batch without members, and leaves one of the same id as it is', async () => {
  const q = testQueue();
  const { batches } = q.scripts;
  expect(await q.run(batches.create({ ...DEFINITION, failFast: true }))).toBe('created');
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject({ state: 'open', total: 0, open: 0 });
  expect(await q.ranked(q.keys.batches)).toEqual(['b']);
  expect(await q.redis.hgetall(q.keys.batchRecord('b'))).toMatchObject({
    fail_fast: '1',
    result_ttl_ms: '60000',
    then_name: 'then',
  });
  expect(await q.run(batches.create(DEFINITION))).toBe('exists');
  expect(await q.redis.hget(q.keys.batchRecord('b'), 'fail_fast')).toBe('1');
});
