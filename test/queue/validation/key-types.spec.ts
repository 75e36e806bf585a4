import { expect, it } from '@jest/globals';
import { BATCH_PARTS } from '#queue/model/batch.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { typesOfCall } from '#queue/validation/key-types.js';

it('knows the type of each key of a batch', () => {
  const record = 'queue:mail:batch_record:';
  const types = typesOfCall(['queue:mail:job:', record], ['b1']);
  for (const part of BATCH_PARTS) {
    expect(types.has(`${record}b1/${part}`) && part).toBe(part);
  }
});

it('knows the type of each key of a limit that queues share', () => {
  const keys = new QueueKeys('mail').sharedLimit('partner');
  const [limit, permits, waiting, seen, rates] = keys;
  const types = typesOfCall(keys.slice(0, 1), []);
  expect(types.size).toBe(16);
  expect([limit, permits, waiting, seen, `${rates}1`, `${rates}8`].map((key) => types.get(key!))).toEqual([
    'hash',
    'zset',
    'zset',
    'zset',
    'hash',
    'hash',
  ]);
  expect(typesOfCall(new QueueKeys('mail').sharedLimit('tenant#a {b}').slice(0, 1), []).size).toBe(16);
});
