import type { Clock } from '../../queue/runtime/clock.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { AttemptLimits, ClaimReply, Failure, Release, StoreCalls } from '../../queue/store/store-calls.js';
import { handledAs } from '../../queue/validation/names.js';
import { Attempt, type AttemptOwner } from '../attempt/attempt.js';
import { AttemptList } from '../attempt/attempt-list.js';
import { BeginTurn } from './begin-turn.js';
import { BatchCourier } from './batch-courier.js';
import { ClaimOutlook } from './claim-outlook.js';
import { ClaimBudget, type ClaimsInFlight } from './claim-budget.js';
import { Prefetcher, type PrefetchOwner } from './prefetcher.js';
import { attemptLimitsOf, otherAttemptLimits, ownAttemptLimits, withRetries } from '../handlers/handler.js';
import type { BulkOwner } from '../bulk/bulk-gatherer.js';
import { BulkGatherers } from '../bulk/bulk-gatherers.js';
import type { ResolvedHandler } from '../bulk/resolve-bulk.js';
import { DurationCounts } from './duration-counts.js';
import { NameFilter } from './name-filter.js';
import { QueueReporter } from '../attempt/queue-reporter.js';
import type { QueueRunnerHost } from './queue-runner-host.js';
import { RunnerSlots } from './runner-slots.js';
import { SettlementBuffer } from '../attempt/settlement-buffer.js';
import { mayBeLost, startAttempts, type AttemptStarter } from '../attempt/start-attempt.js';
import { DrainedWatch } from '../reports/drained-watch.js';
import { reportLost, reportStuck } from '../attempt/report-trouble.js';
import { ShutdownError } from '../attempt/worker-errors.js';

/** The time without claim or wait, in ms, after which a runner gets a turn although all slots are used. */
const LONGEST_UNPOLLED_MS = 1_000;

/**
 * One queue in one worker: its slots, its running and prefetched attempts, and its settlements that wait to be sent.
 * The fetch loop and the idle wait send its calls.
 */
export class QueueRunner implements AttemptOwner, AttemptStarter, PrefetchOwner, BulkOwner {
  /** The claimed attempts that have not ended. The heartbeat extends their claims. */
  readonly attempts = new AttemptList<Attempt>();
  running = 0;
  /** The attempts that wait for a slot, prefetched or answered late. They begin in order. */
  readonly prefetcher: Prefetcher;
  /** The number of jobs that the runner may claim and start. */
  readonly capacity: RunnerSlots;
  /** The settlements that wait for their trip, and how many are in flight. */
  readonly settlements = new SettlementBuffer(this);
  /** The wait and run times of jobs, for the history; undefined if none is kept. */
  readonly durations: DurationCounts | undefined;
  /** Writes progress, logs and checkpoints of running handlers. */
  readonly reports: QueueReporter;
  /** The payload bytes that a claim may bring. Runners of one connection share it. */
  budget = new ClaimBudget();
  /** The claims in flight, by their stream. */
  readonly claimsInFlight: ClaimsInFlight = { trip: undefined, wait: undefined };
  /** Slots that claims in flight may fill. */
  claiming = 0;
  readonly outlook = new ClaimOutlook();
  /** True if the idle wait listens for this runner. */
  isBlockedOn = false;
  private claimedAt = -Infinity;
  readonly clock: Clock;
  /** Set during a local pause, and from a stop on: nothing is claimed, and nothing begins. */
  isClosed = false;
  /** True once a job has begun here, which may have left a promise behind. */
  hasBegun = false;
  isResting = false;
  /** The calls of bulk handlers; undefined if there are none. */
  readonly bulk: BulkGatherers | undefined;
  /** The limits of all handlers, for the server to know. */
  readonly limits: readonly AttemptLimits[];
  /** The limits of names without a handler of their own. */
  readonly otherLimits: Pick<AttemptLimits, 'maxAttempts' | 'maxCrashes'>;
  /** The limits of names that differ from `otherLimits`. */
  readonly attemptLimits: readonly AttemptLimits[];
  readonly names: NameFilter;
  readonly courier: BatchCourier;
  private readonly drained: DrainedWatch | undefined;
  private readonly turn = new BeginTurn(this);

  constructor(
    readonly queue: JobQueue,
    readonly calls: StoreCalls,
    concurrency: number,
    prefetch: number | undefined,
    private readonly handlers: ReadonlyMap<string, ResolvedHandler>,
    readonly host: QueueRunnerHost<QueueRunner>,
  ) {
    this.clock = queue.store.clock;
    this.durations = queue.options.history ? new DurationCounts() : undefined;
    this.capacity = new RunnerSlots(this, concurrency);
    this.bulk = BulkGatherers.of(handlers, () => this.capacity.concurrency, this);
    this.prefetcher = new Prefetcher(concurrency, this.bulk ? 0 : prefetch, this, this.clock);
    this.reports = new QueueReporter(queue, calls, (job) =>
      [...this.attempts].find(({ claim }) => claim.token === job.token && claim.id === job.id)?.lose(),
    );
    this.limits = attemptLimitsOf(handlers, queue.options);
    this.otherLimits = otherAttemptLimits(this.limits, queue.options);
    this.attemptLimits = ownAttemptLimits(this.limits, this.otherLimits);
    this.names = new NameFilter(this.limits, () => this.clock.monotonic());
    this.courier = new BatchCourier(queue);
    this.drained = DrainedWatch.of(queue, calls, host.warn);
  }

  get name(): string {
    return this.queue.name;
  }

  get isLimited(): boolean {
    return this.outlook.isLimited;
  }

  get content() {
    return this.queue.options;
  }

  /** Returns true if this queue was neither polled nor blocked on for a second. */
  get isOverdueForPoll(): boolean {
    return !this.isBlockedOn && this.clock.monotonic() - this.claimedAt > LONGEST_UNPOLLED_MS;
  }

  /** Takes the jobs of a claim. `asked` slots were reserved for it at `askedAtMs`, before it ran. */
  take(reply: ClaimReply, asked: number, askedAtMs: number): void {
    this.claiming -= asked;
    const found = reply.jobs.length + reply.refused.length;
    const pauseMs = reply.left && this.names.looked(reply.left, found);
    if (!this.outlook.mayHaveJobs && pauseMs !== undefined) {
      this.rest(pauseMs);
    }
    reply.refused.forEach(({ job, error }) => this.settlements.refuse(job, error));
    const now = this.clock.monotonic();
    const isSure = !mayBeLost(this.queue, now - askedAtMs);
    reply.jobs.forEach((job) => this.run(job, askedAtMs, isSure));
    this.bulk?.look();
    this.releaseIfClosed();
    this.claimedAt = now;
    this.drained?.claimed(found + this.attempts.size);
  }

  /** Sets the concurrency. Jobs beyond a lower one continue. */
  setConcurrency(concurrency: number): void {
    this.capacity.concurrency = concurrency;
    this.prefetcher.concurrency = concurrency;
    this.outlook.mayHaveJobs = true;
    this.turn.ask();
  }

  open(): void {
    this.isClosed = false;
    this.outlook.mayHaveJobs = true;
    this.turn.ask();
  }

  /** Stops claiming and releases prefetched jobs; running jobs continue. */
  close(): void {
    this.isClosed = true;
    this.releaseIfClosed();
  }

  /** Releases together with the jobs of claims in flight. A later release would put them before the released jobs. */
  private releaseIfClosed(): void {
    if (this.isClosed && this.claiming === 0) {
      this.prefetcher.releaseWaiting();
      this.bulk?.releaseWaiting();
      this.host.releaseIsolated(this);
    }
  }

  /** Releases a job that has not started. */
  release(attempt: Attempt): void {
    attempt.interrupt(new ShutdownError());
    this.handlerEnded(attempt);
  }

  /** Claims nothing for a while. */
  rest(ms: number): void {
    this.isResting = true;
    const timer = this.clock.setTimeout(() => {
      this.isResting = false;
      this.outlook.mayHaveJobs = true;
      this.host.changed();
    }, ms);
    timer.unref();
  }

  /** Frees the slots of a failed claim. */
  abandonClaim(asked: number): void {
    this.claiming -= asked;
    this.releaseIfClosed();
  }

  private run(job: ClaimedJob, askedAtMs: number, isSure: boolean): void {
    const name = handledAs(this.handlers, job.name);
    if (name === undefined) {
      this.settlements.releaseUnknown(job, this.names.met(job.name));
      return this.host.changed();
    }
    const handler = this.handlers.get(name)!;
    const gatherer = handler.bulk && this.bulk?.of(name);
    const toRun = gatherer ? { ...handler, handle: gatherer.handle } : handler;
    const attempt = new Attempt(withRetries(job, handler), toRun, this);
    this.attempts.add(attempt);
    if (job.isolated) {
      this.host.isolate(this, attempt, askedAtMs);
    } else if (!this.hasBegun && this.host.sendsBack()) {
      this.release(attempt);
    } else if (gatherer) {
      gatherer.add(attempt, askedAtMs, isSure && !job.prefetched);
    } else if (isSure && this.hasSlot && this.prefetcher.isEmpty && !job.prefetched) {
      this.begin(attempt);
    } else {
      this.prefetcher.add(attempt, askedAtMs);
      this.turn.ask();
    }
  }

  get hasSlot(): boolean {
    return this.capacity.hasSlot;
  }

  settle(): void {
    this.host.settle();
  }

  /** Called when a bulk call begins. An earlier wait still claims for the slot that this call takes. */
  callBegins(): void {
    if (this.capacity.isOverdrawn) {
      this.host.interruptWait();
    }
  }

  callEnds(): void {
    this.outlook.mayHaveJobs ||= this.capacity.isFull && !this.isBlockedOn;
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
    if (this.takesSlot(attempt)) {
      startAttempts(this, [{ attempt, waitedMs }]);
    }
  }

  /** Gives an attempt a slot. Returns false if it has ended before its start. */
  takesSlot(attempt: Attempt): boolean {
    if (attempt.isEnded) {
      this.handlerEnded(attempt);
      return false;
    }
    attempt.begun = true;
    this.hasBegun = true;
    this.running++;
    return true;
  }

  completed(attempt: Attempt): void {
    this.settlements.add('completions', attempt, attempt);
  }

  failed(attempt: Attempt, failure: Failure): void {
    this.settlements.add('failures', attempt, { settlement: failure, attempt });
  }

  released(attempt: Attempt, release: Release): void {
    this.settlements.add('releases', attempt, { settlement: release, attempt });
  }

  handlerEnded(attempt: Attempt): void {
    const wasFull = this.capacity.freeForWait === 0;
    this.attempts.delete(attempt);
    this.bulk?.left(attempt);
    if (attempt.begun) {
      const now = this.clock.monotonic();
      this.running--;
      this.durations?.add(attempt, now);
      this.drained?.jobEnded();
      this.prefetcher.jobEnded(now - (attempt.startedAtMs ?? now));
    }
    this.turn.ask();
    // A runner with a spare slot is waited for, or claims anyway. A full one may have missed new jobs.
    this.outlook.mayHaveJobs ||= wasFull && !this.isBlockedOn;
    this.host.changed();
  }

  reportLost(attempt: Attempt): void {
    reportLost(this, attempt);
  }

  reportStuck(attempt: Attempt): void {
    reportStuck(this, attempt);
  }
}
