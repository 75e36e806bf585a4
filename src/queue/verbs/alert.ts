// The verbs that tell each alert once in the fleet: the scripts of lua/alert.
import { flagOf, listOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { ALERTS_KEPT_MS } from '../runtime/lifetimes.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import { number, own, text, verb } from './verb.js';

const keys = ({ alerts }: QueueKeys) => [alerts];

export const ALERTS = {
  /**
   * Takes the turn to look. Returns undefined if another look began less than `everyMs` ago. Else returns the time of the
   * store, in ms, and the record of the told alerts; '' for none.
   *
   * @param given.token identifies the look, so that its repeat gets the same turn
   */
  takeTurn: verb('alertTakeTurn', {
    keys,
    args: { token: text, everyMs: number, keptMs: own(() => ALERTS_KEPT_MS) },
    reply(reply) {
      const [now, record] = listOf(reply);
      return now === undefined ? undefined : { nowMs: wholeNumberOf(Number(textOf(now))), record: textOf(record) };
    },
  }),

  /** Keeps which alerts were told. Returns false, and keeps nothing, if another look has begun since. */
  told: verb('alertTold', { keys, args: { token: text, record: text }, reply: flagOf }),
};
