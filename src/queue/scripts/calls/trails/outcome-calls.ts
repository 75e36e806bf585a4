import type { JobOutcome } from '../../../model/job-event.js';
import { decodeOutcome } from '../../../replies/decode-outcome.js';
import type { CommandCall } from '../../../transport/script-runner.js';
import type { CallContext } from '../../script-call.js';

/** Returns the call that reads the line of an ended job. By commands, so no worker needs a permission for it. */
export function outcomeCalls({ keys }: CallContext) {
  return {
    outcome(id: string): CommandCall<JobOutcome | null> {
      return {
        script: 'outcome',
        keys: [keys.outcomesA, keys.outcomesB],
        args: [id],
        send: (client) => Promise.all([client.hget(keys.outcomesA, id), client.hget(keys.outcomesB, id)]),
        decode: (reply) => decodeOutcome(keys.queue, id, reply),
      };
    },
  };
}
