import type { LimitChanges, RuntimeLimits } from '../../model/limits.js';
import { fieldsOf, textOf } from '../../replies/check-reply.js';
import { type LimitsReply, decodeLimits, LIMITS_FIELDS } from '../../replies/decode-limits.js';
import type { LimitsInForce } from '../../store/verbs/limit-verbs.js';
import type { ScriptCall } from '../../transport/script-runner.js';
import { limitChangeArguments, runtimeLimitArguments } from '../encode-limits.js';
import { type CallContext, call } from '../script-call.js';

/** Returns the calls of `lua/limits`, one for each script; see the headers there. */
export function limitsCalls({ keys }: CallContext) {
  return {
    change(changes: LimitChanges): ScriptCall<string | undefined> {
      return call('limitsSet', keys.standard, limitChangeArguments(changes), (reply) =>
        reply === null ? undefined : textOf(reply) || undefined,
      );
    },

    set(limits: RuntimeLimits): ScriptCall<void> {
      return call('limitsSet', keys.standard, runtimeLimitArguments(limits), () => undefined);
    },

    clear(): ScriptCall<void> {
      return call('limitsClear', keys.standard, [], () => undefined);
    },

    get(): ScriptCall<LimitsInForce> {
      return call('limitsGet', keys.standard, [], (reply) =>
        decodeLimits(fieldsOf(reply, LIMITS_FIELDS) as LimitsReply),
      );
    },
  };
}
