import { sealFailure } from '../../queue/codec/sealed.js';
import type { Lease } from '../../queue/model/shared-limit.js';
import { endRests, wakeQueues } from '../../queue/operate/shared-limit.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import { groupBy } from '../../queue/runtime/collections.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { ClaimReply, Release, UnsealedFailure, CompleteReply } from '../../queue/store/attempt-forms.js';
import type { FailOutcome, ReleaseOutcome } from '../../queue/store/call-outcomes.js';
import type { Settled, StoreTransport } from '../../queue/store/queue-store.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import { nameOfSpelled } from '../../queue/validation/names.js';
import type { Attempt } from '../attempt/attempt.js';
import type { Settling } from '../attempt/settlement-buffer.js';
import { FaultLog } from '../reports/failure-log.js';
import type { ClaimInFlight, ClaimStream } from '../runner/claims.js';
import type { GroupLeases, GroupWaiters, KeyPermits } from '../runner/key-permits.js';
import type { Permits } from '../runner/permits.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import { SlotDeal, type ClaimRoom, type Share } from './process-capacity.js';

/** The most claims and settlements of each kind for one queue in a trip, so that no script runs long. */
const MOST_PER_CALL = 500;

/** The time a queue rests after a permanent error of a script, in ms. */
const REST_AFTER_FAULT_MS = 1_000;

/** The age of an unanswered claim, in ms, from which other queues may use its slots. */
const LATE_CLAIM_MS = 250;

/** The longest wait for what applies to all keys of a limit, in ms. Its master may be away. Then the known values apply. */
const LONGEST_NOTE_MS = 1_000;

/** A call with what to do with its outcome. */
interface PendingCall {
  call: StoreCall<unknown>;
  done: (outcome: Settled<unknown>) => void;
  /** Receives the outcome before the first of its jobs begins. */
  learn?: (outcome: Settled<unknown>) => void;
  /** Called if the reply is late. */
  late?: () => void;
}

type RoundTrip = 'claims' | 'settlements';

/** A round trip to Redis in which a worker claimed or settled jobs. */
export interface WorkerTrip {
  /** The kind of call. */
  operation: 'claim' | 'settle';
  /** The time until the reply, in ms. */
  durationMs: number;
}

/** Receives round trips. */
interface FetchObserver {
  /** Called when the replies of a trip have arrived. */
  answered(): void;
  /** Absent if nothing measures. */
  measure?: ((trip: WorkerTrip) => void) | undefined;
}

interface FetchLoopOptions {
  readonly worker: string;
  /** The runners, as they travel together. */
  readonly together: readonly (readonly QueueRunner[])[];
  /** Returns what the process may claim now. */
  readonly room: (now: number) => ClaimRoom;
  /** True if one runner gets all free slots at a time. A claim without a reply then gives its slots to the others. */
  readonly claimsFromOne: boolean;
  readonly transport: StoreTransport;
  readonly clock: Clock;
  readonly logger: JobQueueLogger;
}

/** Runners that share a connection, and which of their round trips are in flight. */
interface ConnectionGroup {
  runners: readonly QueueRunner[];
  inFlight: Record<RoundTrip, boolean>;
}

/**
 * Claims jobs for free slots and settles ended ones, for all runners of a worker, in few round trips. Two round trips
 * are in flight, one claiming and one settling, so that Redis and Node work in parallel. All jobs that end in one tick
 * share a round trip, without a timer. In a Cluster each runner has its own two, because its master may be away.
 */
export class FetchLoop {
  private readonly groups: readonly ConnectionGroup[];
  private readonly groupOf: ReadonlyMap<QueueRunner, ConnectionGroup>;
  private readonly runners: readonly QueueRunner[];
  private readonly slotDeal: SlotDeal;
  /** The runners with settlements to send. A process may have thousands of others. */
  private readonly toSettle = new Set<QueueRunner>();
  /** The number of groups whose leases are in flight. */
  private leasing = 0;
  private waitingForIdle: (() => void)[] = [];
  private readonly faults: FaultLog;

  constructor(
    private readonly options: FetchLoopOptions,
    private readonly observer: FetchObserver,
  ) {
    const { together, logger } = options;
    this.faults = new FaultLog(logger);
    this.groups = together
      .flatMap(splitByLimits)
      .map((runners) => ({ runners, inFlight: { claims: false, settlements: false } }));
    this.groupOf = new Map(this.groups.flatMap((group) => group.runners.map((runner) => [runner, group])));
    this.runners = together.flat();
    this.slotDeal = new SlotDeal(this.runners, MOST_PER_CALL, options.claimsFromOne);
  }

  /** Resolves when no trip is in flight and no settlement waits. */
  async idle(): Promise<void> {
    while (this.isInFlight || this.runners.some((runner) => !isSettled(runner))) {
      await new Promise<void>((resolve) => this.waitingForIdle.push(resolve));
    }
  }

  private get isInFlight(): boolean {
    return this.leasing > 0 || this.groups.some(({ inFlight }) => inFlight.claims || inFlight.settlements);
  }

  /**
   * Sends claims and settlements. Claims go first, because free slots wait for them. Releases go before the claims of their
   * queue, and freed slots of a limit before the claim that takes them.
   */
  flush(): void {
    if (
      [...this.toSettle].some(({ outlook, settlements }) => outlook.isLimited || settlements.releases.length > 0)
    ) {
      this.settle();
    }
    this.fetch();
    this.settle();
    if (this.waitingForIdle.length > 0 && !this.isInFlight) {
      this.waitingForIdle.splice(0).forEach((resolve) => resolve());
    }
  }

  /** Notes that a runner has settlements to send. */
  expectSettlements(runner: QueueRunner): void {
    this.toSettle.add(runner);
  }

  /** Notes that a claim of a runner may find something. */
  expectJobs(runner: QueueRunner): void {
    // A runner of a start that failed is of no loop.
    if (this.groupOf.has(runner)) {
      this.slotDeal.join(runner);
    }
  }

  /** Settles ended jobs of runners without a settlement in flight. */
  settle(): void {
    const ready = [...this.toSettle].filter((runner) => !this.groupOf.get(runner)!.inFlight.settlements);
    for (const [group, own] of groupBy(ready, (runner) => this.groupOf.get(runner)!)) {
      this.send(
        'settlements',
        group,
        own.flatMap((runner) => this.settlements(runner)),
      );
    }
  }

  private fetch(only?: ConnectionGroup): void {
    if (this.groups.every(({ inFlight }) => inFlight.claims)) {
      return;
    }
    const runners = this.slotDeal.inTurn().filter((runner) => {
      const group = this.groupOf.get(runner)!;
      return !group.inFlight.claims && (only === undefined || group === only) && runner.keys?.mayAsk !== false;
    });
    if (runners.length === 0) {
      return;
    }
    const now = this.options.clock.monotonic();
    runners.forEach(({ prefetcher }) => prefetcher.measure(now));
    const shares = this.slotDeal.deal(runners, this.options.room(now));
    for (const [group, own] of groupBy(shares, ({ runner }) => this.groupOf.get(runner)!)) {
      if (sharesLimits(own[0]!.runner)) {
        void this.leaseAndClaim(group, own, now);
        continue;
      }
      this.send(
        'claims',
        group,
        own.map((share) => this.claim(share, now, own.length)),
      );
    }
  }

  /**
   * Leases permits for the claims of queues that share limits, and then claims as many jobs. It is one more round trip.
   * Other queues do not wait for it.
   */
  private async leaseAndClaim(group: ConnectionGroup, shares: readonly Share[], askedAtMs: number): Promise<void> {
    const { worker, transport } = this.options;
    group.inFlight.claims = true;
    const leases = shares.map(({ runner, count: slots, atOnce }) => {
      const { permits, keys } = runner;
      const wanted = keys?.asksFor(slots) ?? slots;
      const count = permits?.asksFor(wanted) ?? wanted;
      const asked = { worker, stream: 'trip', count, atOnce: Math.min(atOnce, count), askedAtMs } as const;
      const claim = runner.claims.reserve(asked);
      runner.outlook.claims();
      return {
        runner,
        claim,
        notes: keys?.asksFirst ? keys.notes() : [],
        calls: permits?.lease(claim.token, count) ?? [],
      };
    });
    const calls = leases.flatMap((lease) => [...lease.notes, ...lease.calls]);
    const outcomes = calls.length > 0 ? await transport.carry(calls) : [];
    group.inFlight.claims = false;
    const claims: PendingCall[] = [];
    for (const { runner, claim, notes, calls: own } of leases) {
      const { permits, keys } = runner;
      if (notes.length > 0) keys!.learn(outcomes.splice(0, notes.length));
      const leased = permits?.take(claim.token, claim.count, outcomes.splice(0, own.length)) ?? WITHOUT_LEASE;
      this.wake(runner, leased.toWake);
      const heldMs = keys?.heldMs ?? 0;
      if (leased.granted > 0 && heldMs === 0 && !runner.state.isClosed) {
        if (notes.length === 0 && keys) this.noteKeys(keys);
        const granted = Math.min(claim.count, leased.granted);
        claims.push(this.claimWith(runner, runner.claims.shrink(claim, granted), leases.length));
      } else {
        permits?.claimEnded(claim.token);
        runner.learn(foundNothing(heldMs || leased.waitMs), claim);
        runner.abandon(claim);
        this.reportFault(runner, 'claim', leased.error ? { ok: false, error: leased.error } : FOUND_NOTHING);
      }
    }
    if (claims.length > 0) {
      this.send('claims', group, claims);
    } else {
      this.observer.answered();
    }
  }

  /** Notes used keys beside a claim, and reads what applies to all keys. In a Cluster the reply of the claim may come first. */
  private noteKeys(keys: KeyPermits): void {
    const calls = keys.notes();
    if (calls.length > 0) {
      const { transport, clock } = this.options;
      const learned = new Promise<void>((resolve) => {
        const late = clock.setTimeout(resolve, LONGEST_NOTE_MS);
        late.unref();
        const learn = async () => {
          keys.learn(await transport.carry(calls));
          clock.clear(late);
          resolve();
        };
        void learn();
      });
      keys.waitFor(learned);
    }
  }

  /** Leases permits for the claimed jobs of a runner, by what applies to all keys. Each group begins once its own leases are here. */
  private async leaseForKeys(runner: QueueRunner, keys: KeyPermits): Promise<void> {
    this.leasing++;
    await keys.noted;
    this.leasing--;
    keys.takeLeases().forEach((leases) => void this.leaseForGroup(runner, keys, leases));
    this.observer.answered();
  }

  private async leaseForGroup(runner: QueueRunner, keys: KeyPermits, leases: GroupLeases): Promise<void> {
    const { transport, clock } = this.options;
    this.leasing++;
    const late = clock.setTimeout(() => {
      keys.tooLate(leases);
      this.observer.answered();
    }, keys.longestLeaseMs);
    late.unref();
    while (leases.lots.length > 0) {
      const outcomes: Settled<Lease>[] = await transport.carry(keys.lease(leases));
      this.wakeGroup(runner, keys.take(leases, outcomes));
      runner.bulk?.beginDue();
      this.reportFault(runner, 'claim', outcomes.find(({ ok }) => !ok) ?? FOUND_NOTHING);
    }
    clock.clear(late);
    this.leasing--;
    this.observer.answered();
  }

  /** Ends the rest of a group in the queues that wait for a permit of it. If this fails, the rest ends by its time. */
  private wakeGroup(runner: QueueRunner, { group, queues }: GroupWaiters): void {
    if (queues.length > 0) {
      void endRests(runner.queue, group, queues);
    }
  }

  /** Wakes queues that wait for a limit. One of this worker that may claim now, also by the slots of the process, needs no call. */
  private wake(runner: QueueRunner, spelled: readonly string[]): void {
    const isProcessFull = spelled.length > 0 && this.options.room(this.options.clock.monotonic()).slots <= 0;
    const others = spelled.filter((each) => {
      const own = this.runners.find(({ name }) => name === nameOfSpelled(each));
      own?.outlook.wake();
      return isProcessFull || (own?.capacity.free ?? 0) <= 0;
    });
    if (others.length < spelled.length) {
      this.observer.answered();
    }
    if (others.length > 0) {
      void wakeQueues(runner.queue, others);
    }
  }

  /** Claims half of a limited runner's slots at a time. So Redis claims one half while Node runs the other. */
  private fetchForLimited(group: ConnectionGroup): void {
    if (this.slotDeal.inTurn().some((runner) => runner.outlook.isLimited && this.groupOf.get(runner) === group)) {
      this.fetch(group);
    }
  }

  private send(trip: RoundTrip, group: ConnectionGroup, pendingCalls: PendingCall[]): void {
    if (pendingCalls.length > 0) {
      void this.makeRoundTrip(trip, group, pendingCalls);
    }
  }

  private async makeRoundTrip(trip: RoundTrip, group: ConnectionGroup, pendingCalls: PendingCall[]): Promise<void> {
    const { inFlight } = group;
    inFlight[trip] = true;
    const { measure } = this.observer;
    const sentAt = measure ? this.options.clock.monotonic() : 0;
    const late = this.options.claimsFromOne && trip === 'claims' ? this.whenLate(pendingCalls) : undefined;
    const outcomes = await this.options.transport.carry(pendingCalls.map(({ call }) => call));
    if (late) this.options.clock.clear(late);
    inFlight[trip] = false;
    measure?.({
      operation: trip === 'claims' ? 'claim' : 'settle',
      durationMs: this.options.clock.monotonic() - sentAt,
    });
    if (trip === 'claims') {
      // Sends ended jobs before new ones begin, because a new job may crash the process or block the tick.
      this.settle();
      pendingCalls.forEach(({ learn }, i) => learn?.(outcomes[i]!));
      this.fetchForLimited(group);
    }
    pendingCalls.forEach(({ done }, i) => done(outcomes[i]!));
    this.observer.answered(); // only now do the runners know whether they are idle
  }

  /** Starts the time after which claims without a reply give their slots to other runners. Returns its timer. */
  private whenLate(claims: readonly PendingCall[]): Timer {
    const { clock } = this.options;
    const timer = clock.setTimeout(() => claims.forEach(({ late }) => late?.()), LATE_CLAIM_MS);
    timer.unref();
    return timer;
  }

  private settlements(runner: QueueRunner): PendingCall[] {
    const { completions, failures, releases } = runner.settlements.take(MOST_PER_CALL);
    if (!runner.settlements.hasUnsent) {
      this.toSettle.delete(runner);
    }
    runner.outlook.settles(completions.length + failures.length + releases.length);
    return [
      ...(runner.permits ? this.permitCalls(runner, runner.permits) : []),
      ...(runner.keys ? this.keyCalls(runner, runner.keys) : []),
      ...(failures.length > 0 ? [this.fail(runner, failures)] : []),
      ...(releases.length > 0 ? [this.release(runner, releases)] : []),
      ...(completions.length > 0 ? [this.complete(runner, completions)] : []),
    ];
  }

  /** Returns the calls that give permits back, and rest limits. */
  private permitCalls(runner: QueueRunner, permits: Permits): PendingCall[] {
    return permits.takeCalls().map((call) =>
      pendingCall(call, (outcome) => {
        this.reportFault(runner, 'settle', outcome);
        this.wake(runner, (outcome.ok && outcome.reply) || []);
      }),
    );
  }

  /** Returns the calls that give permits of keys back, and rest keys. */
  private keyCalls(runner: QueueRunner, keys: KeyPermits): PendingCall[] {
    return keys.takeCalls().map(({ call, group }) =>
      pendingCall(call, (outcome) => {
        this.reportFault(runner, 'settle', outcome);
        this.wakeGroup(runner, { group, queues: (outcome.ok && outcome.reply) || [] });
      }),
    );
  }

  private complete(runner: QueueRunner, completions: Attempt[]): PendingCall {
    const confirm = (reply: CompleteReply) => runner.settlements.confirmCompletions(completions, reply);
    const call = runner.calls.complete(completions, runner.outlook.isLimited);
    return this.settlement(runner, completions.length, call, confirm);
  }

  private fail(runner: QueueRunner, failures: Settling<UnsealedFailure>[]): PendingCall {
    const call = runner.calls.fail(
      failures.map(({ settlement }) => sealFailure(runner.content.codec, runner.name, settlement)),
    );
    const confirm = (outcomes: FailOutcome[]) => runner.settlements.confirmFailures(failures, outcomes);
    return this.settlement(runner, failures.length, call, confirm);
  }

  private release(runner: QueueRunner, releases: Settling<Release>[]): PendingCall {
    const call = runner.calls.release(releases.map(({ settlement }) => settlement));
    const confirm = (outcomes: ReleaseOutcome[]) => runner.settlements.confirmReleases(releases, outcomes);
    return this.settlement(runner, releases.length, call, confirm);
  }

  private settlement<Reply>(
    runner: QueueRunner,
    count: number,
    call: StoreCall<Reply>,
    confirm: (reply: Reply) => void,
  ): PendingCall {
    return pendingCall(call, (outcome) => {
      runner.settlements.arrived(count);
      if (outcome.ok) {
        confirm(outcome.reply);
      }
      this.reportFault(runner, 'settle', outcome);
    });
  }

  private claim({ runner, count, atOnce }: Share, askedAtMs: number, sharers: number): PendingCall {
    const { worker } = this.options;
    const asked = { worker, stream: 'trip', count, atOnce, askedAtMs } as const;
    const claim = runner.claims.reserve(asked);
    runner.outlook.claims();
    return this.claimWith(runner, claim, sharers);
  }

  private claimWith(runner: QueueRunner, claim: ClaimInFlight, sharers: number): PendingCall {
    const { call, learn, conclude } = claimReserved(runner, claim, sharers);
    const done = (outcome: Settled<ClaimReply>) => {
      conclude(outcome);
      if (runner.keys) void this.leaseForKeys(runner, runner.keys);
      this.reportFault(runner, 'claim', outcome);
    };
    const late = () => {
      runner.claims.lend(claim);
      runner.host.changed();
    };
    return {
      call,
      done: (outcome) => done(outcome as Settled<ClaimReply>),
      learn: (outcome) => learn(outcome as Settled<ClaimReply>),
      late,
    };
  }

  /** Reports a permanent error, which is a fault of the data or the setup, and rests the queue. */
  private reportFault(runner: QueueRunner, kind: WorkerTrip['operation'], outcome: Settled<unknown>): void {
    const step = `${kind} ${runner.name}`;
    if (outcome.ok) {
      return this.faults.succeeded(step);
    }
    const rests = `Queue "${runner.name}" rests for ${REST_AFTER_FAULT_MS} ms after an error`;
    this.faults.failed(step, rests, outcome.error, 'error');
    runner.rest(REST_AFTER_FAULT_MS);
  }
}

/** The outcome of the leases of a queue all of whose limits have a key. */
const WITHOUT_LEASE = { granted: Infinity, waitMs: undefined, toWake: [], error: undefined };

/** The outcome of a lease without a permit, for the log of faults. */
const FOUND_NOTHING: Settled<undefined> = { ok: true, reply: undefined };

/** Returns a claim's reply in place of one that was not sent, because no permit could be leased. */
function foundNothing(nextDueInMs: number | undefined): ClaimReply {
  const isNothing = { isFull: false, isUnannounced: false, isLimited: false, awaitsSlots: false };
  return { jobs: [], refused: [], nextDueInMs, ...isNothing };
}

/** Separates the runners that share limits, whose claims take one round trip more. */
function splitByLimits(runners: readonly QueueRunner[]): (readonly QueueRunner[])[] {
  const sharing = runners.filter(sharesLimits);
  return sharing.length === 0
    ? [runners]
    : [runners.filter((runner) => !sharesLimits(runner)), sharing].filter((each) => each.length > 0);
}

function isSettled({ settlements, permits, keys }: QueueRunner): boolean {
  return settlements.isEmpty && permits?.hasToSend !== true && keys?.hasToSend !== true;
}

function sharesLimits({ permits, keys }: QueueRunner): boolean {
  return permits !== undefined || keys !== undefined;
}

function pendingCall<Reply>(call: StoreCall<Reply>, done: (outcome: Settled<Reply>) => void): PendingCall {
  return { call, done: (outcome) => done(outcome as Settled<Reply>) };
}

interface RunnerClaim {
  readonly call: StoreCall<ClaimReply>;
  /** Receives the reply before `conclude` starts its jobs. */
  learn(outcome: Settled<ClaimReply>): void;
  /** Receives the reply, or the final error. */
  conclude(outcome: Settled<ClaimReply>): void;
}

interface RunnerClaimRequest {
  worker: string;
  stream: ClaimStream;
  /** The number of slots to reserve. */
  count: number;
  /** How many of the jobs start at once. */
  atOnce: number;
  /** The time of the call, by the monotonic clock, in ms. Claims of one trip have the same. */
  askedAtMs: number;
  /** The number of claims that share the bytes of the connection. */
  sharers: number;
}

/** Reserves slots of a runner and builds the claim for them, which asks for less after a cut. */
export function claimFor(runner: QueueRunner, { sharers, ...asked }: RunnerClaimRequest): RunnerClaim {
  const claim = runner.claims.reserve(asked);
  runner.outlook.claims();
  return claimReserved(runner, claim, sharers);
}

/** Builds the claim for slots that are reserved. @param sharers the number of claims that share the bytes of the connection */
function claimReserved(runner: QueueRunner, claim: ClaimInFlight, sharers: number): RunnerClaim {
  const { calls, limits, prefetcher } = runner;
  const { budget } = runner.claims;
  const { only } = runner.names;
  const { token, worker, stream, count, askedAtMs } = claim;
  const slots = runner.keys ? 0 : claim.atOnce; // with a key each job starts once it has its permit
  const { maxAttempts } = limits.others;
  const turnsInRow = runner.bulk?.sizeByGroup ?? 1;
  const waits = runner.keys || runner.capacity.heaviest > 1 ? count - slots : 0; // for their permits, or for more slots
  const units = runner.permits?.unitsOf(token);
  const build = (bytes: number): StoreCall<ClaimReply> => {
    // With two fields behind a spread V8 makes a hidden class for each object, and caches no read of it.
    const call = calls.claim({
      count,
      token,
      worker,
      stream,
      maxAttempts,
      attemptLimits: limits.own,
      slots,
      only,
      turnsInRow,
      waits,
      units,
      announces: true,
      mostBytes: Math.floor(bytes / sharers),
    });
    call.afterCut = () => build(budget.afterCut(bytes));
    return call;
  };
  const learn = (outcome: Settled<ClaimReply>) => {
    if (outcome.ok) {
      const { reply } = outcome;
      if (runner.permits?.hasPaid(token, reply)) delete reply.short;
      runner.permits?.learn(reply);
      runner.learn(reply, claim);
    }
  };
  const conclude = (outcome: Settled<ClaimReply>) => {
    if (!outcome.ok) {
      return runner.abandon(claim);
    }
    if (outcome.reply.isUnannounced) {
      runner.abandon(claim);
      return runner.host.announce(runner);
    }
    if (stream === 'trip') {
      const tookMs = runner.clock.monotonic() - askedAtMs;
      budget.answered(tookMs, outcome.reply.isFull);
      prefetcher.tripEnded(tookMs);
    } else {
      runner.learn(outcome.reply, claim);
    }
    runner.take(outcome.reply, claim);
  };
  return { call: build(budget.bytes), learn, conclude };
}

/**
 * Measures the time since Redis last answered a fetch of a worker. It stops while all slots are busy, so that a long
 * job does not look like a hanging worker.
 */
export class FetchLiveness {
  private lastReply: number | undefined;
  private full = false;
  /** The ends of the long waits for jobs that are open, by the monotonic clock. */
  private readonly waits = new Set<{ readonly untilMs: number }>();

  constructor(private readonly now: () => number) {}

  answered(): void {
    this.lastReply = this.now();
  }

  /** Notes a long wait for jobs, which counts as a fetch until its time is over. Returns a function to call at its end. */
  waitsFor(ms: number): () => void {
    const wait = { untilMs: this.now() + ms };
    this.waits.add(wait);
    return () => this.waits.delete(wait);
  }

  /** Notes whether all slots are busy. Must be called whenever a slot was filled or freed. */
  noteSlots(full: boolean): void {
    if (this.full && !full) {
      this.answered(); // it can be asked for again only from now on
    }
    this.full = full;
  }

  /** The time in ms; 0 while all slots are busy, undefined before the first reply. */
  get sinceMs(): number | undefined {
    if (this.full) {
      return 0;
    }
    if (this.lastReply === undefined) {
      return undefined;
    }
    const now = this.now();
    const waited = [...this.waits].map(({ untilMs }) => Math.min(untilMs, now));
    return Math.round(now - Math.max(this.lastReply, ...waited));
  }
}
