import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { KEYS, PARTS_BEFORE_IDS } from '#queue/validation/key-table.js';
import { isQueueName } from '#queue/validation/names.js';

/** Parts of names and ids that are also parts of keys. */
const part = fc.constantFrom(...PARTS_BEFORE_IDS, 'report', 'pending', 'settings', 'state', 'a', '@', '');
const text = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(':'));

/** Returns every key of one queue alone whose ids, workers, groups and schedules are these. */
function keysOf(queue: string, ids: readonly string[]): string[] {
  const keys = new QueueKeys(queue);
  const texts = Object.values(KEYS).map(([each]) => keys.base + each);
  const alone = texts.filter((key) => !key.endsWith(':') || key.endsWith('::'));
  const withIds = texts.filter((key) => PARTS_BEFORE_IDS.some((each) => key.endsWith(`:${each}:`)));
  return [
    ...alone,
    ...withIds.flatMap((prefix) => ids.map((id) => prefix + id)),
    ...ids.flatMap((id) => [keys.batchRecord(id, 'open'), `${keys.groupsPrefix}state:${id}`]),
  ];
}

describe('the keys of queues', () => {
  it('belong to one queue each, whatever the names and ids', () => {
    fc.assert(
      fc.property(text, text, fc.array(text, { minLength: 1, maxLength: 5 }), (one, other, ids) => {
        fc.pre(one !== other && isQueueName(one) && isQueueName(other));
        const keys = new Set(keysOf(one, ids));
        expect(keysOf(other, ids).filter((key) => keys.has(key))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['report:job', 'a:groups:b', 'mail:batch'])('refuses the name %s, and says why', (name) => {
    expect(() => new QueueKeys(name)).toThrow(InvalidOptionError);
    expect(() => new QueueKeys(name)).toThrow(/since its keys would be those of queue "\w+"; another separator/);
  });

  it.each(['job', 'batch', 'jobs:email', 'report:jobs'])('takes the name %s', (name) => {
    expect(new QueueKeys(name).pending).toBe(`queue:${name}:pending`);
  });
});
