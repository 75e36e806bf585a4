import { flagOf, listOf, textOf, wholeNumberOf } from '../../replies/check-reply.js';
import { ALERTS_KEPT_MS } from '../../runtime/lifetimes.js';
import type { AlertVerbs } from '../../store/verbs/alert-verbs.js';
import { type CallContext, call } from '../script-call.js';

/** Returns the calls of `lua/alert`, one for each script; see AlertVerbs and the headers there. */
export function alertCalls({ keys }: CallContext) {
  return {
    takeTurn: (token, everyMs) =>
      call('alertTakeTurn', [keys.alerts], [token, everyMs, ALERTS_KEPT_MS], (reply) => {
        const [now, record] = listOf(reply);
        return now === undefined
          ? undefined
          : { nowMs: wholeNumberOf(Number(textOf(now))), record: textOf(record) };
      }),

    told: (token, record) => call('alertTold', [keys.alerts], [token, record], flagOf),
  } satisfies AlertVerbs;
}
