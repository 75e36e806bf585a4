import { expect, it } from '@jest/globals';
import { SeededBee } from '../../../support/bullmq/seed-bee.js';
import { describeAcknowledge, inTransit } from '../../../support/bullmq/transit-cases.js';

describeAcknowledge(SeededBee);

it('deletes the acknowledged job from the hash of all jobs', async () => {
  const { old, jobs } = await inTransit(SeededBee, ['a', 'b'], ['a']);
  await old.source.acknowledge(jobs);
  expect(await old.ids()).toEqual(['b']);
});
