import { AsyncResource } from 'node:async_hooks';
import { hostname } from 'node:os';
import { DeclaredTopics } from '../queue/register/declared-topics.js';
import { checkKnown, checkMs } from '../queue/validation/validate-options.js';
import { LONGEST_TIMER_MS } from '../queue/runtime/bounds.js';
import { WorkerReports } from './maintenance/worker-reports.js';
import { RepeatedStart } from './maintenance/repeated-start.js';
import { checkWorkerQueues } from './handlers/handler-options.js';
import { FailureLog } from './reports/failure-log.js';
import { FetchLiveness } from './fetch/fetch-liveness.js';
import { ClaimBudget } from './runner/claim-budget.js';
import { CrashIsolation } from './runner/crash-isolation.js';
import { checkLimits } from './runner/permits.js';
import type { QueueRunner } from './runner/queue-runner.js';
import { ProcessCapacity } from './fetch/process-capacity.js';
import { WorkerSchedules } from './maintenance/worker-schedules.js';
import type { LongRun, StuckJob } from '../queue/model/worker-record.js';
import { resolveWorkerOptions, type WorkerOptions, type WorkerQueue } from './worker-options.js';
import { openTurns } from './open-fetch.js';
import { checkConcurrency, checkSlots, openRunner, runnerHost } from './open-runner.js';
import { WorkerLoops, type WorkerParts } from './worker-loops.js';
import { drain } from './drain.js';
import type { JobQueue } from '../queue/job-queue.js';
import { failureJobName, readFailure } from '../queue/codec/failure-job.js';
import { withMiddleware, type AttemptMiddleware } from './handlers/attempt-middleware.js';
import type { Handler } from './handlers/handler.js';

/**
 * The runtime of one process. It claims and runs the jobs of its queues over one command connection and one blocking
 * connection. It extends its claims, and releases all jobs in time when it is stopped.
 *
 * @example
 * const worker = new Worker([{ queue, handlers: { email: (job) => send(job.payload) } }]);
 * await worker.start();
 * process.once('SIGTERM', () => void worker.stop());
 */
export class Worker {
  /** Names it in claims, logs and lists. */
  readonly id: string;
  private readonly parts: WorkerParts;
  private runners: QueueRunner[] = [];
  /** Undefined before the start. */
  private loops: WorkerLoops | undefined;
  private reports: WorkerReports | undefined;
  private repeats: RepeatedStart | undefined;
  private turns: ReturnType<typeof openTurns>;
  private readonly schedules: WorkerSchedules;
  /** The names of the queues that this process is not to claim from. */
  private readonly paused = new Set<string>();
  /** Set at run time, by queue. */
  private readonly concurrencies = new Map<string, number>();
  private starting: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;
  private changedInTick = false;
  private halt!: () => void;
  /** Resolves when a stop was requested, so that a start that still waits for the server ends. */
  private readonly halted = new Promise<void>((resolve) => (this.halt = resolve));

  /** @throws InvalidOptionError */
  constructor(queues: readonly WorkerQueue[], options: WorkerOptions = {}) {
    const resolved = resolveWorkerOptions(options);
    const { logger } = resolved;
    const store = checkWorkerQueues(queues);
    queues.forEach(({ queue }) => checkLimits(queue.name, queue.options.limits, resolved.limits));
    checkSlots(queues, resolved.concurrency);
    const { clock } = store;
    const runners = () => this.runners;
    const changed = () => this.onChange();
    const isolation = new CrashIsolation(runners, changed);
    this.id = resolved.id ?? `${hostname().slice(0, 64)}:${process.pid}:${clock.randomId().slice(0, 6)}`;
    this.parts = {
      id: this.id,
      store,
      options: resolved,
      queues: queues.map(withFailureHandlers),
      slots: new ProcessCapacity(resolved.concurrency, runners, isolation, clock),
      isolation,
      failures: new FailureLog(logger, resolved.logFailures, clock),
      liveness: new FetchLiveness(() => clock.monotonic()),
      changed,
    };
    this.schedules = new WorkerSchedules(this.id, queues, logger, {
      turns: () => this.turns,
      isWaiting: () => this.runners.every(({ state }) => state.isBlockedOn),
    });
  }

  /**
   * Starts to claim. Resolves when the server was found suitable and the loops run. It waits, until a stop, while the
   * server is away, loads, is busy, or is a replica. Other errors reject; call it again once their cause is removed.
   *
   * @throws RedisUnsuitableError. RedisPermissionError with the Redis user's missing permissions. QueueLayoutError if a
   *   newer version of the library wrote a queue.
   */
  start(): Promise<void> {
    this.starting ??= this.begin().catch(async (error: unknown) => {
      await this.reports?.stop();
      [this.reports, this.runners, this.starting] = [undefined, [], undefined];
      throw error;
    });
    return this.starting;
  }

  /**
   * Stops claiming, and at the deadline releases all unfinished jobs. Always resolves in time.
   *
   * @throws InvalidOptionError
   */
  stop(options: { timeoutMs?: number | undefined } = {}): Promise<void> {
    checkKnown('stop', options, ['timeoutMs']);
    const { timeoutMs = this.parts.options.shutdownTimeoutMs } = options;
    checkMs('timeoutMs', timeoutMs, 0, LONGEST_TIMER_MS);
    this.stopping ??= this.end(timeoutMs);
    this.halt();
    return this.stopping;
  }

  /** Stops claiming in this process, for one queue or for all, also before the start. Running jobs continue. */
  pause(queue?: string): void {
    this.namesOf(queue).forEach((name) => this.paused.add(name));
    this.runnersOf(queue).forEach((runner) => runner.close());
    this.loops?.interruptWaits();
    this.onChange();
  }

  /** Claims again. */
  resume(queue?: string): void {
    this.namesOf(queue).forEach((name) => this.paused.delete(name));
    if (!this.stopping) {
      this.runnersOf(queue).forEach((runner) => runner.open());
      this.onChange();
    }
  }

  /**
   * Sets how many jobs of a queue run here at once, also before the start. Jobs beyond a lower number continue.
   *
   * @throws InvalidOptionError for an unserved queue, or a number that is not whole and from 1 to 100,000
   * @example worker.setConcurrency('email', 20);
   */
  setConcurrency(queue: string, concurrency: number): void {
    checkConcurrency(this.parts.queues, queue, concurrency);
    const entries = this.parts.queues.filter((each) => each.queue.name === queue);
    checkSlots(entries, undefined, () => concurrency);
    this.concurrencies.set(queue, concurrency);
    this.runnersOf(queue).forEach((runner) => runner.setConcurrency(concurrency));
    this.loops?.interruptWaits();
    this.onChange();
  }

  /**
   * Sets how many jobs of all its queues together run here at once. For the shards of a queue, of which each may use all slots.
   *
   * @throws InvalidOptionError
   * @internal
   */
  setSharedConcurrency(concurrency: number): void {
    this.parts.queues.forEach(({ queue }) => this.setConcurrency(queue.name, concurrency));
    this.parts.slots.shared?.setConcurrency(concurrency);
  }

  /** The number of running jobs. */
  get running(): number {
    return this.runners.reduce((sum, { state }) => sum + state.running, 0);
  }

  /** The ms since Redis last answered a fetch. 0 in a long wait or while all slots are busy, undefined before the first. */
  get sinceLastFetchMs(): number | undefined {
    return this.parts.liveness.sinceMs;
  }

  /** The error for which this worker does not claim from all its queues yet. The worker repeats what failed. */
  get trouble(): Error | undefined {
    return this.repeats?.failure;
  }

  /** The jobs here whose handlers still run although their signals were aborted, each until it ends. */
  get stuck(): StuckJob[] {
    return this.runners.flatMap((runner) => [...runner.attempts].flatMap(({ stuck }) => stuck ?? []));
  }

  /** The oldest run of each handler here that has no timeout and runs for more than 15 minutes. @internal */
  get longRuns(): LongRun[] {
    return this.reports?.longRuns.list ?? [];
  }

  /** The queues whose wakes do not reach this worker, although Redis confirmed its channels. @internal */
  get unheard(): string[] {
    return this.loops?.unheard ?? [];
  }

  private namesOf(queue: string | undefined): string[] {
    return queue === undefined ? this.parts.queues.map((each) => each.queue.name) : [queue];
  }

  private runnersOf(queue: string | undefined): QueueRunner[] {
    return this.runners.filter((runner) => queue === undefined || runner.name === queue);
  }

  private async begin(): Promise<void> {
    const { id, store, options, slots } = this.parts;
    const { logger } = options;
    if (!logger.isSilent) store.logger = logger;
    const repeats = (this.repeats = new RepeatedStart(store, logger));
    void this.halted.then(() => repeats.end());
    await repeats.run('Connecting this worker', () => Promise.race([store.whenReady(), this.halted]));
    const topics = DeclaredTopics.of(store);
    if (!this.stopping && !topics.isEmpty) await topics.keepWriting(this);
    if (this.stopping) return;
    const runners = (this.runners = this.openRunners());
    const hasLimit = options.concurrency !== undefined;
    this.turns = openTurns({ worker: id, store, runners, capacity: slots.capacity }, hasLimit);
    this.reports = new WorkerReports({
      ...options,
      id,
      runners,
      store,
      repeats,
      fleet: this.turns,
      // Each report tells the number of that time.
      get concurrency() {
        return slots.shared?.concurrency;
      },
    });
    await this.reports.start();
    if (!this.stopping) await this.schedules.start();
    if (!this.stopping) this.run();
  }

  private openRunners(): QueueRunner[] {
    const { options, store, queues } = this.parts;
    const announce = (runner: QueueRunner) => this.reports?.announce(runner);
    const host = runnerHost(this.parts, () => this.loops, {
      announce,
      afterWake: ({ queue }, foundJobs) => this.schedules.lookAgain(queue, foundJobs),
    });
    const shared = store.isSharded ? undefined : new ClaimBudget();
    return queues.map((served) => {
      const runner = openRunner(served, { ...options, worker: this.id, budget: shared ?? new ClaimBudget() }, host);
      runner.setConcurrency(this.concurrencies.get(runner.name) ?? runner.capacity.concurrency);
      if (this.paused.has(runner.name)) runner.close();
      return runner;
    });
  }

  /** Starts the loops. From here on `stop` has work to do. */
  private run(): void {
    this.loops = new WorkerLoops(this.parts, this.runners, this.turns);
    this.loops.start();
    this.onChange();
  }

  /** Handles all ends and freed slots of one tick together, so that they share a round trip. */
  private onChange(): void {
    if (!this.changedInTick) {
      this.changedInTick = true;
      this.parts.store.clock.soon(this.lookAtRunners);
    }
  }

  /** Bound to where the worker was made: jobs must not run in the trace of the request that resumed it. */
  private readonly lookAtRunners = AsyncResource.bind((): void => {
    this.changedInTick = false;
    const { liveness, slots, isolation } = this.parts;
    liveness.noteSlots(slots.isFull);
    isolation.check();
    slots.shared?.ask(); // a claim of another queue may have found nothing for its slots
    this.loops?.check();
  });

  private async end(timeoutMs: number): Promise<void> {
    const { runners, loops, schedules, reports } = this;
    const { store, options, failures } = this.parts;
    await drain({ store, runners, loops, schedules, reports }, timeoutMs, options.logger);
    runners.flatMap(({ attempts }) => [...attempts]).forEach((attempt) => attempt.abandon());
    failures.flush();
    DeclaredTopics.of(store).end(this);
    reports?.abandon();
    loops?.abandon();
  }
}

/** Returns the queue with its handlers of failures among the others, under the names of the failure jobs. */
function withFailureHandlers(served: WorkerQueue): WorkerQueue {
  const { onFailed, ...rest } = served;
  if (!onFailed) {
    return served;
  }
  const tellers = Object.entries(onFailed).map(([name, handler]): [string, Handler] => {
    const given = typeof handler === 'function' ? { handle: handler } : handler;
    const handle = withMiddleware([failureReader(served.queue)], (job) => given.handle(job));
    return [failureJobName(name), { ...given, handle }];
  });
  return { ...rest, handlers: { ...rest.handlers, ...Object.fromEntries(tellers) } };
}

/** Returns middleware that gives the handler the failure instead of the stored text. */
function failureReader({ name, options }: JobQueue): AttemptMiddleware {
  return {
    attempt: (job, next) => {
      job.setPayload(readFailure(name, options.codec, job.payload));
      return next();
    },
  };
}
