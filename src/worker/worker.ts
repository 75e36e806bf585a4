import { AsyncResource } from 'node:async_hooks';
import { hostname } from 'node:os';
import { checkKnown, checkMs } from '../queue/validation/validate-options.js';
import type { QueueStore, StoreTransport } from '../queue/store/queue-store.js';
import { LONGEST_TIMER_MS } from '../queue/runtime/bounds.js';
import { WorkerReports } from './maintenance/worker-reports.js';
import { RepeatedStart } from './maintenance/repeated-start.js';
import { checkWorkerQueues } from './handlers/handler-options.js';
import { withFailureHandlers } from './handlers/failure-handler.js';
import { FailureLog } from './reports/failure-log.js';
import { FetchLiveness } from './fetch/fetch-liveness.js';
import { FetchLoop } from './fetch/fetch-loop.js';
import { safeListener } from './reports/safe-listener.js';
import { watchDeath } from './reports/death-watch.js';
import type { Heartbeat } from './runner/heartbeat.js';
import { ClaimBudget } from './runner/claim-budget.js';
import { CrashIsolation } from './runner/crash-isolation.js';
import type { QueueRunner } from './runner/queue-runner.js';
import { ProcessCapacity } from './fetch/process-capacity.js';
import { WorkerSchedules } from './maintenance/worker-schedules.js';
import type { LongRun, StuckJob } from '../queue/model/worker-record.js';
import { startHeartbeats, startSweeper } from './start-upkeep.js';
import { resolveWorkerOptions } from './worker-options.js';
import type { ResolvedWorkerOptions, WorkerOptions, WorkerQueue } from './worker-options.js';
import { openIdleWaits, openTurns, runnersTogether, type JobWait } from './open-fetch.js';
import { checkConcurrency, openRunner } from './open-runner.js';
import { drain } from './drain.js';

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
  private readonly queues: readonly WorkerQueue[];
  private readonly options: ResolvedWorkerOptions;
  private readonly store: QueueStore;
  private runners: QueueRunner[] = [];
  private loop: FetchLoop | undefined;
  private idleWaits: JobWait[] = [];
  private heartbeats: Heartbeat[] = [];
  private transport: StoreTransport | undefined;
  private sweeper: ReturnType<typeof startSweeper>;
  private endDeathWatch: (() => void) | undefined;
  private reports: WorkerReports | undefined;
  private repeats: RepeatedStart | undefined;
  private turns: ReturnType<typeof openTurns>;
  private readonly schedules: WorkerSchedules;
  private readonly slots: ProcessCapacity;
  private readonly isolation = new CrashIsolation(
    () => this.runners,
    () => this.onChange(),
  );
  /** The names of the queues that this process is not to claim from. */
  private readonly paused = new Set<string>();
  /** Set at run time, by queue. */
  private readonly concurrencies = new Map<string, number>();
  private starting: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;
  private readonly fetchLiveness = new FetchLiveness(() => this.store.clock.monotonic());
  private readonly failures: FailureLog;
  private changedInTick = false;
  private halt!: () => void;
  /** Resolves when a stop was requested, so that a start that still waits for the server ends. */
  private readonly halted = new Promise<void>((resolve) => (this.halt = resolve));

  /** @throws InvalidOptionError */
  constructor(queues: readonly WorkerQueue[], options: WorkerOptions = {}) {
    this.options = resolveWorkerOptions(options);
    this.store = checkWorkerQueues(queues);
    this.queues = queues.map(withFailureHandlers);
    const { clock } = this.store;
    this.slots = new ProcessCapacity(this.options.concurrency, () => this.runners, this.isolation, clock);
    this.failures = new FailureLog(this.options.logger, this.options.logFailures, clock);
    this.id = this.options.id ?? `${hostname().slice(0, 64)}:${process.pid}:${clock.randomId().slice(0, 6)}`;
    this.schedules = new WorkerSchedules(this.id, queues, this.options.logger, () => this.turns);
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
  stop(options: { timeoutMs?: number } = {}): Promise<void> {
    checkKnown('stop', options, ['timeoutMs']);
    const { timeoutMs = this.options.shutdownTimeoutMs } = options;
    checkMs('timeoutMs', timeoutMs, 0, LONGEST_TIMER_MS);
    this.stopping ??= this.end(timeoutMs);
    this.halt();
    return this.stopping;
  }

  /** Stops claiming in this process, for one queue or for all, also before the start. Running jobs continue. */
  pause(queue?: string): void {
    this.namesOf(queue).forEach((name) => this.paused.add(name));
    this.runnersOf(queue).forEach((runner) => runner.close());
    this.interruptWaits();
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
    checkConcurrency(this.queues, queue, concurrency);
    this.concurrencies.set(queue, concurrency);
    this.runnersOf(queue).forEach((runner) => runner.setConcurrency(concurrency));
    this.interruptWaits();
    this.onChange();
  }

  /** The number of running jobs. */
  get running(): number {
    return this.runners.reduce((sum, { state }) => sum + state.running, 0);
  }

  /** The ms since Redis last answered a fetch. 0 in a long wait or while all slots are busy, undefined before the first. */
  get sinceLastFetchMs(): number | undefined {
    return this.fetchLiveness.sinceMs;
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
    return this.idleWaits.flatMap((wait) => ('unheard' in wait ? wait.unheard : []));
  }

  private interruptWaits(): void {
    this.idleWaits.forEach((idleWait) => idleWait.interrupt());
  }

  private namesOf(queue: string | undefined): string[] {
    return queue === undefined ? this.queues.map((each) => each.queue.name) : [queue];
  }

  private runnersOf(queue: string | undefined): QueueRunner[] {
    return this.runners.filter((runner) => queue === undefined || runner.name === queue);
  }

  private async begin(): Promise<void> {
    const { logger } = this.options;
    if (!logger.isSilent) this.store.logger = logger;
    const repeats = (this.repeats = new RepeatedStart(this.store, logger));
    void this.halted.then(() => repeats.end());
    await repeats.run('Connecting this worker', () => Promise.race([this.store.whenReady(), this.halted]));
    if (this.stopping) return;
    const { id, store, slots } = this;
    const shared = store.isSharded ? undefined : new ClaimBudget();
    const runners = this.queues.map((served) => this.makeRunner(served, shared ?? new ClaimBudget()));
    this.runners = runners;
    this.turns = openTurns({ worker: id, store, runners, capacity: slots.capacity });
    this.reports = new WorkerReports({ ...this.options, id, runners, store, repeats, fleet: this.turns?.fleet });
    await this.reports.start();
    if (!this.stopping) await this.schedules.start();
    if (!this.stopping) this.run();
  }

  private makeRunner(served: WorkerQueue, budget: ClaimBudget): QueueRunner {
    const options = { ...this.options, budget };
    const runner = openRunner(served, options, {
      shared: this.slots.shared,
      announce: (each) => this.reports?.announce(each),
      expectsJobs: (each) => this.loop?.expectJobs(each),
      changed: () => this.onChange(),
      holdsSettlements: (each) => this.loop?.expectSettlements(each),
      settle: () => this.loop?.settle(),
      emit: safeListener(options.onEvent, options.logger),
      warn: (message) => options.logger.warn(message),
      failures: this.failures,
      isolate: (each, attempt, askedAtMs) => {
        this.isolation.isolate(each, attempt, askedAtMs);
        this.interruptWaits();
      },
      expectIsolated: () => this.isolation.expect(),
      sendsBack: () => this.isolation.sendsBack,
      interruptWait: () => this.interruptWaits(),
      releaseIsolated: (each) => this.isolation.releaseOf(each),
    });
    runner.setConcurrency(this.concurrencies.get(runner.name) ?? runner.capacity.concurrency);
    if (this.paused.has(runner.name)) runner.close();
    return runner;
  }

  /** Starts the loops. From here on `stop` has work to do. */
  private run(): void {
    this.loop = this.makeLoop();
    this.idleWaits = this.makeIdleWaits();
    this.heartbeats = startHeartbeats(this.runners, this.options);
    this.idleWaits.forEach((idleWait) => idleWait.start());
    const releaseIsolated = () => this.isolation.releaseAll();
    this.endDeathWatch = watchDeath(() => this.runners, this.options.logger, releaseIsolated);
    this.sweeper = startSweeper(this.queues, this.options, this.failures);
    this.onChange();
  }

  private makeLoop(): FetchLoop {
    const [{ id: worker, store }, { logger, onTrip }] = [this, this.options];
    const transport = (this.transport = store.transport(logger));
    const [together, { measuredRoom: room }] = [runnersTogether(this.runners, store), this.slots];
    const observer = { answered: this.onFetch, measure: safeListener(onTrip, logger) };
    return new FetchLoop({ worker, together, room, transport, clock: store.clock, logger }, observer);
  }

  private makeIdleWaits(): JobWait[] {
    const { id: worker, runners, store, options, turns } = this;
    return openIdleWaits(
      { worker, runners, store, options, turns, capacity: this.slots.capacity },
      {
        onWake: this.onFetch,
        onLongWait: (ms) => this.fetchLiveness.waitsFor(ms),
        onDue: () => this.onChange(),
        onCancel: (runner) => void this.heartbeats.find((each) => each.runner === runner)?.runOnce(),
      },
    );
  }

  private readonly onFetch = (): void => {
    this.fetchLiveness.answered();
    this.onChange();
  };

  /** Handles all ends and freed slots of one tick together, so that they share a round trip. */
  private onChange(): void {
    if (!this.changedInTick) {
      this.changedInTick = true;
      this.store.clock.soon(this.lookAtRunners);
    }
  }

  /** Bound to where the worker was made: jobs must not run in the trace of the request that resumed it. */
  private readonly lookAtRunners = AsyncResource.bind((): void => {
    this.changedInTick = false;
    this.fetchLiveness.noteSlots(this.slots.isFull);
    this.isolation.check();
    this.slots.shared?.ask(); // a claim of another queue may have found nothing for its slots
    this.loop?.flush();
    this.idleWaits.forEach((idleWait) => idleWait.check());
  });

  private async end(timeoutMs: number): Promise<void> {
    const { store, runners, idleWaits, loop, reports } = this;
    const roles = [this.sweeper, this.schedules];
    await drain({ store, runners, idleWaits, roles, loop, reports }, timeoutMs, this.options.logger);
    this.heartbeats.forEach((heartbeat) => heartbeat.stop());
    this.runners.flatMap(({ attempts }) => [...attempts]).forEach((attempt) => attempt.abandon());
    this.failures.flush();
    this.endDeathWatch?.();
    this.reports?.abandon();
    this.transport?.close();
    this.idleWaits.forEach((idleWait) => idleWait.abandon());
  }
}
