import { expect, it } from '@jest/globals';
import { BATCH_PARTS } from '#queue/model/batch.js';
import { typesOfCall } from '#queue/validation/key-types.js';

it('knows the type of each key of a batch', () => {
  const record = 'queue:mail:batch_record:';
  const types = typesOfCall(['queue:mail:job:', record], ['b1']);
  for (const part of BATCH_PARTS) {
    expect(types.has(`${record}b1/${part}`) && part).toBe(part);
  }
});
