import { AsyncResource } from 'node:async_hooks';
import { hostname } from 'node:os';
import { failureJobName, readFailure } from '../queue/codec/failure-job.js';
import { counted } from '../queue/errors/show.js';
import { slicesOf } from '../queue/runtime/collections.js';
import { within } from '../queue/runtime/waits.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { LongRun, StuckJob } from '../queue/model/worker-record.js';
import { DeclaredTopics } from '../queue/register/declared-topics.js';
import { LONGEST_TIMER_MS, MOST_ARGUMENTS } from '../queue/runtime/bounds.js';
import type { JobQueueLogger } from '../queue/runtime/logger.js';
import type { QueueStore, StoreTransport } from '../queue/store/queue-store.js';
import { checkKnown, checkMs } from '../queue/validation/validate-options.js';
import { ShutdownError } from './attempt/worker-errors.js';
import { DirectedWait } from './fetch/directed-wait.js';
import { FetchLiveness, FetchLoop } from './fetch/fetch-loop.js';
import { FleetTurns } from './fetch/fleet-turns.js';
import { IdleWait, type IdleWaitListener } from './fetch/idle-wait.js';
import { ProcessCapacity, MOST_CLAIMED_AT_ONCE, type WaitRoom } from './fetch/process-capacity.js';
import {
  withMiddleware,
  type AttemptMiddleware,
  eventListener,
  safeListener,
} from './handlers/attempt-middleware.js';
import { checkWorkerQueues } from './handlers/define-handler.js';
import type { Handler } from './handlers/handler.js';
import { RepeatedStart } from './maintenance/repeated-start.js';
import { Sweeper } from './maintenance/sweeper.js';
import { WorkerReports } from './maintenance/worker-reports.js';
import { WorkerSchedules } from './maintenance/worker-schedules.js';
import { watchDeath } from './reports/death-watch.js';
import { FailureLog } from './reports/failure-log.js';
import { ClaimBudget } from './runner/claims.js';
import { CrashIsolation } from './runner/crash-isolation.js';
import { Heartbeat, heartbeatIntervalMs, SharedIntervals } from './runner/heartbeat.js';
import { checkLimits } from './runner/permits.js';
import { QueueRunner, type QueueRunnerHost } from './runner/queue-runner.js';
import {
  checkConcurrency,
  checkSlots,
  resolveWorkerOptions,
  type WorkerOptions,
  type WorkerQueue,
  DEFAULT_CONCURRENCY,
  resolveHandlers,
  type ResolvedWorkerOptions,
} from './worker-options.js';

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

/** Opens one queue for a worker, and gives it the queue's handlers and retention. */
function openRunner(
  { queue, concurrency = DEFAULT_CONCURRENCY, prefetch, handlers }: WorkerQueue,
  options: ResolvedWorkerOptions & { readonly budget: ClaimBudget; readonly worker: string },
  host: QueueRunnerHost<QueueRunner>,
): QueueRunner {
  const resolved = resolveHandlers(queue, handlers, options.middleware);
  const calls = queue.uncheckedCalls();
  const { budget, worker, limits: configured } = options;
  const sharing = { worker, configured };
  return new QueueRunner({ queue, calls, handlers: resolved, concurrency, prefetch, budget, sharing }, host);
}

/**
 * Returns a worker as its runners see it.
 *
 * @param loops returns the loops of the worker; undefined before its start
 */
function runnerHost(
  { options, slots, isolation, failures, changed }: WorkerParts,
  loops: () => WorkerLoops | undefined,
  { announce, afterWake }: Pick<QueueRunnerHost<QueueRunner>, 'announce' | 'afterWake'>,
): QueueRunnerHost<QueueRunner> {
  return {
    failures,
    announce,
    afterWake,
    changed,
    shared: slots.shared,
    expectsJobs: (runner) => loops()?.trips.expectJobs(runner),
    holdsSettlements: (runner) => loops()?.trips.expectSettlements(runner),
    settle: () => loops()?.trips.settle(),
    emit: eventListener(options.middleware, options.onEvent, options.logger),
    warn: (message) => options.logger.warn(message),
    isolate: (runner, attempt, askedAtMs) => {
      isolation.isolate(runner, attempt, askedAtMs);
      loops()?.interruptWaits();
    },
    expectIsolated: () => isolation.expect(),
    sendsBack: () => isolation.sendsBack,
    interruptWait: () => loops()?.interruptWaits(),
    releaseIsolated: (runner) => isolation.releaseOf(runner),
  };
}

/** The parts of a worker from its construction to its end. */
interface WorkerParts {
  readonly id: string;
  readonly store: QueueStore;
  readonly options: ResolvedWorkerOptions;
  readonly queues: readonly WorkerQueue[];
  readonly slots: ProcessCapacity;
  readonly isolation: CrashIsolation;
  readonly failures: FailureLog;
  readonly liveness: FetchLiveness;
  /** Called when there is something to send or to fetch. */
  readonly changed: () => void;
}

/** The loops of a started worker: its round trips, its waits for jobs, its heartbeats and its sweeps. */
class WorkerLoops {
  readonly trips: FetchLoop;
  readonly waits: readonly JobWait[];
  private readonly transport: StoreTransport;
  private heartbeats: readonly Heartbeat[] = [];
  private sweeper: Sweeper | undefined;
  private endDeathWatch: (() => void) | undefined;

  /** @param turns the turns of the worker in its fleet; undefined if it looks by itself */
  constructor(
    private readonly worker: WorkerParts,
    private readonly runners: readonly QueueRunner[],
    turns: FleetTurns | undefined,
  ) {
    const { id, store, options, slots, liveness, changed } = worker;
    const { logger } = options;
    const answered = (): void => {
      liveness.answered();
      changed();
    };
    this.transport = store.transport(logger);
    this.trips = new FetchLoop(
      {
        worker: id,
        together: runnersTogether(runners, store),
        room: slots.measuredRoom,
        claimsFromOne: options.claimsFromOne,
        transport: this.transport,
        clock: store.clock,
        logger,
      },
      { answered, measure: safeListener(options.onTrip, logger) },
    );
    this.waits = openIdleWaits(
      { worker: id, runners, store, options, turns, capacity: slots.capacity, hasNoSlot: slots.hasNoSlot },
      {
        onWake: answered,
        onLongWait: (ms) => liveness.waitsFor(ms),
        onDue: changed,
        onCancel: (runner) => void this.heartbeats.find((each) => each.runner === runner)?.runOnce(),
      },
    );
  }

  start(): void {
    const { options, isolation } = this.worker;
    this.heartbeats = this.startHeartbeats();
    this.waits.forEach((wait) => wait.start());
    const releaseIsolated = () => isolation.releaseAll();
    this.endDeathWatch = watchDeath(() => this.runners, options.logger, releaseIsolated);
    this.sweeper = this.startSweeper();
  }

  private startHeartbeats(): Heartbeat[] {
    const { options, store } = this.worker;
    const intervals = new SharedIntervals(store.clock);
    const heartbeats = this.runners.map(
      (runner) => new Heartbeat(runner, heartbeatIntervalMs(runner.queue.options), options.logger, intervals),
    );
    heartbeats.forEach((heartbeat) => heartbeat.start());
    return heartbeats;
  }

  /** Starts to maintain the queues. Returns undefined if another process does it. */
  private startSweeper(): Sweeper | undefined {
    const { queues, failures, options } = this.worker;
    const { logger, middleware, onEvent, sweepIntervalMs, version } = options;
    if (sweepIntervalMs === 0) {
      return undefined;
    }
    const served = queues.map(({ queue }) => queue);
    const emit = eventListener(middleware, onEvent, logger);
    const sweeper = new Sweeper(served, sweepIntervalMs, logger, { emit, failures, version });
    sweeper.start();
    return sweeper;
  }

  /** Sends what is ready, and waits for idle runners. */
  check(): void {
    this.trips.flush();
    this.waits.forEach((wait) => wait.check());
  }

  interruptWaits(): void {
    this.waits.forEach((wait) => wait.interrupt());
  }

  /** The queues whose wakes do not reach this worker, although Redis confirmed its channels. */
  get unheard(): string[] {
    return this.waits.flatMap((wait) => ('unheard' in wait ? wait.unheard : []));
  }

  /** Ends the waits and the sweeps. Resolves when no claim of a wait is in flight. */
  async stop(): Promise<void> {
    await Promise.all([...this.waits, this.sweeper].map(async (role) => role?.stop()));
  }

  /** Ends without waiting for a reply. */
  abandon(): void {
    this.heartbeats.forEach((heartbeat) => heartbeat.stop());
    this.endDeathWatch?.();
    this.transport.close();
    this.waits.forEach((wait) => wait.abandon());
  }
}

/** The most queues of a wait. It names a key for the jobs of each, and one for its cancels. */
const MOST_WAITED_FOR = MOST_ARGUMENTS / 2;

/** A worker whose runners wait for jobs. */
interface WaitingWorker extends WaitRoom {
  readonly worker: string;
  readonly runners: readonly QueueRunner[];
  readonly store: QueueStore;
  readonly options: ResolvedWorkerOptions;
  readonly turns?: FleetTurns | undefined;
}

/**
 * Returns the turns of a worker in the looks of its fleet. A worker of a few queues has its claims behind each wait instead,
 * so that no death loses a wake. In a Cluster each worker looks by itself.
 *
 * @param hasLimit true if the queues of the process share its `concurrency`, so that no claim is behind a wait
 */
function openTurns(member: ConstructorParameters<typeof FleetTurns>[0], hasLimit: boolean): FleetTurns | undefined {
  const { store, runners } = member;
  return store.isSharded || (runners.length <= MOST_CLAIMED_AT_ONCE && !hasLimit)
    ? undefined
    : new FleetTurns(member);
}

/**
 * Returns the runners that share a connection. On one server that is all runners, because each reply would end the
 * others' wait. In a Cluster each has its own.
 */
function runnersTogether(runners: readonly QueueRunner[], { isSharded }: QueueStore): (readonly QueueRunner[])[] {
  return isSharded ? runners.map((runner) => [runner]) : [runners];
}

type JobWait = IdleWait | DirectedWait;

/**
 * Returns the waits for jobs. In a Cluster a few queues have one each, because a claim behind the wait saves a round trip.
 * Many queues are woken over the hub. On one server thousands of queues have several waits.
 */
export function openIdleWaits(
  { worker, runners, store, options, capacity, hasNoSlot, turns }: WaitingWorker,
  listener: IdleWaitListener,
): JobWait[] {
  const { logger, concurrency } = options;
  const claimsAlong = concurrency === undefined;
  const openWait = (together: readonly QueueRunner[]) =>
    new IdleWait({ worker, runners: together, capacity, hasNoSlot, claimsAlong, turns, store, logger }, listener);
  return store.isSharded && runners.length > MOST_CLAIMED_AT_ONCE
    ? [
        new DirectedWait(
          { worker, runners, capacity, hasNoSlot, store, logger, openWait: (runner) => openWait([runner]) },
          listener,
        ),
      ]
    : runnersTogether(runners, store)
        .flatMap((together) => slicesOf(together, MOST_WAITED_FOR))
        .map(openWait);
}

/** The share of the deadline that is reserved for releasing unfinished jobs, at most a second. */
const RESERVED_SHARE = 0.2;
const LONGEST_RESERVE_MS = 1_000;
const DRAIN_LOOKS_EVERY_MS = 5;

/** A part of a worker that ends with it. */
interface EndingPart {
  stop(): Promise<void>;
}

/** The part of a worker that a drain uses. */
interface Drainable {
  readonly store: QueueStore;
  readonly runners: readonly QueueRunner[];
  /** Undefined if the worker never started. */
  readonly loops: WorkerLoops | undefined;
  readonly schedules: EndingPart;
  readonly reports: EndingPart | undefined;
}

/**
 * Stops a worker within the deadline, even if Redis is away. It stops claiming and lets running handlers continue
 * until shortly before the deadline. Then it aborts their signals and releases their jobs, attempts uncounted.
 */
async function drain(worker: Drainable, timeoutMs: number, logger: JobQueueLogger): Promise<void> {
  const { runners } = worker;
  const { clock } = worker.store;
  const started = clock.monotonic();
  const left = () => timeoutMs - (clock.monotonic() - started);
  const reserve = Math.min(LONGEST_RESERVE_MS, timeoutMs * RESERVED_SHARE);
  const running = runners.reduce((sum, runner) => sum + runner.state.running, 0);
  if (running > 0) {
    logger.log(
      `Stopping: waiting for ${counted(running, 'running job')}, at most ${Math.round(timeoutMs - reserve)} ms.`,
    );
  }
  const quiet = quiesce(worker);
  await Promise.all([
    within(clock, left() - reserve, quiet, () => undefined),
    handlersDone(worker, () => left() > reserve),
  ]);

  const unfinished = runners.flatMap((runner) => [...runner.attempts]);
  const interrupted = unfinished.filter((attempt) => !attempt.isEnded);
  if (interrupted.length > 0) {
    logger.warn(
      `Stopping: ${counted(interrupted.length, 'job')} did not end in time and ${interrupted.length === 1 ? 'is' : 'are'} released. Pass job.signal on, or raise shutdownTimeoutMs.`,
    );
    interrupted.forEach((attempt) => attempt.interrupt(new ShutdownError()));
  }
  const settled = quiet.then(() => flush(worker)).then(() => true);
  if (!(await within(clock, left(), settled, () => false))) {
    logger.warn(
      'Stopping: Redis did not acknowledge all settlements in time. Those jobs run again after the visibility timeout; ' +
        'if this repeats, check Redis or raise shutdownTimeoutMs.',
    );
  }
}

/** Ends all claiming. Resolves when no claim is in flight in the idle waits. */
async function quiesce({ store, runners, loops, schedules }: Drainable): Promise<void> {
  runners.forEach((runner) => runner.close());
  const stopped = Promise.all([loops?.stop(), schedules.stop()]);
  if (store.isReady) {
    await stopped;
  } else {
    // Without a server only settlements are worth a wait. A claim that is sent again later would take jobs that no worker
    // runs.
    loops?.waits.forEach((wait) => wait.abandon());
  }
}

/** Resolves when every settlement has reached the server. */
async function flush({ store, loops, reports }: Drainable): Promise<void> {
  await loops?.trips.idle();
  await (store.isReady ? reports?.stop() : undefined);
}

/** Resolves when no handler runs and no claim is in flight, or when there is no more time. */
async function handlersDone({ runners, store }: Drainable, hasTime: () => boolean): Promise<void> {
  while (hasTime() && runners.some((runner) => runner.attempts.size > 0 || runner.claims.inFlight > 0)) {
    await new Promise<void>((resolve) => store.clock.setTimeout(resolve, DRAIN_LOOKS_EVERY_MS));
  }
}
