import type { LimitChanges, RuntimeLimits } from '../../model/limits.js';
import type { StoreCall } from '../store-call.js';

/** The limits of a queue as they hold now. */
export interface LimitsInForce extends RuntimeLimits {
  /** The origin of the limits: `set` at run time, `configuration` of a worker, or `none`. */
  source: 'set' | 'configuration' | 'none';
  /** The limits of the code while others are set at run time; `{}` for none. Absent: no worker has said them. */
  configured?: RuntimeLimits;
  /** The end of the queue's rest, since a handler threw a RateLimitedError. Absent: it does not rest. */
  restsUntil?: Date;
  /** The time when the rate lets the next job start. Absent: now. */
  nextStartAt?: Date;
}

/** The limits of a queue for the whole fleet. */
export interface LimitVerbs {
  get(): StoreCall<LimitsInForce>;
  set(limits: RuntimeLimits): StoreCall<void>;
  /**
   * Changes some limits in one step, and keeps the others. Returns the name of a rate that would be incomplete; then
   * nothing is changed.
   */
  change(changes: LimitChanges): StoreCall<string | undefined>;
  clear(): StoreCall<void>;
}
