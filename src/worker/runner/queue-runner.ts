import type { JobQueue } from '../../queue/job-queue.js';
import { type ClaimedJob, readyAtMsOf } from '../../queue/model/job.js';
import { deliverEnds, maintainBatches } from '../../queue/operate/maintain-batches.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import { LAST_BUCKET, bucketOf } from '../../queue/runtime/histogram.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { ClaimReply } from '../../queue/store/attempt-forms.js';
import { handledAs } from '../../queue/validation/names.js';
import type { AskedProfile } from '../attempt/asked-profile.js';
import { AttemptList } from '../attempt/attempt-list.js';
import type { AttemptOwner } from '../attempt/attempt-owner.js';
import { Attempt } from '../attempt/attempt.js';
import { Outages } from '../attempt/outages.js';
import { QueueReporter } from '../attempt/queue-reporter.js';
import { reportLost, reportStuck } from '../attempt/report-trouble.js';
import { SettlementBuffer } from '../attempt/settlement-buffer.js';
import { type AttemptStarter, mayBeLost, startAttempt } from '../attempt/start-attempt.js';
import { ShutdownError } from '../attempt/worker-errors.js';
import type { BulkOwner } from '../bulk/bulk-gatherer.js';
import { BulkGatherers } from '../bulk/bulk-gatherers.js';
import type { ResolvedHandler } from '../bulk/resolve-bulk.js';
import { type HandlerLimits, handlerLimits, withRetries } from '../handlers/handler.js';
import { DrainedWatch } from '../reports/drained-watch.js';
import { BeginTurn } from './begin-turn.js';
import { type ClaimInFlight, ClaimLedger } from './claim-ledger.js';
import { ClaimOutlook } from './claim-outlook.js';
import { NameFilter } from './name-filter.js';
import { ownLimit, type PermitNeed, permitsNeeded } from '../../queue/model/shared-limit.js';
import { KeyPermits } from './key-permits.js';
import type { PermitsOptions } from './permit-calls.js';
import { Permits } from './permits.js';
import { type PrefetchOwner, Prefetcher } from './prefetcher.js';
import type { QueueRunnerHost } from './queue-runner-host.js';
import { RunnerSlots, weightsOf } from './runner-slots.js';
import { type RunnerOptions, type RunnerState, newRunnerState } from './runner-state.js';

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
const GATHER_MS = 20;

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
    }, GATHER_MS);
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
    return [...taken('r', this.runs), ...taken('w', this.waits)];
  }
}

/** Returns the counts of one kind, and sets them to zero. */
function taken(kind: 'w' | 'r', counts: Uint32Array): (string | number)[] {
  const pairs = [...counts].flatMap((count, bucket) => (count > 0 ? [`${kind}${bucket}`, count] : []));
  counts.fill(0);
  return pairs;
}
