// The verbs of a limit that queues share: the scripts of lua/shared-limit. Their keys are of the limit, and of no queue.
import type { RateLimit } from '../model/limits.js';
import type {
  KeyRules,
  SharedLimitChanges,
  SharedLimitValues,
  Lease,
  PermitHolder,
  SharedLimitState,
} from '../model/shared-limit.js';
import { flagOf, listOf, textOf, wholeNumberOf, decodeDate, rowsOf } from '../replies/check-reply.js';
import { sharedLimitArguments, sharedLimitText, valuesOfKey } from '../scripts/encode-limits.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import { nameOfSpelled } from '../validation/names.js';
import { by, each, fields, flag, inKey, number, optional, own, text, verb } from './verb.js';

/** The name of the limit. */
const limit = inKey;
/** The queue of the call, as the keys of its queue spell it. */
const queue = own(({ keys }) => keys.spelled);

type OfLimit = { limit: string };
/** For the store of a key: the values of its limit. */
const ofLimit = optional(by<SharedLimitValues>(valuesOfKey));

const everyKey = (keys: QueueKeys, given: OfLimit) => keys.sharedLimit(given.limit);
const allKeys = (keys: QueueKeys, given: OfLimit) => everyKey(keys, given).slice(0, 5);

const queuesOf = (reply: unknown) => listOf(reply).map(textOf);

export const SHARED_LIMITS = {
  /** Notes that a queue uses it, and stores the values that this app configures. The last app that declares others wins. */
  declare: verb('sharedLimitDeclare', {
    keys(keys, given) {
      const [first, , , , rates, queues] = keys.sharedLimit(given.limit);
      return [first!, rates!, queues!];
    },
    args: { limit, values: by<SharedLimitValues>(sharedLimitText), queue },
    repeat: 'same',
    reply: flagOf,
  }),

  /** Leases permits for a claim. A repeat with the same token returns the same permits. */
  lease: verb('sharedLimitLease', {
    keys: allKeys,
    args: {
      limit,
      queue,
      worker: text,
      token: text,
      count: number,
      lifeMs: number,
      declares: flag,
      /** What each permit costs of the rates. */
      cost: optional(number, '1'),
      /** The least that it may cost, if jobs of the queue have costs of their own. */
      least: optional(number),
      ofLimit,
    },
    reply: decodeLease,
  }),

  /** Gives back permits. Returns the queues to wake. */
  giveBack: verb('sharedLimitGiveBack', {
    keys: allKeys,
    args: {
      limit,
      queue,
      worker: text,
      permits: each(fields({ id: text, refund: optional(number), version: text, renamed: optional(text) })),
    },
    repeat: 'same',
    reply: queuesOf,
  }),

  /** Extends the permits of running jobs. */
  extend: verb('sharedLimitExtend', {
    keys: allKeys,
    args: { limit, queue, worker: text, lifeMs: number, permits: each(text) },
    reply: () => undefined,
  }),

  /** Rests all queues that share the limit. */
  rest: verb('sharedLimitRest', { keys: allKeys, args: { limit, ms: number }, reply: () => undefined }),

  /** Sets values: null removes one, and an omitted one stays as it is. */
  set: verb('sharedLimitSet', {
    keys: allKeys,
    args: {
      limit,
      values: by<SharedLimitChanges>(sharedLimitArguments),
      ofLimit,
    },
    reply: queuesOf,
  }),

  clear: verb('sharedLimitClear', { keys: allKeys, args: { limit }, reply: queuesOf }),

  /** Returns whether it was not paused before. */
  pause: verb('sharedLimitPause', {
    keys: allKeys,
    args: { limit, forMs: optional(number), reason: optional(text), by: optional(text) },
    reply: flagOf,
  }),

  resume: verb('sharedLimitResume', {
    keys: allKeys,
    args: { limit },
    reply(reply) {
      const [wasPaused, ...queues] = listOf(reply);
      return { wasPaused: wholeNumberOf(wasPaused) === 1, queues: queues.map(textOf) };
    },
  }),

  /** Notes keys that were used, and those without a permit. Returns what applies to each key of the limit. */
  noteKeys: verb('sharedLimitNoteKeys', {
    keys(keys, given) {
      const [first, , , , rates, , used, full, closed] = keys.sharedLimit(given.limit);
      return [first!, rates!, used!, full!, closed!];
    },
    args: {
      limit,
      used: by<readonly string[]>((names) => [names.length, ...names], { itself: true }),
      refused: optional(each(fields({ key: text, isClosed: flag, forMs: number })), []),
    },
    repeat: 'same',
    reply(reply): KeyRules {
      const [values, held] = listOf(reply);
      const heldMs = held === null || held === undefined ? undefined : Number(textOf(held));
      return { values: decodeConfigured(textOf(values) || undefined), heldMs: heldMs === -1 ? Infinity : heldMs };
    },
  }),

  get: verb('sharedLimitGet', {
    keys: everyKey,
    args: { limit },
    reply: (reply, given) => decodeSharedLimit(given.limit, reply),
  }),
};

/** Decodes the reply of `lua/shared-limit/lease.lua`. */
function decodeLease(reply: unknown): Lease {
  const [granted, wait, why, version, burst, cost, ...queues] = listOf(reply);
  return {
    granted: wholeNumberOf(granted),
    waitMs: wait === null || wait === undefined ? undefined : Math.ceil(Number(textOf(wait))),
    why: textOf(why),
    version: textOf(version),
    cost: wholeNumberOf(cost),
    toWake: queues.map(textOf),
    ...(textOf(burst) !== '' && { burst: wholeNumberOf(Number(textOf(burst))) }),
  };
}

/** Decodes the reply of `lua/shared-limit/get.lua`. */
function decodeSharedLimit(name: string, reply: unknown): SharedLimitState {
  const all = listOf(reply);
  const [now, isSet, configured, maxRunning, pausedAt, pausedUntil, reason, pausedBy, restsUntil] = all
    .slice(0, 9)
    .map((value) => (value === null || value === undefined ? undefined : textOf(value)));
  const [rates, held, line, running, queues, keys, full, closed] = all.slice(9);
  const rateRows = rowsOf(rates, 4);
  const nextStartMs = Math.max(...rateRows.map(([, , , next]) => Number(next)), 0);
  const isPaused = pausedAt !== undefined && !(pausedUntil !== undefined && Number(pausedUntil) <= Number(now));
  const ofCode = decodeConfigured(configured);
  return {
    name,
    source: isSet ? 'set' : ofCode ? 'configuration' : 'none',
    ...(maxRunning && { maxRunning: Number(maxRunning) }),
    rateLimit: rateRows.map(rateOf),
    ...(isSet && ofCode && { configured: ofCode }),
    running: wholeNumberOf(running),
    holders: rowsOf(held, 3).map(([spelled, worker, permits]): PermitHolder => ({
      queue: nameOfSpelled(spelled!),
      worker: worker!,
      permits: Number(permits),
    })),
    waiting: namesOf(line),
    queues: namesOf(queues).toSorted(),
    ...(listOf(keys).length > 0 && {
      keys: listOf(keys).map(textOf),
      waitingKeys: { full: wholeNumberOf(full), closed: wholeNumberOf(closed) },
    }),
    ...(nextStartMs > Number(now) && { nextStartAt: new Date(nextStartMs) }),
    ...(Number(restsUntil ?? 0) > Number(now) && { restsUntil: decodeDate(restsUntil!)! }),
    ...(isPaused && {
      pausedAt: decodeDate(pausedAt)!,
      ...(pausedUntil !== undefined && { pausedUntil: decodeDate(pausedUntil)! }),
      ...(pausedBy !== undefined && { pausedBy }),
      ...(reason !== undefined && { pauseReason: reason }),
    }),
  };
}

function namesOf(queues: unknown): string[] {
  return listOf(queues).map((spelled) => nameOfSpelled(textOf(spelled)));
}

function rateOf([starts, periodMs, burst]: readonly (string | undefined)[]): RateLimit {
  return { limit: Number(starts), periodMs: Number(periodMs), burst: Number(burst) };
}

/** Decodes the values that apps configure. Undefined for none, and for a text of another program. */
function decodeConfigured(stored: string | undefined): SharedLimitValues | undefined {
  try {
    const [most, rates] = JSON.parse(stored ?? 'null') as [string, string[][]];
    return { ...(most && { maxRunning: Number(most) }), ...(rates.length > 0 && { rateLimit: rates.map(rateOf) }) };
  } catch {
    return undefined;
  }
}
