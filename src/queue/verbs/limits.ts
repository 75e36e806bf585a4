// The verbs of the limits of a queue for the whole fleet: the scripts of lua/limits.
import type { LimitChanges, RuntimeLimits } from '../model/limits.js';
import { fieldsOf, textOf } from '../replies/check-reply.js';
import { type LimitsReply, decodeLimits, LIMITS_FIELDS } from '../replies/decode-limits.js';
import { limitChangeArguments, runtimeLimitArguments } from '../scripts/encode-limits.js';
import { by, verb } from './verb.js';

export const LIMITS = {
  get: verb('limitsGet', {
    reply: (reply) => decodeLimits(fieldsOf(reply, LIMITS_FIELDS) as LimitsReply),
  }),

  set: verb('limitsSet', {
    args: by<RuntimeLimits>(runtimeLimitArguments),
    reply: () => undefined,
  }),

  /**
   * Changes some limits in one step, and keeps the others. Returns the name of a rate that would be incomplete; then
   * nothing is changed.
   */
  change: verb('limitsSet', {
    args: by<LimitChanges>(limitChangeArguments),
    reply: (reply) => (reply === null ? undefined : textOf(reply) || undefined),
  }),

  clear: verb('limitsClear', { reply: () => undefined }),
};
