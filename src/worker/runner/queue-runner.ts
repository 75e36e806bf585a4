import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { type ClaimedJob, readyAtMsOf } from '../../queue/model/job.js';
import { ownLimit, type PermitNeed, permitsNeeded } from '../../queue/model/shared-limit.js';
import { deliverEnds, maintainBatches } from '../../queue/operate/maintain-batches.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import { LAST_BUCKET, bucketOf } from '../../queue/runtime/histogram.js';
import type { ClaimReply } from '../../queue/store/attempt-forms.js';
import type { CallLimit } from '../../queue/store/queue-store.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { handledAs } from '../../queue/validation/names.js';
import type { AskedProfile } from '../attempt/asked-profile.js';
import { AttemptList, type AttemptOwner, Attempt } from '../attempt/attempt.js';
import { Outages, QueueReporter } from '../attempt/queue-reporter.js';
import { reportLost, reportStuck, type AttemptStarter, mayBeLost, startAttempt } from '../attempt/start-attempt.js';
import { SettlementBuffer } from '../attempt/settlement-buffer.js';
import { ShutdownError } from '../attempt/worker-errors.js';
import type { BulkOwner } from '../handlers/bulk-calls.js';
import { BulkGatherers, type ResolvedHandler } from '../handlers/bulk-gatherers.js';
import { type HandlerLimits, handlerLimits, withRetries } from '../handlers/handler.js';
import type { WorkerEvent } from '../handlers/attempt-middleware.js';
import { DrainedWatch } from '../reports/drained-watch.js';
import type { FailureLog } from '../reports/failure-log.js';
import { type ClaimBudget, type ClaimInFlight, ClaimLedger, ClaimOutlook, NameFilter } from './claims.js';
import { KeyPermits } from './key-permits.js';
import { type ConfiguredLimits, type PermitsOptions, Permits } from './permits.js';
import { BeginTurn, type PrefetchOwner, Prefetcher, type SharedTurns } from './prefetcher.js';
import { newRunnerState, RunnerSlots, type RunnerState, weightsOf } from './runner-slots.js';

/** The queue of a runner, and how it is served. */
interface RunnerOptions {
  readonly queue: JobQueue;
  readonly calls: StoreCalls;
  readonly handlers: ReadonlyMap<string, ResolvedHandler>;
  readonly concurrency: number;
  /** Undefined: by the measured pace. */
  readonly prefetch: number | undefined;
  /** The payload bytes that a claim may bring. Runners of one connection share it. */
  readonly budget: ClaimBudget;
  /** The id of the worker, which holds permits, and the limits of the app that queues share. Absent for none. */
  readonly sharing?: { readonly worker: string; readonly configured: ConfiguredLimits };
}

/** The time without claim or wait, in ms, after which a runner gets a turn although all slots are used. */
const LONGEST_UNPOLLED_MS = 1_000;

/**
 * One queue in one worker: its slots, its running and prefetched attempts, and its settlements that wait to be sent.
 * The fetch loop and the idle wait send its calls. Only the runner changes its state and its ledger of claims.
 */
export class QueueRunner implements AttemptOwner<Attempt>, AttemptStarter, PrefetchOwner, BulkOwner {
  readonly queue: JobQueue;
  readonly calls: StoreCalls;
  readonly clock: Clock;
  readonly limits: HandlerLimits;
  /** The claimed attempts that have not ended. The heartbeat extends their claims. */
  readonly attempts = new AttemptList<Attempt>();
  /** The claims in flight. */
  readonly claims: ClaimLedger;
  readonly outlook = new ClaimOutlook(
    () => this.clock.monotonic(),
    () => this.host.expectsJobs(this),
    (foundJobs) => this.host.afterWake(this, foundJobs),
  );
  /** The attempts that wait for a slot, prefetched or answered late. They begin in order. */
  readonly prefetcher: Prefetcher;
  /** The number of jobs that the runner may claim and start. */
  readonly capacity: RunnerSlots;
  /** The settlements that wait for their trip, and how many are in flight. */
  readonly settlements = new SettlementBuffer(this);
  /** The wait and run times of jobs, for the history; undefined if none is kept. */
  readonly durations: DurationCounts | undefined;
  readonly outages: Outages;
  /** Writes progress, logs and checkpoints of running handlers. */
  readonly reports: QueueReporter;
  /** The calls of bulk handlers; undefined if there are none. */
  readonly bulk: BulkGatherers | undefined;
  readonly names: NameFilter;
  readonly batchReporter: BatchReporter;
  /** Undefined for a queue without limits that it shares. */
  readonly permits: Permits | undefined;
  /** The permits of limits with a key; undefined without such a limit. */
  readonly keys: KeyPermits | undefined;
  private profileToTake: AskedProfile | undefined;
  private readonly now = newRunnerState();
  private claimedAt = -Infinity;
  private readonly handlers: ReadonlyMap<string, ResolvedHandler>;
  private readonly drained: DrainedWatch | undefined;
  readonly turn = new BeginTurn(this);
  private readonly recount = () => this.host.shared?.count(this);

  constructor(
    { queue, calls, handlers, concurrency, prefetch, budget, sharing }: RunnerOptions,
    readonly host: QueueRunnerHost<QueueRunner>,
  ) {
    this.queue = queue;
    this.calls = calls;
    this.handlers = handlers;
    this.clock = queue.store.clock;
    this.claims = new ClaimLedger(this.clock, budget, this.recount);
    this.durations = queue.options.history ? new DurationCounts() : undefined;
    const weights = weightsOf(handlers);
    this.capacity = new RunnerSlots(this, concurrency, weights);
    this.bulk = BulkGatherers.of(handlers, () => this.capacity.concurrency, this);
    const needs = permitsNeeded(queue);
    const ofKeys = needs.filter(({ key }) => key !== undefined);
    // With a key jobs wait there for a moment, each with a slot and a permit.
    const never = this.bulk || weights.heaviest > 1 || ofKeys.length > 0;
    this.prefetcher = new Prefetcher(concurrency, never ? 0 : prefetch, this);
    this.outages = new Outages(queue.name, this.clock, host.warn);
    this.reports = new QueueReporter(queue, calls, this.outages, (job) =>
      [...this.attempts].find(({ claim }) => claim.token === job.token && claim.id === job.id)?.lose(),
    );
    this.limits = handlerLimits(handlers, queue.options);
    this.names = new NameFilter(this.limits.all, () => this.clock.monotonic());
    this.batchReporter = new BatchReporter(queue);
    this.drained = DrainedWatch.of(queue, host.warn);
    this.permits =
      sharing &&
      this.permitsOf(
        Permits,
        sharing,
        needs.filter(({ key }) => key === undefined),
      );
    this.keys = sharing && this.permitsOf(KeyPermits, sharing, ofKeys);
  }

  /** A request for a profile, until an attempt here tries to take it. */
  get askedProfile(): AskedProfile | undefined {
    return this.profileToTake;
  }

  askForProfile(asked: AskedProfile | undefined): void {
    this.profileToTake = asked;
  }

  /** Returns the permits of a queue that shares limits, or has several rates. Then no job is claimed ahead, because it would hold some. */
  private permitsOf<Kind>(
    Kind: new (options: PermitsOptions & { clock: Clock }, changed: () => void) => Kind,
    sharing: NonNullable<RunnerOptions['sharing']>,
    limits: readonly PermitNeed[],
  ): Kind | undefined {
    const { visibilityMs } = this.queue.options;
    const configured = { ...sharing.configured, ...ownLimit(this.queue) };
    if (limits.length === 0) {
      return undefined;
    }
    this.outlook.needsPermits();
    const { name: queue, calls, clock } = this;
    const { warn } = this.host;
    return new Kind({ ...sharing, configured, queue, limits, calls, visibilityMs, clock, warn }, () => {
      this.host.holdsSettlements(this);
      this.host.changed();
    });
  }

  get name(): string {
    return this.queue.name;
  }

  get state(): Readonly<RunnerState> {
    return this.now;
  }

  get content() {
    return this.queue.options;
  }

  /** Returns true if this queue was neither polled nor blocked on for a second. */
  get isOverdueForPoll(): boolean {
    return !this.now.isBlockedOn && this.clock.monotonic() - this.claimedAt > LONGEST_UNPOLLED_MS;
  }

  /** Learns from the reply of a claim, before any job of its trip begins. */
  learn(reply: ClaimReply, { count }: ClaimInFlight): void {
    this.outlook.learn(reply, count);
    if (!this.now.hasBegun && reply.jobs.some(({ isolated }) => isolated)) {
      this.host.expectIsolated();
    }
  }

  /** Takes the jobs of a claim. */
  take(reply: ClaimReply, claim: ClaimInFlight): void {
    this.claims.end(claim);
    const found = reply.jobs.length + reply.refused.length;
    const pauseMs = reply.left && this.names.looked(reply.left, found);
    if (!this.outlook.mayHaveJobs && pauseMs !== undefined) {
      this.rest(pauseMs);
    }
    reply.refused.forEach((refused) => this.settlements.refuse(refused));
    this.claimedAt = this.clock.monotonic();
    const isSure = !mayBeLost(this.queue, this.claimedAt - claim.askedAtMs);
    reply.jobs.forEach((job) => this.run(job, claim.askedAtMs, isSure));
    this.permits?.claimEnded(claim.token, reply.short ? 0 : reply.nextDueInMs);
    this.bulk?.beginDue();
    this.releaseIfClosed();
    this.drained?.claimed(found + this.attempts.size);
  }

  /** Frees the slots of a failed claim. */
  abandon(claim: ClaimInFlight): void {
    this.claims.end(claim);
    this.permits?.claimEnded(claim.token);
    this.releaseIfClosed();
  }

  /** Notes that the idle wait listens for this runner from now on. */
  waitBegins(): void {
    this.now.isBlockedOn = true;
  }

  waitEnds(): void {
    this.now.isBlockedOn = false;
  }

  /** Claims again, because Redis has the announcement of this queue. */
  announced(): void {
    this.outlook.expectJobs();
    this.host.changed();
  }

  /** Sets the concurrency. Jobs beyond a lower one continue. */
  setConcurrency(concurrency: number): void {
    this.capacity.setConcurrency(concurrency);
    this.prefetcher.setConcurrency(concurrency);
    this.outlook.expectJobs();
    this.turn.ask();
  }

  open(): void {
    this.now.isClosed = false;
    this.outlook.expectJobs();
    this.turn.ask();
  }

  /** Stops claiming and releases prefetched jobs; running jobs continue. */
  close(): void {
    this.now.isClosed = true;
    this.releaseIfClosed();
  }

  /** Releases together with the jobs of claims in flight. A later release would put them before the released jobs. */
  private releaseIfClosed(): void {
    if (this.now.isClosed && this.claims.inFlight === 0) {
      this.prefetcher.releaseWaiting();
      this.keys?.dropAll().forEach((attempt) => this.release(attempt));
      this.bulk?.releaseWaiting();
      this.host.releaseIsolated(this);
    }
  }

  /** Releases a job that has not started. */
  release(attempt: Attempt): void {
    attempt.interrupt(new ShutdownError());
    attempt.leave();
  }

  /** Claims nothing for a while. */
  rest(ms: number): void {
    this.now.isResting = true;
    const end = () => {
      this.now.isResting = false;
      this.outlook.expectJobs();
      this.host.changed();
    };
    this.clock.setTimeout(end, ms).unref();
  }

  /** Wakes another worker of the queue in place of this one. An error does no harm, because a look finds the job. */
  async passWake(worker: string, limit: CallLimit): Promise<void> {
    const { store } = this.queue;
    try {
      await store.exec(this.calls.workers.passWake({ worker }), limit);
    } catch (error) {
      const what = `Could not wake another worker of queue "${this.name}"; a look finds its job`;
      SafeLogger.of(store.logger).debug(what, error);
    }
  }

  private run(job: ClaimedJob, askedAtMs: number, isSure: boolean): void {
    const name = handledAs(this.handlers, job.name);
    if (name === undefined) {
      this.settlements.releaseUnknown(job, this.names.met(job.name));
      return this.host.changed();
    }
    const handler = this.handlers.get(name)!;
    const gatherer = handler.bulk && this.bulk?.of(name);
    const called = gatherer ? { ...handler, handle: gatherer.handle } : handler;
    const attempt = this.attempts.add(new Attempt(withRetries(job, handler), called, this));
    this.capacity.jobClaimed(attempt.slots);
    const hasPermit = this.permits?.begin(job) ?? true;
    this.recount();
    if (!hasPermit) {
      this.release(attempt);
    } else if (!this.keys || !this.awaitKey(this.keys, attempt, gatherer, askedAtMs)) {
      this.place(attempt, gatherer, askedAtMs, isSure);
    }
  }

  /** Lets a job wait for the permits of its key. Returns false for one that needs none. */
  private awaitKey(
    keys: KeyPermits,
    attempt: Attempt,
    gatherer: ReturnType<BulkGatherers['of']>,
    askedAtMs: number,
  ): boolean {
    return keys.add(attempt, () => {
      const isSure = !mayBeLost(this.queue, this.clock.monotonic() - askedAtMs);
      this.place(attempt, gatherer, askedAtMs, isSure);
    });
  }

  /** Begins a job that has its permits, or lets it wait for a slot. @param isSure whether its claim is certainly current */
  private place(
    attempt: Attempt,
    gatherer: ReturnType<BulkGatherers['of']>,
    askedAtMs: number,
    isSure: boolean,
  ): void {
    const job = attempt.claim;
    if (this.keys && this.now.isClosed) {
      this.release(attempt);
    } else if (job.isolated) {
      this.host.isolate(this, attempt, askedAtMs);
    } else if (!this.now.hasBegun && this.host.sendsBack()) {
      this.release(attempt);
    } else if (gatherer) {
      gatherer.add(attempt, askedAtMs, isSure && !job.prefetched);
    } else if (isSure && this.capacity.hasSlotsFor(attempt.slots) && this.prefetcher.isEmpty && !job.prefetched) {
      this.begin(attempt);
    } else {
      this.prefetcher.add(attempt, askedAtMs);
      this.turn.ask();
    }
  }

  /** Called when a bulk call begins. An earlier wait still claims for the slot that this call takes. */
  callBegins(): void {
    if (this.capacity.isOverdrawn) {
      this.host.interruptWait();
    }
  }

  callEnds(): void {
    this.expectJobsIf(this.capacity.isFull);
  }

  callEnded(): void {
    this.turn.ask();
    this.host.changed();
  }

  /**
   * Starts the handler, unless a stop, a cancel or a lost claim came first, or the job has expired.
   * @param waitedMs the age of its claim; undefined if it starts at once, as the claim decided
   */
  begin(attempt: Attempt, waitedMs?: number): void {
    if (this.givesSlot(attempt)) {
      startAttempt(this, { attempt, waitedMs });
    }
  }

  /** Gives an attempt a slot. Returns false if it has ended before its start. */
  givesSlot(attempt: Attempt): boolean {
    if (attempt.isEnded) {
      attempt.leave();
      return false;
    }
    attempt.takeSlot();
    this.now.hasBegun = true;
    this.now.running++;
    this.capacity.jobBegins(attempt.slots);
    this.recount();
    return true;
  }

  /** Drops a job that waits for its slots or permits, so that later ones need not wait for them. */
  endedInLine(attempt: Attempt): void {
    if (this.prefetcher.drop(attempt) || this.keys?.drop(attempt)) {
      attempt.leave();
    }
  }

  handlerEnded(attempt: Attempt, hadSlot: boolean): void {
    const wasFull = !this.outlook.mayHaveJobs && this.capacity.freeForWait === 0; // who expects jobs claims anyway
    if (this.attempts.delete(attempt)) this.capacity.jobLeft(attempt.slots, hadSlot);
    this.permits?.end(attempt.claim, !attempt.isCalled);
    this.keys?.end(attempt, !attempt.isCalled);
    this.bulk?.left(attempt);
    if (attempt.job.usedStream) this.reports.forget(attempt.claim);
    this.now.running -= hadSlot ? 1 : 0;
    this.recount();
    if (hadSlot) {
      const now = this.clock.monotonic();
      this.durations?.add(attempt, now);
      this.drained?.jobEnded();
      this.prefetcher.jobEnded(now - (attempt.startedAtMs ?? now));
    }
    this.turn.ask();
    this.expectJobsIf(wasFull || this.permits?.wereTooFew === true);
    this.host.changed();
  }

  /** Claims again if the runner was full. A runner with a spare slot is waited for, or claims anyway. */
  private expectJobsIf(wasFull: boolean): void {
    if (wasFull && !this.now.isBlockedOn) {
      this.outlook.expectJobs();
    }
  }

  restLimit(limit: string, ms: number, group: string | undefined): void {
    if (group !== undefined && this.keys?.has(limit)) {
      this.keys.rest(limit, group, ms);
    } else {
      this.permits!.rest(limit, ms);
    }
  }

  readonly reportLost = (attempt: Attempt): void => reportLost(this, attempt);
  readonly reportStuck = (attempt: Attempt): void => reportStuck(this, attempt);
}

/** The time ends of jobs are gathered before one call handles them, in ms. */
const ENDS_GATHERED_MS = 20;

/**
 * Handles ends of batch members soon after they occur here. Delivers them to batches in other queues, and cancels the
 * other members of a stopped batch. If it fails, the maintenance of the queue does it and logs the error.
 */
class BatchReporter {
  private timer: Timer | undefined;
  private stopsSome = false;

  constructor(private readonly queue: JobQueue) {}

  /** Called when a member may have put an end or a follow-up into the outbox, or stops its batch. */
  notify(stopsBatch = false): void {
    this.stopsSome ||= stopsBatch;
    if (this.timer) {
      return;
    }
    const { clock } = this.queue.store;
    this.timer = clock.setTimeout(() => {
      this.timer = undefined;
      const follow = this.stopsSome ? maintainBatches : deliverEnds;
      this.stopsSome = false;
      void follow(this.queue).catch(() => undefined);
    }, ENDS_GATHERED_MS);
    this.timer.unref();
  }
}

/**
 * Counts in buckets how long the jobs of a queue waited and ran in this process. The history takes the counts. Each job
 * passes here, so a count is a number in an array.
 */
class DurationCounts {
  private readonly waits = new Uint32Array(LAST_BUCKET + 1);
  private readonly runs = new Uint32Array(LAST_BUCKET + 1);
  private isEmpty = true;

  /** Adds an attempt whose handler has ended. The wait is that of a job's first attempt, from when it could be claimed. */
  add({ claim, startedAtMs }: Pick<Attempt, 'claim' | 'startedAtMs'>, nowMs: number): void {
    if (startedAtMs === undefined) {
      return; // its handler was never called
    }
    this.isEmpty = false;
    this.runs[bucketOf(nowMs - startedAtMs)]!++;
    const readyAtMs = readyAtMsOf(claim);
    if (claim.attempt === 1 && readyAtMs > 0) {
      this.waits[bucketOf(claim.claimedAtMs - readyAtMs)]!++;
    }
  }

  /** Returns the counts since the last call, as pairs of field and count; empty if there are none. */
  take(): (string | number)[] {
    if (this.isEmpty) {
      return []; // of thousands of idle queues, reading all buckets would cost most of all
    }
    this.isEmpty = true;
    return [...takenFrom('r', this.runs), ...takenFrom('w', this.waits)];
  }
}

/** Returns the counts of one kind, and sets them to zero. */
function takenFrom(kind: 'w' | 'r', counts: Uint32Array): (string | number)[] {
  const pairs = [...counts].flatMap((count, bucket) => (count > 0 ? [`${kind}${bucket}`, count] : []));
  counts.fill(0);
  return pairs;
}

/** The worker of a runner: receives its reports, and coordinates it with the other runners. */
export interface QueueRunnerHost<Runner = unknown> {
  readonly failures: FailureLog;
  /** Announces a queue whose limits the store does not know. Nothing is claimed until then. */
  announce(runner: Runner): void;
  /** Undefined without a limit of the process. */
  readonly shared?: SharedTurns | undefined;
  /** Called when a claim of the runner may find something. */
  expectsJobs(runner: Runner): void;
  /** Called after the claim that follows a wake. The wake may be of a schedule that another process made. */
  afterWake(runner: Runner, foundJobs: boolean): void;
  /** Called when there is something to send or to fetch. */
  changed(): void;
  /** Absent without a listener, so that no event is created. */
  emit: ((event: WorkerEvent) => void) | undefined;
  /** Called with each settlement that a runner has to send. */
  holdsSettlements(runner: Runner): void;
  /** Sends ended jobs before a waiting job begins, because that job may crash the process. */
  settle(): void;
  /** Starts an isolated job when nothing else runs in the worker. Its claim was requested at `askedAtMs`. */
  isolate(runner: Runner, attempt: Attempt, askedAtMs: number): void;
  /** Called with a claim that has an isolated job, before any job of the claims of its trip begins. */
  expectIsolated(): void;
  /** Returns whether other jobs of the claims of an isolated job go back. */
  sendsBack(): boolean;
  /** Releases the isolated jobs of a closed runner that have not started. */
  releaseIsolated(runner: Runner): void;
  /** Ends the wait in flight, which asks for more jobs than there is room for. */
  interruptWait(): void;
  readonly warn: (message: string) => void;
}
