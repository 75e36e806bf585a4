import {
  type Lease,
  type PermitHolder,
  type SharedLimitState,
  type SharedLimitValues,
} from '../model/shared-limit.js';
import type { RateLimit } from '../model/limits.js';
import { nameOfSpelled } from '../validation/names.js';
import { decodeDate } from './decode-date.js';
import { listOf, rowsOf, textOf, wholeNumberOf } from './check-reply.js';

/** Decodes the reply of `lua/shared-limit/lease.lua`. */
export function decodeLease(reply: unknown): Lease {
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
export function decodeSharedLimit(name: string, reply: unknown): SharedLimitState {
  const all = listOf(reply);
  const [now, isSet, configured, maxRunning, pausedAt, pausedUntil, reason, by, restsUntil] = all
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
    holders: rowsOf(held, 3).map(([queue, worker, permits]): PermitHolder => ({
      queue: nameOfSpelled(queue!),
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
      ...(by !== undefined && { pausedBy: by }),
      ...(reason !== undefined && { pauseReason: reason }),
    }),
  };
}

function namesOf(queues: unknown): string[] {
  return listOf(queues).map((queue) => nameOfSpelled(textOf(queue)));
}

function rateOf([limit, periodMs, burst]: readonly (string | undefined)[]): RateLimit {
  return { limit: Number(limit), periodMs: Number(periodMs), burst: Number(burst) };
}

/** Decodes the values that apps configure. Undefined for none, and for a text of another program. */
export function decodeConfigured(text: string | undefined): SharedLimitValues | undefined {
  try {
    const [most, rates] = JSON.parse(text ?? 'null') as [string, string[][]];
    return { ...(most && { maxRunning: Number(most) }), ...(rates.length > 0 && { rateLimit: rates.map(rateOf) }) };
  } catch {
    return undefined;
  }
}
