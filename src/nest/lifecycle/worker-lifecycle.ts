import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { LazyModuleLoader } from '@nestjs/core';
import { InvalidOptionError, RedisUnsuitableError, QueueLayoutError } from '../../queue/errors/errors.js';
import { withRemedy } from '../../queue/errors/redis-errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { resolveQueueOptions } from '../../queue/model/queue-options.js';
import { DeclaredTopics } from '../../queue/register/declared-topics.js';
import type { StuckJob } from '../../queue/model/worker-record.js';
import { systemClock } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { within } from '../../queue/runtime/waits.js';
import { cancelledError } from '../../queue/store/claim-refusal.js';
import { checkCount } from '../../queue/validation/validate-options.js';
import { unclaimedJob } from '../../worker/maintenance/end-reports.js';
import {
  type AttemptMiddleware,
  eventListener,
  type WorkerEventListener,
} from '../../worker/handlers/attempt-middleware.js';
import { Repetition } from '../../worker/maintenance/repeated-start.js';
import type { WorkerQueue } from '../../worker/handlers/handler.js';
import { checkSlots, HIGHEST_CONCURRENCY } from '../../worker/worker-options.js';
import { Worker } from '../../worker/worker.js';
import { causeInWords } from '../connection/server-connection.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import { currentJobMiddleware, JobLines } from '../context/current-job.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { JobListeners } from '../handlers/job-listeners.js';
import type { ResolvedModuleOptions, MaintenanceSchedule } from '../job-queue.options.js';
import type { LifecycleOrder, Runtime, LifecycleParts } from './lifecycle-order.js';
import { checkSpreads } from './boot-audit.js';

/** The time the boot waits for Redis if it may continue without it, in ms. */
const LOOK_MS = 2_000;

/**
 * Binds the worker to the life of the app. It checks handlers and looks for Redis when modules initialize. Jobs run from
 * the end of the bootstrap to the beginning of the shutdown. With `worker: 'manual'` they run from the call of
 * `startWorkers`. The connection closes last.
 */
export class WorkerLifecycle implements Runtime, OnModuleInit, OnApplicationShutdown {
  /** The workers of the boot, each with its queues. */
  private booted: readonly ServingWorker[] = [];
  /** The workers of lazy modules. */
  private readonly later: Worker[] = [];
  private startedAt: number | undefined;
  private draining: Promise<void> | undefined;
  private drainBy: number | undefined;
  private jobLines: JobLines | undefined;
  private audited = false;
  private starting: Promise<Error | undefined> | undefined;
  /** True once the app has asked for its workers, with `worker: 'manual'`. */
  private asked = false;
  /** True once the boot has ended without a worker. */
  private isIdle = false;
  private threads: Promise<void> | undefined;
  private readonly starts: WorkerStarts;
  /** The pauses and other requests to the workers of this process. */
  readonly controls = new WorkerControls(
    () => this.workers,
    (queue) => this.parts.queues.spreadOf(queue)?.shards.map(({ name }) => name) ?? [queue],
    () => this.parts.options.concurrency ?? Infinity,
  );

  constructor(private readonly parts: LifecycleParts) {
    this.starts = new WorkerStarts(parts.redis.store, parts.logger);
    parts.hooks.attach(this, parts.connection);
    watchLazyModules(parts.lazyModules, () => this.serveLoaded());
  }

  get maintenance(): LifecycleParts['maintenance'] {
    return this.parts.maintenance;
  }

  /** The connections of the app, in the order of their modules. */
  get connections(): LifecycleOrder['connections'] {
    return this.parts.hooks.connections;
  }

  /** The worker, once it runs. */
  get worker(): Worker | undefined {
    return this.booted[0]?.worker;
  }

  /** Returns whether this process has handlers, and may run them. */
  get canServe(): boolean {
    return this.parts.options.worker !== false && this.parts.handlers.queueNames.length > 0;
  }

  /** Returns whether this process is to run a worker now. */
  get expected(): boolean {
    return this.canServe && !this.awaitsCall;
  }

  /** Returns whether the workers wait for the call of the app that starts them. */
  private get awaitsCall(): boolean {
    return this.parts.options.worker === 'manual' && !this.asked;
  }

  /** Returns whether the jobs end with this process. */
  get isEmbedded(): boolean {
    return this.parts.redis.isEmbedded === true;
  }

  /** The error that keeps this process's worker from running, or a producer's finding of `audit: 'error'`. */
  get startFailure(): Error | undefined {
    const { failure } = this.starts;
    const counts = this.expected || this.parts.options.audit === 'error' || failure instanceof QueueLayoutError;
    return (counts ? failure : undefined) ?? this.workers.find(({ trouble }) => trouble)?.trouble;
  }

  /** Returns the ms since the last reply to a fetch, or since the app's start. 0 while all slots are busy. */
  get sinceLastFetchMs(): number {
    const sinceStart = Math.round(this.startedAt === undefined ? 0 : performance.now() - this.startedAt);
    const since = this.booted.map(({ worker }) => worker.sinceLastFetchMs ?? sinceStart);
    return since.length === 0 ? sinceStart : Math.max(...since);
  }

  /** The jobs of this process whose handlers still run although their signals were aborted, each until it ends. */
  get stuck(): readonly StuckJob[] {
    return this.workers.flatMap((worker) => worker.stuck);
  }

  /** @throws InvalidOptionError, InvalidPayloadError for a bad handler or its schedule; RedisUnsuitableError; QueueLayoutError; RedisAuditError with `audit: 'error'` */
  async onModuleInit(): Promise<void> {
    try {
      await this.parts.handlers.bind(this.parts.hooks.connections);
      await this.parts.middleware.open();
      await this.parts.handlers.schedules.whenChecked();
      this.parts.listeners.bind();
      const { middleware, listeners, logger } = this.parts;
      const emit = eventListener(middleware.list, listeners.listener, logger);
      if (emit) {
        emitCancels(this.parts.queues, emit);
      }
      if (this.expected) {
        await this.openThreads();
      }
      await this.connect();
    } catch (error) {
      await this.parts.hooks.close();
      throw error;
    }
  }

  private async connect(): Promise<void> {
    const { requireRedis, redisIsAssumed } = this.parts.options;
    if (redisIsAssumed) warnOfAssumedRedis(this.parts.logger, this.parts.redis.address);
    if (requireRedis) {
      await this.parts.redis.require(requireRedis.timeoutMs);
    } else if (!(await this.parts.redis.reach(LOOK_MS))) {
      this.parts.logger.warn(
        `Could not connect to Redis at ${this.parts.redis.address} (${this.parts.redis.trouble}). The app starts without it, and runs jobs once Redis is reachable. ${this.parts.redis.remedy}`,
      );
      return;
    }
    try {
      await this.auditOnce();
    } catch (error) {
      if (requireRedis || !this.parts.redis.store.passes(error)) {
        throw error;
      }
      this.parts.logger.warn(
        `Could not check Redis at ${this.parts.redis.address} yet${causeInWords(error as Error)}`,
      );
    }
  }

  /** @throws QueueLayoutError; InvalidOptionError for another number of shards; RedisAuditError with `audit: 'error'` */
  private async auditOnce(): Promise<void> {
    await this.parts.queues.checkLayouts();
    await checkSpreads(this.parts.queues, this.parts.logger);
    await this.parts.audit.run();
    this.audited = true;
  }

  async start(): Promise<void> {
    if (this.startedAt !== undefined || this.draining) {
      return;
    }
    this.startedAt = performance.now();
    const { logContext } = this.parts.options;
    if (logContext) {
      this.jobLines = JobLines.install(
        (queue) => this.parts.queues.reference(queue).options.redact,
        logContext === true ? undefined : logContext,
      );
    }
    this.maintenance.start();
    this.parts.verdicts.start();
    const isAtHand = this.audited && (!this.expected || this.parts.redis.ready);
    this.starting = this.starts.run(this.expected ? 'The worker' : '', () => this.startWhenReady());
    if (isAtHand) {
      await this.boot(this.starting);
    }
  }

  /**
   * Waits for the first start of the worker. If Redis passes through a fault, the app boots, and the worker starts
   * later.
   *
   * @throws the error of the start, if it stays; RedisUnsuitableError if Redis is required and not usable in time
   */
  private async boot(starting: Promise<Error | undefined>): Promise<void> {
    const { requireRedis } = this.parts.options;
    const limitMs = requireRedis ? requireRedis.timeoutMs : LOOK_MS;
    const late = () => {
      if (!requireRedis) return undefined;
      const why = causeInWords(this.startFailure);
      const error = new RedisUnsuitableError(`The worker did not start within ${limitMs} ms${why}`);
      this.parts.logger.error(`${error.message} Stopping the app`); // which throws it after its other workers have drained
      return error;
    };
    const error = await within(systemClock, limitMs, starting, late);
    if (error) throw error;
  }

  /**
   * Starts the workers of `worker: 'manual'`. Waits until the worker of this process runs, however long Redis is away.
   * Before the end of the bootstrap it does not wait, or a hook of the app would wait for itself.
   *
   * @throws InvalidOptionError for `worker: false` or a process that stops; the error of a start that cannot succeed
   */
  async startWorkers(): Promise<void> {
    if (this.parts.options.worker === false || this.draining) {
      const found = this.draining ? 'a process that stops' : 'worker: false';
      throw new InvalidOptionError('startWorkers', "a process with worker: 'manual' or true", found);
    }
    if (this.awaitsCall) {
      this.asked = true;
      // A boot that still waits for Redis starts the workers itself.
      if (this.isIdle) this.starting = this.starts.run('The worker', () => this.startWhenReady());
    }
    const error = await this.starting;
    if (error) throw error;
  }

  /** Returns whether Redis is connected: now, and at each change. */
  watchConnection(listener: (connected: boolean) => void): void {
    this.parts.redis.connection.watch(listener);
  }

  private async startWhenReady(): Promise<void> {
    if (!this.audited || this.expected) await this.parts.redis.connection.whenReady();
    if (!this.audited && !this.draining) await this.auditOnce();
    if (this.expected && !this.draining) await this.openThreads();
    if (!this.draining) await this.declaredTopics.keepWriting(this);
    if (!this.draining && !this.expected) this.declaredTopics.keepAdding(this);
    if (!this.draining) await this.startWorker();
  }

  private get declaredTopics(): DeclaredTopics {
    return DeclaredTopics.of(this.parts.redis.store);
  }

  /** Opens the threads of handlers, once. */
  private openThreads(): Promise<void> {
    this.threads ??= this.parts.handlers.openThreads();
    return this.threads;
  }

  /** Binds and runs the handlers of a lazily loaded module. Does nothing before the app has bound its handlers. */
  private async serveLoaded(): Promise<void> {
    const queues = this.draining ? [] : await this.parts.handlers.bindLoaded();
    await this.parts.handlers.schedules.whenChecked();
    if (this.audited) await this.checkLoaded(queues);
    if (queues.length > 0 && !this.draining) await this.declaredTopics.keepWriting(this);
    if (queues.length === 0 || !this.canServe || this.awaitsCall) {
      if (!this.draining) this.declaredTopics.keepAdding(this);
      return;
    }
    await this.parts.handlers.openThreads(queues);
    if (this.startedAt === undefined) {
      return; // their jobs run from the start of the app
    }
    const workers = this.makeAll(queues);
    this.later.push(...workers.map(({ worker }) => worker));
    const isAtHand = this.parts.redis.ready;
    const starting = this.starts.run(`The worker of ${queues.join(', ')}`, () => this.run(workers));
    if (isAtHand) {
      await within(systemClock, LOOK_MS, starting, () => undefined);
    }
  }

  /** Compares the numbers of shards of lazily loaded queues. Before the audit of the boot, that does it. */
  private checkLoaded(names: readonly string[]): Promise<void> {
    const { queues, logger } = this.parts;
    return checkSpreads(
      queues,
      logger,
      names.flatMap((name) => queues.spreadOf(name) ?? []),
    );
  }

  get workers(): readonly Worker[] {
    return [...this.booted.map(({ worker }) => worker), ...this.later];
  }

  /** Starts the worker, where this process is to run one. The boot says in three lines what this process does. */
  private async startWorker(): Promise<void> {
    const { prefix } = resolveQueueOptions('forRoot', this.parts.options.queueDefaults);
    const where = serverInWords(this.isEmbedded, this.parts.redis.address, prefix);
    const isBoot = !this.isIdle;
    const connected = () => isBoot && this.parts.logger.log(where);
    if (this.expected) {
      if (this.booted.length === 0) this.booted = this.makeAll(this.parts.handlers.queueNames);
      await this.run(this.booted, connected);
    } else {
      connected();
      this.parts.logger.log(`Worker: none, ${this.whyNone}`);
    }
    if (isBoot) this.parts.logger.log(`Maintenance: ${maintenanceInWords(this.parts.options.maintenance)}`);
    this.isIdle = this.booted.length === 0;
  }

  private get whyNone(): string {
    if (this.parts.options.worker === false) return 'worker is false';
    return this.canServe ? 'until the app calls startWorkers()' : 'this process has no handlers';
  }

  /** Makes the workers of these queues, once: one of its own for each queue with shards, which share its slots. */
  private makeAll(names: readonly string[]): ServingWorker[] {
    const { queues, options } = this.parts;
    const spread = names.filter((name) => queues.spreadOf(name));
    const others = names.filter((name) => !spread.includes(name));
    const groups = [...(others.length > 0 ? [others] : []), ...spread.map((name) => [name])];
    if (groups.length > 1 && options.concurrency !== undefined) {
      throw new InvalidOptionError(
        'JobQueueModule.forRoot.concurrency',
        `none beside other queues and \`spread\` of queue "${spread[0]!}"`,
        show(options.concurrency),
        'Set the `concurrency` of each queue instead.',
      );
    }
    return groups.map((each) => ({ worker: this.make(each), names: each }));
  }

  private make(names: readonly string[]): Worker {
    const worker = makeWorker(names, {
      options: this.parts.options,
      queues: this.parts.queues,
      handlers: this.parts.handlers,
      logger: this.parts.logger,
      listeners: this.parts.listeners,
      middleware: [...(this.jobLines ? [this.jobLines.middleware] : []), ...this.parts.middleware.list],
    });
    const served = names.flatMap((name) => this.parts.queues.shardsOf(name));
    this.controls.apply(
      worker,
      served.map(({ name }) => name),
    );
    return worker;
  }

  private async run(workers: readonly ServingWorker[], started = () => {}): Promise<void> {
    await Promise.all(workers.map(({ worker }) => worker.start()));
    started();
    for (const { worker, names } of workers) {
      const served = names.map((name) => ({
        name,
        concurrency: this.parts.queues.concurrencyOf(name),
        handlers: this.parts.handlers.handlersOf(name),
        shards: this.parts.queues.shardsOf(name).length,
      }));
      this.parts.logger.log(workerInWords(worker.id, served, this.parts.options.concurrency));
    }
  }

  /** Sets how many jobs of a queue this process runs at once, from now on. @throws InvalidOptionError */
  setConcurrency(queue: string, concurrency: number): void {
    const { handlers } = this.parts;
    const isServed = this.expected && handlers.queueNames.includes(queue);
    this.controls.setConcurrency(queue, concurrency, isServed ? servedShards(queue, this.parts)[0] : undefined);
  }

  /** Stops the worker and the sweep permanently, within `shutdownTimeoutMs`. A second call waits for the first. */
  drain(): Promise<void> {
    this.draining ??= this.stop();
    return this.draining;
  }

  private async stop(): Promise<void> {
    const { shutdownTimeoutMs } = this.parts.options;
    this.drainBy = performance.now() + shutdownTimeoutMs;
    this.starts.end();
    this.declaredTopics.end(this);
    const stopped = Promise.all([
      ...this.workers.map((worker) => worker.stop()),
      this.maintenance.stop(shutdownTimeoutMs),
      this.parts.verdicts.stop(shutdownTimeoutMs),
    ]);
    this.parts.redis.stopping?.(stopped);
    await stopped;
    await this.parts.handlers.close(this.leftMs);
    this.jobLines?.remove();
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    await this.drain();
    this.parts.queues.close();
    await this.parts.redis.close(this.leftMs);
  }

  private get leftMs(): number {
    return Math.max(0, this.drainBy! - performance.now());
  }
}

/** Returns the names of a queue's handlers, unless the only one is the queue's name. */
function namesBeside(queue: string, handlers: object): string {
  const names = Object.keys(handlers);
  return names.length === 1 && names[0] === queue ? '' : ` (${names.join(', ')})`;
}

/** A worker and the queues that it serves. */
interface ServingWorker {
  worker: Worker;
  names: readonly string[];
}

interface ServedQueue {
  name: string;
  shards: number;
  concurrency: number;
  handlers: object;
}

/** Returns which queues a worker serves, and how many jobs it runs at once. */
function workerInWords(id: string, queues: readonly ServedQueue[], most = Infinity): string {
  const served = queues.map(
    ({ name, concurrency, handlers, shards }) =>
      `${name} ×${concurrency}${namesBeside(name, handlers)}${shards > 1 ? ` over ${shards} shards` : ''}`,
  );
  const slots = queues.reduce((sum, { concurrency }) => sum + concurrency, 0);
  return `Worker ${id} serves ${served.join(', ')}; ${Math.min(slots, most)} at once in this process`;
}

/** Returns where the jobs are. */
function serverInWords(isEmbedded: boolean, address: string, prefix: string): string {
  return isEmbedded
    ? 'Jobs are in the memory of this process, without Redis: they are lost at its end, and no other process sees them'
    : `Redis: ${address}, keys begin with "${prefix}:"`;
}

/** Warns if nobody said where Redis is, although the app runs in production. */
function warnOfAssumedRedis(logger: JobQueueLogger, address: string): void {
  if (process.env['NODE_ENV'] === 'production') {
    const isEmpty = process.env['REDIS_URL'] === '';
    logger.warn(
      `${isEmpty ? 'REDIS_URL is empty, and redis is not set' : 'Neither redis nor REDIS_URL is set'}, although NODE_ENV is ` +
        `production. This process uses ${address}. Set REDIS_URL, or redis in JobQueueModule.forRoot.`,
    );
  }
}

/** Returns who maintains the queues, and when. */
function maintenanceInWords(maintenance: MaintenanceSchedule | false): string {
  if (maintenance === false) {
    return 'not by this process; another one must do it';
  }
  return 'everyMs' in maintenance
    ? `this process, every ${maintenance.everyMs} ms`
    : `this process, at ${maintenance.cron}${maintenance.timeZone ? ` (${maintenance.timeZone})` : ''}`;
}

/** Emits an event for each waiting job that a call of this process cancels, because no worker holds it. */
function emitCancels(queues: QueueRegistry, emit: WorkerEventListener): void {
  // A queue that this process let go of may become known again.
  const followed = new WeakSet<JobQueue>();
  const follow = (queue: JobQueue) =>
    !followed.has(queue) &&
    followed.add(queue) &&
    void queue.onCancelled((record) => {
      const error = cancelledError(record.attempts > 0 || record.attemptLog.length > 0);
      emit({ type: 'cancelled', job: unclaimedJob(record, queue), error });
    });
  queues.all.forEach(follow);
  queues.watch({ added: follow, closed: () => undefined });
}

/**
 * Calls a function after each module that the app loads lazily. Nest runs no hook of such a module, so its loader is asked.
 *
 * @param loaded a rejection of it rejects the load
 */
function watchLazyModules(loader: LazyModuleLoader, loaded: () => Promise<void>): void {
  const load = loader.load.bind(loader);
  loader.load = async (...args) => {
    const ref = await load(...args);
    await loaded();
    return ref;
  };
}

/** The parts of an app that its workers use. */
interface WorkerParts {
  options: ResolvedModuleOptions;
  queues: QueueRegistry;
  handlers: HandlerRegistry;
  logger: JobQueueLogger;
  listeners: JobListeners;
  /** The middleware around attempts, without that of the current job. */
  middleware: readonly AttemptMiddleware[];
}

/** Returns a queue with its handlers, as a worker takes it: each of its shards. */
function servedShards(name: string, { queues, handlers }: Pick<WorkerParts, 'queues' | 'handlers'>): WorkerQueue[] {
  return queues.shardsOf(name).map((queue, shard) => ({
    queue,
    concurrency: queues.concurrencyOf(name),
    prefetch: queues.prefetchOf(name),
    handlers: handlers.handlersOf(name),
    onFailed: handlers.failures.of(name),
    // Of several shards the first has the schedules. Its name stays with another number.
    schedules: shard === 0 ? handlers.schedules.of(name) : {},
  }));
}

/** Makes the worker of some queues of an app. */
function makeWorker(names: readonly string[], parts: WorkerParts): Worker {
  const { listeners, logger, options, queues } = parts;
  const { concurrency, limits, shutdownTimeoutMs, logFailures, app, version, profiles, onTrip } = options;
  const served = names.flatMap((name) => servedShards(name, parts));
  const spread = queues.spreadOf(names[0]!);
  return new Worker(served, {
    concurrency: spread ? Math.min(queues.concurrencyOf(spread.name), concurrency ?? Infinity) : concurrency,
    claimsFromOne: spread !== undefined,
    limits,
    shutdownTimeoutMs,
    sweepIntervalMs: 0, // the scheduler sweeps, which covers queues without handlers too
    logger,
    logFailures,
    app,
    version,
    profiles,
    onTrip: listeners.tripListener(onTrip),
    middleware: [...(options.currentJob ? [currentJobMiddleware] : []), ...parts.middleware],
    onEvent: listeners.listener,
  });
}

/** The pauses and other requests to the workers of this process. They apply to later workers too. */
class WorkerControls {
  private readonly paused = new Set<string | undefined>();
  private readonly concurrencies = new Map<string, number>();
  private readonly servedBy = new Map<Worker, readonly string[]>();

  private served: (worker: string, queues: readonly string[]) => void = () => undefined;

  /**
   * @param shardsOf returns the names of the shards of a queue, or its own
   * @param most returns the `concurrency` of the process
   */
  constructor(
    private readonly workers: () => readonly Worker[],
    private readonly shardsOf: (queue: string) => readonly string[],
    private readonly most: () => number,
  ) {}

  /** @param served the queues of the worker */
  apply(worker: Worker, served: readonly string[]): void {
    this.servedBy.set(worker, served);
    this.served(worker.id, served);
    this.paused.forEach((queue) => this.namesOf(queue).forEach((name) => worker.pause(name)));
    this.concurrencies.forEach((slots, queue) => served.includes(queue) && this.setSlots(worker, queue, slots));
  }

  /** Calls a listener with the id and the queues of each worker, also of the present ones. */
  watchServed(listener: (worker: string, queues: readonly string[]) => void): void {
    this.served = listener;
    this.servedBy.forEach((queues, worker) => listener(worker.id, queues));
  }

  pause(queue?: string): void {
    this.paused.add(queue);
    this.workers().forEach((worker) => this.namesOf(queue).forEach((name) => worker.pause(name)));
  }

  resume(queue?: string): void {
    if (queue === undefined) {
      this.paused.clear();
    }
    this.paused.delete(queue);
    this.workers().forEach((worker) => this.namesOf(queue).forEach((name) => worker.resume(name)));
  }

  private namesOf(queue: string | undefined): readonly (string | undefined)[] {
    return queue === undefined ? [undefined] : this.shardsOf(queue);
  }

  /**
   * @param served the queue with its handlers here
   * @throws InvalidOptionError
   */
  setConcurrency(queue: string, concurrency: number, served: WorkerQueue | undefined): void {
    if (!served) {
      throw new InvalidOptionError('setConcurrency queue', 'a queue that this process serves', show(queue));
    }
    checkCount('concurrency', concurrency, 1, HIGHEST_CONCURRENCY);
    checkSlots([served], undefined, () => concurrency); // also before the start, which would fail
    this.servedBy.forEach((queues, worker) => queues.includes(queue) && this.setSlots(worker, queue, concurrency));
    this.concurrencies.set(queue, concurrency);
  }

  /** Sets the slots of a queue in its worker. All shards of a queue share those of a worker of their own. */
  private setSlots(worker: Worker, queue: string, concurrency: number): void {
    if (this.shardsOf(queue).length > 1) {
      worker.setSharedConcurrency(Math.min(concurrency, this.most()));
    } else {
      worker.setConcurrency(queue, concurrency);
    }
  }
}

/** The pause after an error that passes, in ms. */
const SOON_MS = 1_000;
/** The pause after an error that stays until somebody changes the setup, in ms. */
const LATER_MS = 10_000;

/** Repeats the starts of workers until they succeed, so that an app heals without a restart. */
class WorkerStarts extends Repetition {
  /**
   * Runs a start until it succeeds or the app ends. Resolves then, or with the first error that stays.
   *
   * @param what names the start in logs; '' for a process without a worker, which only checks Redis
   */
  run(what: string, start: () => Promise<void>): Promise<Error | undefined> {
    return new Promise((resolve) => void this.repeat(what, start, resolve));
  }

  private async repeat(what: string, start: () => Promise<void>, settled: (error?: Error) => void): Promise<void> {
    while (!this.ended) {
      try {
        await start();
        this.succeeded(what);
        break;
      } catch (error) {
        const passes = this.store.passes(error);
        this.failed(what, error as Error, passes);
        if (!passes) settled(error as Error);
        await this.rest(passes ? SOON_MS : LATER_MS);
      }
    }
    settled();
  }

  private async rest(ms: number): Promise<void> {
    if (!this.ended) {
      await this.pause.wait(ms);
    }
  }

  /** Keeps the error, and logs it once. */
  private failed(what: string, error: Error, passes: boolean): void {
    if (!this.note(what, error)) {
      return;
    }
    const again = `trying again every ${(passes ? SOON_MS : LATER_MS) / 1_000} s`;
    const why = withRemedy(error.message);
    const text = what ? `${what} could not start; ${again}: ${why}` : `${why} (${again})`;
    if (passes) {
      this.logger.warn(text);
    } else {
      this.logger.error(text);
    }
  }
}
