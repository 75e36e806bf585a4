import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { QueueLayoutError } from '../../queue/errors/layout-error.js';
import type { StuckJob } from '../../queue/model/worker-record.js';
import type { Worker } from '../../worker/worker.js';
import { RedisUnsuitableError } from '../../queue/errors/errors.js';
import { systemClock } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/within.js';
import type { LifecycleParts } from './lifecycle-parts.js';
import { makeWorker } from './make-worker.js';
import { WorkerStarts } from './worker-starts.js';
import { WorkerControls } from './worker-controls.js';
import { causeInWords } from '../connection/connection-remedy.js';
import { JobLines } from '../context/job-lines.js';
import { maintenanceInWords, serverInWords, warnOfAssumedRedis, workerInWords } from './boot-lines.js';
import { emitCancels } from './cancel-events.js';
import { watchLazyModules } from './lazy-modules.js';
import type { LifecycleOrder, Runtime } from './lifecycle-order.js';

/** The time the boot waits for Redis if it may continue without it, in ms. */
const LOOK_MS = 2_000;

/**
 * Binds the worker to the life of the app. It checks handlers and looks for Redis when modules initialize. Jobs run from
 * the end of the bootstrap to the beginning of the shutdown. The connection closes last.
 */
export class WorkerLifecycle implements Runtime, OnModuleInit, OnApplicationShutdown {
  private current: Worker | undefined;
  /** The workers of lazy modules. */
  private readonly later: Worker[] = [];
  private startedAt: number | undefined;
  private draining: Promise<void> | undefined;
  private drainBy: number | undefined;
  private jobLines: JobLines | undefined;
  private audited = false;
  private starting: Promise<Error | undefined> | undefined;
  private readonly starts: WorkerStarts;
  /** The pauses and other requests to the workers of this process. */
  readonly controls = new WorkerControls(() => this.workers);

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
    return this.current;
  }

  /** Returns whether this process is to run a worker. */
  get expected(): boolean {
    return this.parts.options.worker && this.parts.handlers.queueNames.length > 0;
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
    const sinceStart = this.startedAt === undefined ? 0 : performance.now() - this.startedAt;
    return this.current?.sinceLastFetchMs ?? Math.round(sinceStart);
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
      if (this.parts.listeners.listener) {
        emitCancels(this.parts.queues, this.parts.listeners.listener);
      }
      if (this.expected) {
        await this.parts.handlers.openThreads();
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

  /** @throws QueueLayoutError; RedisAuditError with `audit: 'error'` */
  private async auditOnce(): Promise<void> {
    await this.parts.queues.checkLayouts();
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

  /** Waits until the worker of this process runs, however long Redis is away; throws why it could not start. */
  async whenRunning(): Promise<void> {
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
    if (!this.draining) await this.startWorker();
  }

  /** Binds and runs the handlers of a lazily loaded module. Does nothing before the app has bound its handlers. */
  private async serveLoaded(): Promise<void> {
    const queues = this.draining ? [] : await this.parts.handlers.bindLoaded();
    await this.parts.handlers.schedules.whenChecked();
    if (queues.length === 0 || !this.parts.options.worker) {
      return;
    }
    await this.parts.handlers.openThreads(queues);
    if (this.startedAt === undefined) {
      return; // their jobs run from the start of the app
    }
    const worker = this.make(queues);
    this.later.push(worker);
    const isAtHand = this.parts.redis.ready;
    const starting = this.starts.run(`The worker of ${queues.join(', ')}`, () => this.run(worker, queues));
    if (isAtHand) {
      await within(systemClock, LOOK_MS, starting, () => undefined);
    }
  }

  get workers(): readonly Worker[] {
    return this.current ? [this.current, ...this.later] : this.later;
  }

  /** Starts the worker, where this process is to run one, and says in three lines what this process does. */
  private async startWorker(): Promise<void> {
    const connected = () => this.parts.logger.log(serverInWords(this.isEmbedded, this.parts.redis.address));
    if (this.expected) {
      const names = this.parts.handlers.queueNames;
      this.current ??= this.make(names);
      await this.run(this.current, names, connected);
    } else {
      connected();
      this.parts.logger.log(
        `Worker: none, ${this.parts.options.worker ? 'this process has no handlers' : 'worker is false'}`,
      );
    }
    this.parts.logger.log(`Maintenance: ${maintenanceInWords(this.parts.options.maintenance)}`);
  }

  /** Makes a worker of these queues, once. */
  private make(names: readonly string[]): Worker {
    const worker = makeWorker(names, {
      options: this.parts.options,
      queues: this.parts.queues,
      handlers: this.parts.handlers,
      logger: this.parts.logger,
      listeners: this.parts.listeners,
      middleware: [...(this.jobLines ? [this.jobLines.middleware] : []), ...this.parts.middleware.list],
    });
    this.controls.apply(worker, names);
    return worker;
  }

  private async run(worker: Worker, names: readonly string[], started = () => {}): Promise<void> {
    await worker.start();
    started();
    const served = names.map((name) => ({
      name,
      concurrency: this.parts.queues.concurrencyOf(name),
      handlers: this.parts.handlers.handlersOf(name),
    }));
    this.parts.logger.log(workerInWords(worker.id, served, this.parts.options.concurrency));
  }

  /** Sets how many jobs of a queue this process runs at once, from now on. @throws InvalidOptionError */
  setConcurrency(queue: string, concurrency: number): void {
    this.controls.setConcurrency(queue, concurrency, this.expected ? this.parts.handlers.queueNames : []);
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
