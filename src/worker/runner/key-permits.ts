import { costsOf, type KeyRules, type Lease, type PermitNeed } from '../../queue/model/shared-limit.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import { groupBy } from '../../queue/runtime/collections.js';
import type { Settled } from '../../queue/store/queue-store.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import { storeOfKey } from '../../queue/validation/names.js';
import type { Attempt } from '../attempt/attempt.js';
import {
  type GivenPermit,
  idOf,
  MOST_PER_CALL,
  NO_LEASE,
  numbersTo,
  PermitCalls,
  type PermitsOptions,
} from './permits.js';

/** The time between two notes of a key that is used all the time, in ms. A limit lists the keys of the last day. */
const NOTES_EVERY_MS = 60_000;

/** The most keys whose last note is remembered here. */
const MOST_NOTED = 10_000;

/** How long a group rests if no lease says how long, in ms. */
const REST_MS = 1_000;

/** The longest wait for the leases of a group, in ms. The master of its key may be away. Then its jobs go back. */
const LONGEST_LEASE_MS = 5_000;

/** The age of a lease without a reply from which its jobs hold no claim back, in ms. */
const SLOW_LEASE_MS = 250;

/** The longest time until a queue asks again whether its limits hold all keys back, in ms. */
const LONGEST_HOLD_MS = 1_000;

/** A claimed job that waits for the permits of its group. */
interface Waiting {
  readonly attempt: Attempt;
  /** Starts the job, or lets it wait for a slot. */
  readonly begin: () => void;
}

/** Jobs of one group with the same costs. They are leased together. */
interface Lot {
  readonly token: string;
  readonly costs: readonly number[];
  readonly jobs: readonly Waiting[];
}

/** The jobs of one group in one claim. A lot is leased once the one before has all its permits. */
export interface GroupLeases {
  readonly group: string;
  /** The lots without a reply, in their order. */
  lots: readonly Lot[];
  /** The time of the lease in flight, by the monotonic clock. */
  askedAtMs: number;
  /** The jobs of the claim that were worth it: each with a permit, and one of each group without. All groups share it. */
  readonly claim: { useful: number };
}

/** A key that gave no permit. */
interface RefusedKey {
  readonly key: string;
  /** True if it is paused or rests. */
  readonly isClosed: boolean;
  /** For how long its group rests. */
  readonly forMs: number;
}

/** The reasons of a lease for too few permits. */
const CLOSED: readonly string[] = ['paused', 'rests'];
const FULL: readonly string[] = ['slots', 'rate', 'turn'];

/** The permits of one job. */
interface Held {
  readonly group: string;
  /** The token of its lease, a tab and its number. */
  readonly id: string;
  readonly costs: readonly number[];
  /** The version of the values of each limit, by which an unused permit is refunded. */
  readonly versions: readonly string[];
}

type Returned = GivenPermit & Pick<Held, 'group'>;

/** Queues that wait for a permit of a group, as their keys spell them. */
export interface GroupWaiters {
  readonly group: string;
  readonly queues: readonly string[];
}

/** A call whose reply names queues that wait for a permit of a group. */
interface KeyCall {
  readonly call: StoreCall<readonly string[] | void>;
  readonly group: string;
}

/**
 * The permits that the jobs of a runner have of limits with a key, see docs/internals/limits.md. The key of a job is its
 * group, which only its claim tells. So a claimed job waits here until its permits are leased. A job without one goes back, and
 * its group rests.
 */
export class KeyPermits {
  private readonly permitCalls: PermitCalls;
  private readonly limits: readonly PermitNeed[];
  /** What applies to each key, as Redis said last. */
  private readonly rules: (KeyRules | undefined)[];
  /** The time until which each limit lets no job of any key start, by the monotonic clock; -Infinity for none. */
  private readonly heldUntilMs: number[];
  private waiting: Waiting[] = [];
  /** The claimed jobs that have no permit yet, with their times by the monotonic clock. */
  private readonly pending = new Map<Attempt, number>();
  private readonly held = new Map<Attempt, Held>();
  private returned: Returned[] = [];
  private rests: KeyCall[] = [];
  /** The time of the last note of each key, by the monotonic clock. */
  private readonly notedAt = new Map<string, number>();
  private toNote = new Set<string>();
  /** The keys of each limit that gave no permit since the last note. */
  private readonly refused: readonly Map<string, RefusedKey>[];
  /** The number of jobs to claim. It falls to the number that was worth it, and doubles after a full claim. */
  private next = MOST_PER_CALL;
  private hasWarned = false;
  private timer: Timer | undefined;
  private isNoting = false;
  private lastNotes: Promise<void> = Promise.resolve();

  /** @param changed called when there is something to send */
  constructor(
    private readonly options: PermitsOptions & { readonly clock: Pick<Clock, 'randomId' | 'setTimeout'> },
    private readonly changed: () => void,
  ) {
    this.permitCalls = new PermitCalls(options);
    this.limits = this.permitCalls.limits;
    this.rules = this.limits.map(() => undefined);
    this.heldUntilMs = this.limits.map(() => -Infinity);
    this.refused = this.limits.map(() => new Map<string, RefusedKey>());
  }

  /** Returns whether a limit of the queue has a key. */
  has(limit: string): boolean {
    return this.limits.some((each) => each.limit === limit);
  }

  /** The time for which no key lets a job start, in ms; 0 for none. Then the limits are asked again. So nothing is claimed until then. */
  get heldMs(): number {
    const leftMs = Math.max(...this.heldUntilMs) - this.options.clock.monotonic();
    return Math.min(Math.max(0, Math.ceil(leftMs)), LONGEST_HOLD_MS);
  }

  /** Resolves once the last notes are learned, or late. Jobs that were claimed beside them are leased then. */
  get noted(): Promise<void> {
    return this.lastNotes;
  }

  /** Lets the leases of jobs that are claimed now wait for notes. @param learned resolves once they are learned, or late */
  waitFor(learned: Promise<void>): void {
    this.lastNotes = learned;
  }

  /** True if a claim must ask first whether the limits still hold all keys back. */
  get asksFirst(): boolean {
    return this.heldUntilMs.some((each) => each !== -Infinity);
  }

  /** Returns the number of jobs to claim. @param slots the free slots */
  asksFor(slots: number): number {
    return Math.min(slots, this.room);
  }

  /** False while the jobs that wait for their permits are as many as were worth a claim. More would be claimed in vain. */
  get mayAsk(): boolean {
    return this.room > 0;
  }

  /** The number of jobs that are worth a claim now. Jobs that have waited for long count no more, because a master may be away. */
  private get room(): number {
    const sinceMs = this.options.clock.monotonic() - SLOW_LEASE_MS;
    return this.next - [...this.pending.values()].filter((atMs) => atMs > sinceMs).length;
  }

  /** Returns the calls that note keys, and read what applies to all of them. None if such calls are in flight. */
  notes(): StoreCall<unknown>[] {
    if (this.isNoting) {
      return []; // the master of a limit may be away
    }
    this.isNoting = true;
    const used = [...this.toNote];
    this.toNote = new Set();
    return [
      ...this.permitCalls.declarations(),
      ...this.limits.map(({ limit }, i) => {
        const refused = [...this.refused[i]!.values()];
        this.refused[i]!.clear();
        return this.options.calls.sharedLimits.noteKeys({ limit, used, refused });
      }),
    ];
  }

  /** Takes the outcomes of these calls. Without a reply the rules of before apply, also a pause and a rest. */
  learn(outcomes: readonly Settled<unknown>[]): void {
    const ofLimits = outcomes.slice(-this.limits.length) as readonly Settled<KeyRules>[]; // declarations may precede
    if (outcomes.some(({ ok }) => !ok)) {
      this.permitCalls.declareAgain();
    }
    this.isNoting = false;
    const now = this.options.clock.monotonic();
    this.limits.forEach(({ limit }, i) => {
      const outcome = ofLimits[i]!;
      if (!outcome.ok) {
        return;
      }
      this.rules[i] = outcome.reply;
      this.heldUntilMs[i] = now + (outcome.reply.heldMs ?? -Infinity);
      if (outcome.reply.values === undefined && this.permitCalls.declares(limit)) {
        this.permitCalls.declareAgain();
      }
    });
  }

  /** Lets a claimed job wait for its permits. Returns false for a job without a group, which needs none. */
  add(attempt: Attempt, begin: () => void): boolean {
    const { group } = attempt.claim.options;
    if (group === undefined) {
      this.warnOfNoGroup(attempt.id);
      return false;
    }
    this.waiting.push({ attempt, begin });
    this.pending.set(attempt, this.options.clock.monotonic());
    this.watch();
    return true;
  }

  /** Returns the leases of the jobs that were added since the last call. They go back if the limits hold all keys back. */
  takeLeases(): GroupLeases[] {
    const jobs = this.waiting.filter(({ attempt }) => this.pending.has(attempt));
    this.waiting = [];
    const { heldMs } = this;
    if (heldMs > 0) {
      this.putBack(
        jobs.map(({ attempt }) => attempt),
        heldMs,
      );
      return [];
    }
    if (jobs.length >= this.next) {
      this.next = Math.min(2 * this.next, MOST_PER_CALL);
    }
    const claim = { useful: jobs.length };
    return [...groupBy(jobs, ({ attempt }) => attempt.claim.options.group!)].map(([group, ofGroup]) => {
      const lots = [...groupBy(ofGroup, ({ attempt }) => String(this.costsOf(attempt)))].map(([, same]): Lot => ({
        token: this.options.clock.randomId(),
        costs: this.costsOf(same[0]!.attempt),
        jobs: same,
      }));
      return { group, lots, askedAtMs: -Infinity, claim };
    });
  }

  /** Returns the calls that lease for the next lot of a group. */
  lease(leases: GroupLeases): StoreCall<Lease>[] {
    const { calls, worker, clock } = this.options;
    const { token, costs, jobs } = leases.lots[0]!;
    leases.askedAtMs = clock.monotonic();
    return this.limits.map(({ limit }, i) =>
      calls.sharedLimits.lease({
        limit: storeOfKey(limit, leases.group),
        worker,
        token,
        count: jobs.length,
        lifeMs: this.permitCalls.lifeMs,
        declares: false,
        cost: costs[i]!,
        ofLimit: this.rules[i]?.values ?? this.permitCalls.valuesOf(limit),
      }),
    );
  }

  /**
   * Takes the outcomes of these calls. Starts the jobs that have a permit of each limit. The others of the group go back, in
   * their order, and their group rests. Returns who waits for permits that this queue has not taken.
   */
  take(leasing: GroupLeases, outcomes: readonly Settled<Lease>[]): GroupWaiters {
    const { group, askedAtMs, claim } = leasing;
    const [{ token, costs, jobs }, ...later] = leasing.lots as [Lot, ...Lot[]];
    const leases = outcomes.map((outcome) => (outcome.ok ? outcome.reply : NO_LEASE));
    const versions = leases.map(({ version }) => version);
    const granted = this.permitCalls.mayBeOver(askedAtMs) ? 0 : Math.min(...leases.map((lease) => lease.granted));
    const most = Math.max(...leases.map((lease) => lease.granted));
    const free = numbersTo(most).map((number): Held => ({ group, id: idOf(token, number), costs, versions }));
    const mayStart = free.splice(0, granted);
    const refused: Attempt[] = [];
    for (const { attempt, begin } of jobs) {
      const permit = this.pending.has(attempt) ? mayStart.shift() : undefined;
      if (permit) {
        this.pending.delete(attempt);
        this.held.set(attempt, permit);
        begin();
      } else {
        refused.push(attempt); // or it has ended, or went back
      }
    }
    leasing.lots = later.filter((lot) => lot.jobs.some((job) => this.pending.has(job.attempt)));
    if (granted < jobs.length) {
      leasing.lots = [];
      refused.push(...later.flatMap((lot) => lot.jobs.map(({ attempt }) => attempt)));
      const waits = leases.flatMap(({ why, waitMs }) => (why === '' ? [] : [waitMs ?? REST_MS]));
      this.putBack(refused, Math.max(1, ...waits));
      this.noteRefused(group, leases);
      claim.useful -= refused.length - (granted > 0 ? 0 : 1);
      this.next = Math.min(this.next, Math.max(1, claim.useful));
    }
    this.giveBack([...mayStart, ...free]);
    this.noteUsed(group);
    return { group, queues: [...new Set(leases.flatMap(({ toWake }) => toWake))] };
  }

  /** Puts the jobs of a group back whose leases have no reply yet. */
  tooLate({ lots }: GroupLeases): void {
    this.putBack(
      lots.flatMap(({ jobs }) => jobs.map(({ attempt }) => attempt)),
      LONGEST_LEASE_MS,
    );
  }

  /** The longest wait for the leases of a group, in ms. */
  get longestLeaseMs(): number {
    return LONGEST_LEASE_MS;
  }

  /** Drops a job that waits for its permits. Returns false if it does not. */
  drop(attempt: Attempt): boolean {
    return this.pending.delete(attempt);
  }

  /** True if an isolated job waits for its permits. */
  get hasIsolated(): boolean {
    return [...this.pending.keys()].some(({ claim }) => claim.isolated);
  }

  /** Returns the jobs that wait for their permits, which wait no longer. */
  dropAll(): Attempt[] {
    const attempts = [...this.pending.keys()];
    this.pending.clear();
    return attempts;
  }

  /** Notes that a job has ended here. @param isUnused true if its handler was never called */
  end(attempt: Attempt, isUnused: boolean): void {
    const held = this.held.get(attempt);
    if (held) {
      this.held.delete(attempt);
      this.returned.push(isUnused ? { ...held, refund: held.costs } : held);
      this.changed();
    }
  }

  /** Rests the key of a job, because its handler met the limit of the service. */
  rest(limit: string, group: string, ms: number): void {
    const call = this.options.calls.sharedLimits.rest({ limit: storeOfKey(limit, group), ms });
    this.rests.push({ call, group });
    this.changed();
  }

  /** True if permits or rests wait to be sent. */
  get hasToSend(): boolean {
    return this.returned.length > 0 || this.rests.length > 0;
  }

  /** Returns the calls that rest keys and give permits back. */
  takeCalls(): KeyCall[] {
    const { rests, returned } = this;
    [this.rests, this.returned] = [[], []];
    const gives = [...groupBy(returned, ({ group }) => group)].flatMap(([group, ofGroup]) =>
      this.permitCalls
        .giveBack(ofGroup, (limit) => storeOfKey(limit, group))
        .map((call): KeyCall => ({ call, group })),
    );
    return [...rests, ...gives];
  }

  /** Returns the calls that extend all permits which are held here. */
  extensions(): StoreCall<void>[] {
    return [...groupBy([...this.held.values()], ({ group }) => group)].flatMap(([group, ofGroup]) =>
      this.permitCalls.extend(
        ofGroup.map(({ id }) => id),
        (limit) => storeOfKey(limit, group),
      ),
    );
  }

  /** Puts those of the jobs back that still wait for their permits. */
  private putBack(attempts: readonly Attempt[], restMs: number): void {
    attempts.filter((attempt) => this.pending.delete(attempt)).forEach((attempt) => attempt.putBack(restMs));
  }

  /** Claims again once the leases of waiting jobs are slow. */
  private watch(): void {
    this.timer ??= this.options.clock.setTimeout(() => {
      this.timer = undefined;
      if (this.pending.size > 0) {
        this.watch();
        this.changed();
      }
    }, SLOW_LEASE_MS);
    this.timer.unref();
  }

  private giveBack(permits: readonly Held[]): void {
    if (permits.length > 0) {
      this.returned.push(...permits.map((permit) => ({ ...permit, refund: permit.costs })));
      this.changed();
    }
  }

  private noteUsed(group: string): void {
    const now = this.options.clock.monotonic();
    if (now - (this.notedAt.get(group) ?? -Infinity) >= NOTES_EVERY_MS) {
      if (this.notedAt.size >= MOST_NOTED) {
        this.notedAt.clear();
      }
      this.notedAt.set(group, now);
      this.toNote.add(group);
    }
  }

  /** Notes which limits gave too few permits of a key, for those who look at the limit. */
  private noteRefused(key: string, leases: readonly Lease[]): void {
    leases.forEach(({ why, waitMs: forMs = REST_MS }, i) => {
      if (CLOSED.includes(why) || FULL.includes(why)) {
        this.refused[i]!.delete(key); // so that the last ones stay
        this.refused[i]!.set(key, { key, isClosed: CLOSED.includes(why), forMs });
      }
      const [first] = this.refused[i]!.size > MOST_NOTED ? this.refused[i]!.keys() : [];
      if (first !== undefined) this.refused[i]!.delete(first);
    });
  }

  private warnOfNoGroup(id: string): void {
    if (!this.hasWarned) {
      this.hasWarned = true;
      const names = this.limits.map(({ limit }) => `"${limit}"`).join(', ');
      this.options.warn(
        `Job ${id} of queue "${this.options.queue}" has no group, so no key of the limit ${names} bounds it. ` +
          'Enqueue it with a group: enqueue(name, payload, { group }).',
      );
    }
  }

  private costsOf(attempt: Attempt): number[] {
    return costsOf(this.limits, attempt.claim.options.limitCosts);
  }
}
