// Marks of sent rows that Redis did not forget: the log says so once, and the relay goes on.
import { expect, it } from '@jest/globals';
import { SentMarks } from '#outbox/relay.js';
import type { ShippingQueue } from '#outbox/ship.js';
import { systemClock } from '#queue/runtime/clock.js';

it('logs the first failure of several, and the first one after a success', async () => {
  const lines: string[] = [];
  const keep = (line: string) => void lines.push(line);
  const marks = new SentMarks({
    table: { turn: () => Promise.resolve(undefined), present: () => Promise.resolve(new Set()) },
    clock: systemClock,
    logger: { log: keep, warn: keep, error: keep },
  });
  const outcomes = [new Error('no memory'), new Error('no memory'), undefined, undefined, new Error('gone')];
  const queue: ShippingQueue = {
    name: 'email',
    exec: () => {
      const outcome = outcomes.shift();
      return outcome ? Promise.reject(outcome) : (Promise.resolve([]) as Promise<never>);
    },
  };
  while (outcomes.length > 0) {
    await marks.forget('source', queue, [{ entry: 'a' } as never]);
  }
  const rest = 'They cost memory only, and the outbox tries again within an hour.';
  expect(lines).toEqual([
    `Could not forget the marks of sent rows in queue "email": no memory. ${rest}`,
    `Could not forget the marks of sent rows in queue "email": gone. ${rest}`,
  ]);
});
