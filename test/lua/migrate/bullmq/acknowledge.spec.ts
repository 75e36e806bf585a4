import { expect, it } from '@jest/globals';
import { SeededQueue } from '../../../support/bullmq/seed-bullmq.js';
import { describeAcknowledge } from '../../../support/bullmq/transit-cases.js';
import { connect } from '../../../support/redis/redis.js';

async function taken(seed = {}) {
  const old = new SeededQueue(connect());
  await old.source.begin();
  await old.wait('a', seed);
  await old.redis.rpush(old.key('a:logs'), 'row');
  await old.source.take('wait', ['a']);
  return { old, jobs: await old.source.inTransit() };
}

describeAcknowledge(SeededQueue);

it('deletes a job with all its keys', async () => {
  const { old, jobs } = await taken();
  await old.source.acknowledge(jobs);
  expect(await old.keysLeft()).toEqual([]);
  expect(await old.source.inTransit()).toEqual([]);
});

it('frees a key of deduplication without an expiry, and keeps one with', async () => {
  const { old, jobs } = await taken({ fields: { deid: 'd' } });
  await old.redis.set(old.key('de:d'), 'a');
  await old.source.acknowledge(jobs);
  expect(await old.redis.exists(old.key('de:d'))).toBe(0);
  const other = await taken({ fields: { deid: 'd' } });
  await other.old.redis.set(other.old.key('de:d'), 'a', 'PX', 60_000);
  await other.old.source.acknowledge(other.jobs);
  expect(await other.old.redis.exists(other.old.key('de:d'))).toBe(1);
});
