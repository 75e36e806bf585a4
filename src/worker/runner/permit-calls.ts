import { hasValues, type Lease, type PermitNeed, type SharedLimitValues } from '../../queue/model/shared-limit.js';
import type { Clock } from '../../queue/runtime/clock.js';
import { own, slicesOf } from '../../queue/runtime/collections.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';

/** The most permits of one call, so that no script runs long. */
export const MOST_PER_CALL = 500;

/**
 * The time that a permit outlives the claim of its job, in ms. The sweep reclaims the job within it. So a job whose claim
 * is valid has a permit, also in a process that was frozen. Redis may be away for longer than claim and grace. Then the permit ends, but
 * the sweep waits a heartbeat for the claim.
 */
const GRACE_MS = 6_000;

/** The time after which a queue declares again that it uses its limits, in ms. Redis forgets it after 30 days. */
const DECLARES_EVERY_MS = 86_400_000;

/** The lease of a limit whose call failed. */
export const NO_LEASE: Lease = { granted: 0, waitMs: undefined, why: 'error', version: '', toWake: [], cost: 1 };

/** The values of the limits of an app, by their names. */
export type ConfiguredLimits = Readonly<Record<string, SharedLimitValues>>;

export interface PermitsOptions {
  readonly queue: string;
  /** The limits of the queue. */
  readonly limits: readonly PermitNeed[];
  readonly configured: ConfiguredLimits;
  readonly calls: StoreCalls;
  readonly worker: string;
  readonly visibilityMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly warn: (message: string) => void;
}

/** A permit that goes back. */
export interface GivenPermit {
  /** The token of its claim, a tab and its number. */
  readonly id: string;
  /** What is refunded to each limit; undefined for a job that has started. */
  readonly refund?: readonly number[] | undefined;
  /** The id that it has from now on, if its job runs on. */
  readonly renamed?: string;
  /** The version of the values of each limit at its lease. */
  readonly versions: readonly string[];
}

/** Returns the store of a limit itself. */
const whole = (limit: string): string => limit;

/** The calls about permits of a queue's limits, with or without a key. */
export class PermitCalls {
  /** In a fixed order, so that two workers do not each hold what the other needs. */
  readonly limits: readonly PermitNeed[];
  /** The time of the last declaration, by the monotonic clock; -Infinity for none. */
  private declaredAtMs = -Infinity;

  constructor(private readonly options: PermitsOptions) {
    this.limits = options.limits.toSorted((a, b) => (a.limit < b.limit ? -1 : 1));
  }

  /** The time that a permit lasts unless it is extended, in ms. */
  get lifeMs(): number {
    return this.options.visibilityMs + GRACE_MS;
  }

  /** Returns whether permits that were asked for at this time may have ended, if no heartbeat has extended them. */
  mayBeOver(askedAtMs: number): boolean {
    return this.options.clock.monotonic() - askedAtMs >= this.lifeMs;
  }

  /** Returns the values of a limit in this app. Empty for one that only names it. */
  valuesOf(limit: string): SharedLimitValues {
    return own(this.options.configured, limit) ?? {};
  }

  declares(limit: string): boolean {
    return hasValues(this.valuesOf(limit));
  }

  /**
   * Returns the calls that declare the queue. The first ones declare the values of this app, too. Once a day they declare the queue
   * alone, because an app that has started later may have other values. None if no declaration is due.
   */
  declarations(): StoreCall<unknown>[] {
    const { calls, clock } = this.options;
    const now = clock.monotonic();
    if (now - this.declaredAtMs < DECLARES_EVERY_MS) {
      return [];
    }
    const isFirst = this.declaredAtMs === -Infinity;
    this.declaredAtMs = now;
    return this.limits.map(({ limit }) =>
      calls.sharedLimits.declare({ limit, values: isFirst ? this.valuesOf(limit) : {} }),
    );
  }

  /** Declares again with the next calls, because Redis has not got the declaration, or has lost it. */
  declareAgain(): void {
    this.declaredAtMs = -Infinity;
  }

  /** Returns the calls that extend permits. @param storeOf returns the store of a limit */
  extend(ids: readonly string[], storeOf = whole): StoreCall<void>[] {
    const { calls, worker } = this.options;
    const { lifeMs } = this;
    return slicesOf(ids, MOST_PER_CALL).flatMap((permits) =>
      this.limits.map(({ limit }) => calls.sharedLimits.extend({ limit: storeOf(limit), worker, lifeMs, permits })),
    );
  }

  /** Returns the calls that give permits back. @param storeOf returns the store of a limit */
  giveBack(all: readonly GivenPermit[], storeOf = whole): StoreCall<readonly string[]>[] {
    const { calls, worker } = this.options;
    return slicesOf(all, MOST_PER_CALL).flatMap((slice) =>
      this.limits.map(({ limit }, i) => {
        const permits = slice.map(({ id, refund, versions, renamed }) => {
          return { id, refund: refund?.[i], version: versions[i]!, renamed };
        });
        return calls.sharedLimits.giveBack({ limit: storeOf(limit), worker, permits });
      }),
    );
  }
}

export function idOf(token: string, permit: number): string {
  return `${token}\t${permit}`;
}

/** Returns the numbers from 1 on. */
export function numbersTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
