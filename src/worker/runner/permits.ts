import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import {
  costsOf,
  type Lease,
  limitUsesOf,
  type PermitNeed,
  smallestBurst,
  type SharedLimitUse,
  hasValues,
  type SharedLimitValues,
} from '../../queue/model/shared-limit.js';
import type { Clock } from '../../queue/runtime/clock.js';
import { own, slicesOf } from '../../queue/runtime/collections.js';
import type { ClaimReply, ClaimRequest } from '../../queue/store/attempt-forms.js';
import type { Settled } from '../../queue/store/queue-store.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { nearest } from '../../queue/validation/suggest.js';

/** The longest time until a queue without jobs or permits asks again, in ms. */
const LONGEST_WAIT_MS = 1_000;

/** The permits of one claim. */
interface Leased {
  /** The time of the lease, by the monotonic clock. */
  readonly askedAtMs: number;
  /** The version of the values of each limit, by which an unused permit is refunded. */
  readonly versions: readonly string[];
  /** The numbers of the permits that no job of the claim has. */
  free: number[];
  /** The numbers of the permits of jobs that have not ended here. */
  readonly used: number[];
  /** What each permit cost of each limit. */
  readonly paid: readonly number[];
  /** Whether a burst was below it. Then units that jobs did not need are of no use to the rate. */
  readonly isShort: boolean;
  /** What the jobs of the claim cost, each of all limits. */
  readonly costs: (readonly number[])[];
  /** The permits of jobs that ended before the reply of the claim was read to its end. Absent from then on. */
  ended: ReturnedPermit[] | undefined;
}

/** A permit whose refund may still grow. */
type ReturnedPermit = GivenPermit & { refund?: readonly number[] | undefined };

/** A claimed job, as its permit needs it. */
type PermittedJob = Pick<ClaimedJob, 'token'> & { options?: Pick<ClaimedJob['options'], 'limitCosts'> };

/** The outcome of the leases of one claim. */
interface LeaseOutcome {
  /** The number of jobs that may be claimed: each has a permit of every limit. */
  readonly granted: number;
  /** The ms until a further lease may succeed; undefined if no time is known. */
  readonly waitMs: number | undefined;
  /** The waiting queues whose turn it is, as their keys spell them. */
  readonly toWake: readonly string[];
  /** An error that will not pass. Then nothing was leased. */
  readonly error?: Error;
}

/**
 * The permits that the jobs of a runner have of limits which several queues share. They are leased before a claim, which
 * takes at most as many jobs. Each goes back when its job has ended here, or when the claim found no job for it.
 *
 * A permit of several limits has the same id in each. A lease that not all of them grant goes back at once.
 */
export class Permits {
  private readonly permitCalls: PermitCalls;
  private readonly limits: readonly PermitNeed[];
  /** What the next permit should cost of each limit. It follows what jobs cost. */
  private price: number[];
  /** What the next job costs at least of each limit, as far as a claim has told. 0: others may know only of a job before it. */
  private least: number[];
  /** The most that a job has cost of each limit. */
  private readonly largest: number[];
  private readonly leased = new Map<string, Leased>();
  /** The times of leases in flight, by their tokens. */
  private readonly asked = new Map<string, number>();
  private returned: ReturnedPermit[] = [];
  private rests: StoreCall<void>[] = [];
  /** The number to ask for. It begins at one, so that an idle queue takes no permits from busy ones. */
  private next = 1;
  private isDenied = false;
  /** The last burst of each limit of which a warning was logged. */
  private readonly warnedOf = new Map<string, number>();
  /** The time when a lease may succeed again, by the monotonic clock. A job may have come without a marker by then, too. */
  private dueAtMs = 0;

  /** @param changed called when there is something to send */
  constructor(
    private readonly options: PermitsOptions,
    private readonly changed: () => void,
  ) {
    this.permitCalls = new PermitCalls(options);
    this.limits = this.permitCalls.limits;
    this.price = this.limits.map(({ cost }) => cost);
    this.least = this.limits.map(() => 1);
    this.largest = this.limits.map(({ cost, most = cost }) => most);
  }

  /** What a job costs at most of each limit. A producer with other code may have said more than a range has. */
  get costs(): { limit: string; cost: number }[] {
    return this.limits.map(({ limit }, i) => ({ limit, cost: this.largest[i]! }));
  }

  /** Returns the number of permits to ask for. @param slots the free slots */
  asksFor(slots: number): number {
    return Math.min(slots, this.next, MOST_PER_CALL);
  }

  /** Returns the calls that lease permits for a claim, with the declarations that are due. */
  lease(token: string, count: number): StoreCall<unknown>[] {
    const { calls, worker, clock } = this.options;
    const { lifeMs } = this.permitCalls;
    this.asked.set(token, clock.monotonic());
    const least = this.least;
    this.least = least.map((each) => each || 1); // by the next lease others of the queue may know more
    return [
      ...this.permitCalls.declarations(),
      ...this.limits.map(({ limit, most }, i) => {
        const declares = this.permitCalls.declares(limit);
        const prices = { cost: this.price[i]!, ...(most !== undefined && { least: least[i]! }) };
        return calls.sharedLimits.lease({ limit, worker, token, count, lifeMs, declares, ...prices });
      }),
    ];
  }

  /** Takes the outcomes of these calls. Gives back what only some of the limits granted, and permits whose time may be over. */
  take(token: string, count: number, outcomes: readonly Settled<unknown>[]): LeaseOutcome {
    const failed = outcomes.find((outcome) => !outcome.ok);
    const ofLimits = outcomes.slice(-this.limits.length) as readonly Settled<Lease>[];
    const leases = ofLimits.map((outcome) => (outcome.ok ? outcome.reply : NO_LEASE));
    const askedAtMs = this.asked.get(token) ?? -Infinity;
    this.asked.delete(token);
    const granted =
      failed || this.permitCalls.mayBeOver(askedAtMs) ? 0 : Math.min(...leases.map((lease) => lease.granted));
    const most = Math.max(...leases.map((lease) => lease.granted));
    const declared = outcomes.slice(0, -this.limits.length);
    if (declared.some(({ ok }) => !ok) || leases.some(({ why }) => why === 'undeclared')) {
      this.permitCalls.declareAgain();
    }
    leases.forEach(({ burst, cost }, i) => burst !== undefined && this.warnOf(this.limits[i]!, cost, burst));
    const versions = leases.map(({ version }) => version);
    const paid = leases.map(({ cost }) => cost);
    // A permit that only some of the limits granted is of no job.
    const beyond = numbersTo(most).slice(granted);
    this.returned.push(...beyond.map((permit) => ({ id: idOf(token, permit), refund: paid, versions })));
    if (granted > 0) {
      const isShort = leases.some(({ burst }) => burst !== undefined);
      this.leased.set(token, {
        askedAtMs,
        versions,
        free: numbersTo(granted),
        used: [],
        paid,
        isShort,
        costs: [],
        ended: [],
      });
    }
    this.next = granted < count ? Math.max(1, granted) : this.next;
    this.isDenied = granted < count;
    if (this.hasToSend) {
      this.changed();
    }
    const waits = leases.flatMap(({ why, waitMs }) => (why === 'undeclared' ? [0] : why ? [waitMs] : []));
    const waitMs = waits.some((wait) => wait === undefined) ? undefined : Math.max(...(waits as number[]), 0);
    this.waitFor(waitMs);
    return {
      granted,
      waitMs,
      toWake: leases.flatMap(({ toWake }) => toWake),
      ...(failed && !failed.ok && { error: failed.error }),
    };
  }

  /** Returns the units that a claim may take. Undefined if its jobs have no costs of their own. */
  unitsOf(token: string): ClaimRequest['units'] {
    const leased = this.leased.get(token);
    const units = this.limits.flatMap(({ limit, cost, most }, i) =>
      leased && most !== undefined ? [[limit, cost, leased.paid[i]! * leased.free.length] as const] : [],
    );
    return units.length > 0 ? units : undefined;
  }

  /**
   * Gives a job of a claim one of its permits. Returns false if its time may be over, because the reply of the claim came late.
   * Such a job must not start.
   */
  begin({ token, options }: PermittedJob): boolean {
    const leased = this.leased.get(token);
    const permit = leased?.free.pop();
    if (permit === undefined) {
      return true;
    }
    leased!.used.push(permit);
    leased!.costs.push(costsOf(this.limits, options?.limitCosts));
    return !this.permitCalls.mayBeOver(leased!.askedAtMs);
  }

  /**
   * Notes that the reply of a claim is here, or never comes. Permits without a job go back, and so do units that its jobs did
   * not need.
   *
   * @param nextInMs the ms until a job may be claimed without a marker; undefined if no time is known
   */
  claimEnded(token: string, nextInMs?: number): void {
    const leased = this.leased.get(token);
    if (leased) {
      const { free, costs } = leased;
      const found = costs.length;
      this.next = free.length > 0 ? Math.max(1, found) : Math.min(2 * Math.max(found, this.next), MOST_PER_CALL);
      this.giveBackUnused(token, leased);
      this.returned.push(...(leased.ended ?? []));
      leased.free = [];
      leased.ended = undefined;
      this.waitFor(nextInMs);
      this.forgetIfEmpty(token, leased);
      if (this.hasToSend) {
        this.changed();
      }
    }
  }

  /** Notes that a job has ended here. @param isUnused true if its handler was never called */
  end({ token, options }: PermittedJob, isUnused: boolean): void {
    const leased = this.leased.get(token);
    const permit = leased?.used.pop();
    if (permit !== undefined) {
      this.giveBack(token, leased!, permit, isUnused ? costsOf(this.limits, options?.limitCosts) : undefined);
      this.forgetIfEmpty(token, leased!);
      this.changed();
    }
  }

  /**
   * Gives back what a claim did not need. The units of its permits are one sum, of which each job took what it costs. Where a
   * burst is below the price, a permit paid no more than the burst. So only whole permits are refunded there.
   */
  private giveBackUnused(token: string, leased: Leased): void {
    const { free, used, costs, paid, isShort, ended: [ended] = [] } = leased;
    const permits = free.length + costs.length;
    const rest = paid.map((price, i) => permits * price - costs.reduce((sum, cost) => sum + cost[i]!, 0));
    if (isShort || costs.length === 0) {
      const whole = Math.min(...rest.map((units, i) => Math.floor(units / paid[i]!)));
      free.forEach((permit, i) => this.giveBack(token, leased, permit, i < whole ? paid : paid.map(() => 0)));
    } else if (free.length > 0) {
      free.forEach((permit, i) => this.giveBack(token, leased, permit, i === 0 ? rest : paid.map(() => 0)));
    } else if (ended) {
      ended.refund = rest.map((units, i) => units + (ended.refund?.[i] ?? 0));
    } else if (used.length > 0 && rest.some((units) => units > 0)) {
      const permit = used.pop()!;
      const renamed = -permit; // so that a repeat refunds nothing
      used.push(renamed);
      const { versions } = leased;
      this.returned.push({ id: idOf(token, permit), refund: rest, renamed: idOf(token, renamed), versions });
    }
  }

  /**
   * Learns what the next permits should cost: what the jobs of a claim do, or the next job. Called before the next lease is
   * asked for.
   */
  learn({ jobs, short }: Pick<ClaimReply, 'jobs' | 'short'>): void {
    if (this.limits.every(({ most }) => most === undefined)) {
      return;
    }
    const costs = jobs.map(({ options }) => costsOf(this.limits, options.limitCosts));
    let varying = 0;
    this.limits.forEach(({ most }, i) => {
      if (most === undefined) {
        return;
      }
      const missing = short?.[varying++];
      this.largest[i] = Math.max(this.largest[i]!, missing ?? 0, ...costs.map((cost) => cost[i]!));
      if (costs.length > 0) {
        this.price[i] = Math.ceil(costs.reduce((sum, cost) => sum + cost[i]!, 0) / costs.length);
      } else if (missing !== undefined) {
        this.price[i] = missing;
      }
      // After a job was found, what the queue waited for before is of no use.
      this.least[i] = missing ?? (costs.length > 0 ? 0 : 1);
    });
  }

  /**
   * Returns whether the permits of a claim that found no job have paid what the next job costs. So another claim would find no more, and the
   * queue asks again as if no job waited.
   */
  hasPaid(token: string, { jobs, short }: Pick<ClaimReply, 'jobs' | 'short'>): boolean {
    if (jobs.length > 0 || !short) return false;
    const units = this.unitsOf(token) ?? [];
    return short.every((cost, i) => cost <= (units[i]?.[2] ?? 0));
  }

  /** Rests a limit, because a handler met that of the service. */
  rest(limit: string, ms: number): void {
    this.rests.push(this.options.calls.sharedLimits.rest({ limit, ms }));
    this.changed();
  }

  /**
   * The time until a lease may succeed without a marker, in ms; 0 from then on. A wait that ends earlier, for another queue,
   * is no reason to ask.
   */
  get nextDueInMs(): number {
    return Math.max(0, Math.ceil(this.dueAtMs - this.options.clock.monotonic()));
  }

  /** True if the last lease got too few permits. Then the end of a job here may let another start. */
  get wereTooFew(): boolean {
    return this.isDenied;
  }

  /** True if permits or rests wait to be sent. */
  get hasToSend(): boolean {
    return this.returned.length > 0 || this.rests.length > 0;
  }

  /** Returns the calls that rest limits and give permits back. */
  takeCalls(): StoreCall<readonly string[] | void>[] {
    const { rests, returned } = this;
    [this.rests, this.returned] = [[], []];
    return [...rests, ...this.permitCalls.giveBack(returned)];
  }

  /** Returns the calls that extend all permits which are held here. A change of a number may be late or lost, so both count. */
  extensions(): StoreCall<void>[] {
    const held = [...this.leased].flatMap(([token, { free, used }]) =>
      [...free, ...used, ...used.filter((permit) => permit < 0).map((permit) => -permit)].map((permit) =>
        idOf(token, permit),
      ),
    );
    return this.permitCalls.extend(held);
  }

  /** Warns once of each burst that is below the cost of a job. An operator may have set it. */
  private warnOf({ limit, most }: PermitNeed, cost: number, burst: number): void {
    if (this.warnedOf.get(limit) !== burst) {
      this.warnedOf.set(limit, burst);
      this.options.warn(
        `${most === undefined ? 'Each' : 'A'} job of queue "${this.options.queue}" costs ${cost} of the limit "${limit}", whose burst is ${burst} now. ` +
          `It counts as ${burst}, so more start than its rate allows. Raise the burst to ${cost}, or lower the cost.`,
      );
    }
  }

  private waitFor(ms: number | undefined): void {
    this.dueAtMs = this.options.clock.monotonic() + Math.min(ms ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS);
  }

  private giveBack(
    token: string,
    { versions, ended }: Leased,
    permit: number,
    refund: readonly number[] | undefined,
  ): void {
    (ended ?? this.returned).push({ id: idOf(token, permit), refund, versions });
  }

  private forgetIfEmpty(token: string, { free, used, ended }: Leased): void {
    if (!ended && free.length === 0 && used.length === 0) {
      this.leased.delete(token);
    }
  }
}

/**
 * Checks that the app has the limits that a queue names, and that their rates can take its costs. An unknown one would
 * bound nothing.
 *
 * @throws InvalidOptionError
 */
export function checkLimits(
  queue: string,
  uses: readonly (string | SharedLimitUse)[] | undefined,
  configured: ConfiguredLimits,
): void {
  for (const { limit, cost: usual, most: cost = usual } of limitUsesOf(uses)) {
    checkKnownLimit(queue, limit, configured);
    const burst = smallestBurst(own(configured, limit) ?? {});
    if (cost > burst) {
      throw new InvalidOptionError(
        `queue "${queue}".limits`,
        `a cost of at most the burst of ${limit}, which is ${burst}`,
        String(cost),
        'A rate charges a job no more than its burst. Raise the burst of each rate to the cost.',
      );
    }
  }
}

function checkKnownLimit(queue: string, limit: string, configured: ConfiguredLimits): void {
  const known = Object.keys(configured);
  if (!known.includes(limit)) {
    const meant = nearest(limit, known);
    throw new InvalidOptionError(
      `queue "${queue}".limits`,
      known.length > 0 ? `limits of this app: ${known.join(', ')}` : 'limits of this app, which has none',
      JSON.stringify(limit),
      (meant === undefined ? '' : `Did you mean ${meant}? `) +
        `Define it: JobQueueModule.forRoot({ limits: { ${JSON.stringify(limit)}: { maxRunning: … } } }), or in the options of the Worker. ` +
        `{} takes the values that other apps define.`,
    );
  }
}

/** The most permits of one call, so that no script runs long. */
export const MOST_PER_CALL = 500;

/**
 * The time that a permit outlives the claim of its job, in ms. The sweep reclaims the job within it. So a job whose claim
 * is valid has a permit, also in a process that was frozen. Redis may be away for longer than claim and grace. Then the permit ends, but
 * the sweep waits a heartbeat for the claim.
 */
const PERMIT_GRACE_MS = 6_000;

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
    return this.options.visibilityMs + PERMIT_GRACE_MS;
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
