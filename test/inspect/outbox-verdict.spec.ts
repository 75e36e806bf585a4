import { describe, expect, it } from '@jest/globals';
import { outboxSentence, outboxVerdictOf, readOutboxVerdict } from '#inspect/outbox-verdict.js';
import type { OutboxSigns } from '#queue/store/outbox-writer.js';

const QUIET: OutboxSigns = { waiting: 0, setAside: 0, failed: 0, oldestAgeMs: 0 };
const judge = (signs: Partial<OutboxSigns>) => {
  const verdict = outboxVerdictOf({ ...QUIET, ...signs });
  return [verdict.severity, outboxSentence(verdict)];
};

const read = (signs: () => Promise<OutboxSigns>, mostMs = 60_000) => readOutboxVerdict({ signs }, mostMs);

describe('the verdict on the outbox', () => {
  it.each<[string, Partial<OutboxSigns>, string[]]>([
    ['flows', {}, ['ok', 'the outbox flows: 0 rows']],
    ['has just got rows', { waiting: 1, oldestAgeMs: 900 }, ['ok', 'the outbox flows: 1 row']],
    [
      'cannot reach Redis',
      { waiting: 1_204, oldestAgeMs: 180_000, trouble: 'Redis is away' },
      ['critical', 'the outbox waits: 1,204 rows, the oldest for 3 min: Redis is away'],
    ],
    [
      'cannot reach Redis since a moment',
      { waiting: 2, oldestAgeMs: 4_000, trouble: 'Redis is away' },
      ['notice', 'the outbox waits: 2 rows, the oldest for 4 s: Redis is away'],
    ],
    [
      'cannot reach Redis since half a minute',
      { waiting: 2, oldestAgeMs: 31_000, trouble: 'Redis is away', troubledForMs: 31_000 },
      ['warning', 'the outbox waits: 2 rows, the oldest for 31 s: Redis is away'],
    ],
    [
      'cannot reach Redis since a moment, and had refused a row before',
      { waiting: 2, setAside: 1, oldestAgeMs: 600_000, trouble: 'Redis is away', troubledForMs: 1_000 },
      ['notice', 'the outbox waits: 2 rows, the oldest for 10 min: Redis is away'],
    ],
    ['had a trouble, and no row waits', { trouble: 'Redis is away' }, ['ok', 'the outbox flows: 0 rows']],
    [
      'has no relay',
      { waiting: 1, oldestAgeMs: 61_000 },
      ['critical', 'the outbox waits: 1 row, the oldest for 1 min: no relay moves them'],
    ],
    ['has failed rows', { failed: 2 }, ['warning', '2 rows of the outbox failed for good']],
    [
      'has a refused row',
      { waiting: 1, setAside: 1, oldestAgeMs: 20_000 },
      ['notice', '1 row of the outbox was refused, and will be sent again'],
    ],
    [
      'has had refused rows for long',
      { waiting: 3, setAside: 3, oldestAgeMs: 90_000 },
      ['warning', '3 rows of the outbox were refused, and will be sent again'],
    ],
  ])('where it %s', (_case, signs, said) => expect(judge(signs)).toEqual(said));

  it('says why it cannot be read', async () => {
    expect(await read(() => Promise.reject(new Error('connection refused')))).toMatchObject({
      severity: 'critical',
      cause: 'connection refused',
    });
    const never = await read(() => new Promise<never>(() => undefined), 1);
    expect(never?.cause).toBe('its database gave no answer within 1 ms');
    expect(await readOutboxVerdict(undefined, 1)).toBeUndefined();
  });
});
