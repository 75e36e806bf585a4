import { decodeOutcome } from '../../../replies/decode-outcome.js';
import type { StoreCalls } from '../../../store/store-calls.js';
import { type CallContext, command } from '../../script-call.js';

/** Returns the call that reads the line of an ended job, by commands. */
export function outcomeCalls({ keys: { queue, outcomesA, outcomesB } }: CallContext) {
  return {
    outcome: (id) =>
      command(
        'outcome',
        [outcomesA, outcomesB],
        (client) => Promise.all([client.hget(outcomesA, id), client.hget(outcomesB, id)]),
        (reply) => decodeOutcome(queue, id, reply),
      ),
  } satisfies Partial<StoreCalls>;
}
