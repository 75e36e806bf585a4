import { fieldsOf, textOf } from '../../replies/check-reply.js';
import { type LimitsReply, decodeLimits, LIMITS_FIELDS } from '../../replies/decode-limits.js';
import type { LimitVerbs } from '../../store/verbs/limit-verbs.js';
import { limitChangeArguments, runtimeLimitArguments } from '../encode-limits.js';
import { type CallContext, call } from '../script-call.js';

/** Returns the calls of `lua/limits`, one for each script; see LimitVerbs and the headers there. */
export function limitsCalls({ keys }: CallContext) {
  return {
    change: (changes) =>
      call('limitsSet', keys.standard, limitChangeArguments(changes), (reply) =>
        reply === null ? undefined : textOf(reply) || undefined,
      ),

    set: (limits) => call('limitsSet', keys.standard, runtimeLimitArguments(limits), () => undefined),

    clear: () => call('limitsClear', keys.standard, [], () => undefined),

    get: () =>
      call('limitsGet', keys.standard, [], (reply) => decodeLimits(fieldsOf(reply, LIMITS_FIELDS) as LimitsReply)),
  } satisfies LimitVerbs;
}
