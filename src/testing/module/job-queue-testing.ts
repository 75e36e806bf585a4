import { AsyncLocalStorage } from 'node:async_hooks';
import { Module, type DynamicModule } from '@nestjs/common';
import { ScriptStore, type StoreLink } from '../../memory/script-store.js';
import { ObservedServer, type QueueView } from '../../memory/server/observed-server.js';
import {
  MemoryConnection,
  type ServerConnection,
  STORE_OVERRIDE,
} from '../../nest/connection/server-connection.js';
import type { JobQueueModuleExtras } from '../../nest/job-queue-core.module.js';
import { JobQueueModule } from '../../nest/job-queue.module.js';
import type { ResolvedModuleOptions, JobQueueModuleOptions } from '../../nest/job-queue.options.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import { show } from '../../queue/errors/show.js';
import { resolveQueueOptions } from '../../queue/model/queue-options.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import { LONGEST_TIMER_MS, YEAR_MS } from '../../queue/runtime/bounds.js';
import { keptIn } from '../../queue/runtime/collections.js';
import type { EncodedJob } from '../../queue/store/enqueue-call.js';
import type { OutboxWriter, StoredIn, TransactionHandle } from '../../queue/store/outbox-writer.js';
import { checkFlag, checkKnown, checkMs, checkObject } from '../../queue/validation/validate-options.js';
import type { JobQueueMiddleware } from '../../worker/handlers/attempt-middleware.js';
import { outcomeOf } from '../../worker/handlers/handler.js';
import type { Job } from '../../worker/handlers/job.js';
import { VirtualClock } from '../time/virtual-clock.js';
import { RunningHandlers, TestClock, TestingError, TestedQueue } from './test-clock.js';
import {
  type EnqueuedJob,
  type DrainReport,
  ENDS,
  type HandlerFailure,
  TestLog,
  type TestedOutcome,
  reportInWords,
} from './test-log.js';

/** The time the worker of a test may take to stop, in ms by its clock. */
const SHUTDOWN_MS = 1_000;

const DRAIN_MS = 4_000;

/** Options of a testing module. */
export interface JobQueueTestingOptions {
  /** The initial time of the queues' clock. @default the time of the process */
  now?: Date | number | undefined;
  /** True if `drain` and `advance` throw the errors of handlers. @default false */
  throwErrors?: boolean | undefined;
}

/** Options of `drain`. */
export interface DrainOptions {
  /**
   * Stops before the clock moves on, once a job had this end. `retry`: after a first failure; `failed`: with a dead
   * letter.
   */
  until?: TestedOutcome | undefined;
  /** True to also run jobs enqueued for later, with `delayMs` or `runAt`. @default false */
  delayed?: boolean | undefined;
  /** True to throw the error of the first handler that fails. @default the option of `forTest` */
  throwErrors?: boolean | undefined;
  /** The time a handler may do nothing visible here before the drain rejects, in ms of real time. @default 4,000 */
  timeoutMs?: number | undefined;
}

/**
 * Controls the in-memory queues of a test: runs their jobs, moves their clock, and returns the enqueued jobs.
 *
 * @example
 * const testing = moduleRef.get(JobQueueTesting);
 * await service.signUp('ada@example.com');
 * expect(testing).toHaveEnqueued('email', { to: 'ada@example.com' });
 * await testing.drain();
 */
export class JobQueueTesting {
  private readonly clock: VirtualClock;
  /** The store of each app, on its server. */
  private readonly stores: { server: ObservedServer; store: ScriptStore }[] = [];
  private readonly tested = new WeakMap<QueueView, TestedQueue>();
  private readonly handlers = new RunningHandlers();
  private readonly time: TestClock;
  private readonly log = new TestLog();
  private readonly transactions = new TestTransactions();
  private readonly throwErrors: boolean;
  /** The part of the log that was already reported, because a job may run before the drain is called. */
  private reported = { ends: 0, errors: 0 };

  /** @throws InvalidOptionError */
  constructor(options: JobQueueTestingOptions = {}) {
    checkKnown('testing', options, ['now', 'throwErrors']);
    checkFlag('throwErrors', options.throwErrors);
    const now = Number(options.now ?? Date.now());
    if (!Number.isFinite(now)) {
      throw new InvalidOptionError('testing.now', 'a date', show(options.now));
    }
    this.throwErrors = options.throwErrors ?? false;
    this.clock = new VirtualClock(now);
    this.time = new TestClock(this.clock, () => this.queues, this.handlers);
  }

  /** The time of the queues' clock. */
  get now(): Date {
    return new Date(this.clock.now());
  }

  /** The errors of handlers since the start or the last `clear`, the first first. */
  get errors(): readonly HandlerFailure[] {
    return this.log.failures;
  }

  /**
   * Returns the jobs that were added since the start or the last `clear`, oldest first. Jobs of schedules count. Jobs
   * refused by a unique key or a known id do not.
   *
   * @param job a name or a definition. Default: all
   * @example expect(testing.enqueued('email')).toHaveLength(1);
   */
  enqueued<Payload = unknown>(job?: string | JobDefinition): EnqueuedJob<Payload>[] {
    const name = typeof job === 'object' ? job.name : job;
    return this.log.jobs.filter((each) => name === undefined || each.name === name) as EnqueuedJob<Payload>[];
  }

  /**
   * Runs all due jobs like production, and all that they cause: retries and jobs that handlers enqueue. For a retry,
   * the clock moves to the end of its backoff. Delayed jobs wait for `advance`.
   *
   * @returns the number of attempts by outcome since the last `drain` or `advance`
   * @throws TestingError if a handler does not end, no worker claims waiting jobs, or `until` did not occur
   */
  async drain(options: DrainOptions = {}): Promise<DrainReport> {
    checkKnown('drain', options, ['until', 'delayed', 'throwErrors', 'timeoutMs']);
    const { until, delayed = false, throwErrors = this.throwErrors, timeoutMs = DRAIN_MS } = options;
    checkFlag('drain.delayed', delayed);
    checkFlag('drain.throwErrors', throwErrors);
    checkMs('drain.timeoutMs', timeoutMs, 1, LONGEST_TIMER_MS);
    if (until !== undefined && !ENDS.includes(until)) {
      throw new InvalidOptionError('drain.until', ENDS.join(', '), show(until));
    }
    this.requireWorker();
    const { ends, errors } = this.reported;
    const reached = () => until !== undefined && this.log.ends.includes(until, ends);
    await this.time.drain({
      delayed,
      timeoutMs,
      attempts: () => this.log.ends.length,
      done: () => reached() || (throwErrors && this.log.failures.length > errors),
    });
    this.markReported();
    this.throwSince(errors, throwErrors);
    const report = this.log.reportSince(ends);
    if (until !== undefined && !reached()) {
      throw new TestingError(
        `drain({ until: '${until}' }) ran all that was due, and no job had that end: ${reportInWords(report)}.`,
      );
    }
    return report;
  }

  /**
   * Moves the clock and runs each job at its time: delayed jobs, retries and the ticks of schedules. Handler timeouts, heartbeats
   * and the expiry of claims follow this clock.
   *
   * @param ms at most a year
   * @returns the number of attempts by outcome since the last `drain` or `advance`
   * @example await testing.advance(31 * 24 * 3_600_000); // a month of recurring jobs
   */
  async advance(ms: number): Promise<DrainReport> {
    checkMs('advance', ms, 0, YEAR_MS);
    const { ends, errors } = this.reported;
    await this.time.advance(ms);
    this.markReported();
    this.throwSince(errors, this.throwErrors);
    return this.log.reportSince(ends);
  }

  /**
   * Runs work in a transaction of the test. Jobs of `enqueue(…, { transaction })` are added when it resolves, and never
   * if it rejects. A call inside of it, with the same object, is a savepoint.
   *
   * @param transaction the object that the work takes for its transaction, such as a fake of the database client
   * @example const db = {
   *   transaction: (work) => {
   *     const tx = { insert: () => Promise.resolve() };
   *     return testing.transaction(tx, () => work(tx));
   *   },
   * };
   */
  async transaction<Result>(transaction: object, work: () => Promise<Result>): Promise<Result> {
    checkObject('transaction', 'an object that stands for the transaction', transaction);
    return this.transactions.run(transaction, work);
  }

  /** Forgets which jobs were enqueued and which errors were thrown. The jobs themselves stay in their queues. */
  clear(): void {
    this.log.clear();
    this.markReported();
  }

  /** @internal Runs one attempt of a job that `enqueue` makes, with any end. */
  async runAttempt(
    { queue, attempt }: { queue: string; attempt: number },
    enqueue: () => Promise<{ id: string; queue: string }>,
  ) {
    const shards = this.queues.filter(({ name }) => name === queue || wholeOfShard(name) === queue);
    await Promise.all(shards.map((each) => each.exec((calls) => calls.pause({}))));
    const made = await enqueue();
    const { view } = shards.find(({ name }) => name === made.queue)!;
    view.write(view.keys.job(made.id), { attempts: String(attempt - 1) });
    await Promise.all(shards.map((each) => each.exec((calls) => calls.resume())));
    const from = this.log.ends.length;
    const done = () => this.log.ends.length > from;
    await this.time.drain({ delayed: true, timeoutMs: DRAIN_MS, attempts: () => this.log.ends.length, done });
  }

  /** @internal */
  connect(logger: SafeLogger): ServerConnection {
    const server = new ObservedServer(() => this.clock.now(), this.log, { random: () => this.clock.random() });
    const store = new ScriptStore(this.clock, { server, link: this.link });
    this.stores.push({ server, store });
    const outbox = new MemoryOutbox(store, logger, this.transactions);
    return new MemoryConnection(store, logger, (stopped) => void this.time.runUntil(stopped), outbox);
  }

  /** @internal */
  adjust(options: ResolvedModuleOptions): ResolvedModuleOptions {
    const shutdownTimeoutMs = Math.min(options.shutdownTimeoutMs, SHUTDOWN_MS);
    const middleware = [this.watch, ...options.middleware];
    return { ...options, redisIsAssumed: false, shutdownTimeoutMs, audit: 'off', middleware };
  }

  /** Outermost, so that it sees the same as in production. */
  private readonly watch: JobQueueMiddleware = {
    attempt: (job, next) =>
      this.handlers.track(job, async () => {
        try {
          return await next();
        } catch (error) {
          this.log.threw(job, error);
          throw error;
        }
      }),
    bulk: (jobs, next) =>
      this.handlers.trackAll(jobs, async () => {
        try {
          const outcomes = await next();
          jobs.forEach((job, i) => this.keepError(job, outcomeOf(outcomes, job, i)));
          return outcomes;
        } catch (error) {
          jobs.forEach((job) => this.log.threw(job, error));
          throw error;
        }
      }),
  };

  private keepError(job: Job, outcome: unknown): void {
    if (outcome instanceof Error) {
      this.log.threw(job, outcome);
    }
  }

  private readonly link: StoreLink = async (_script, run) => {
    this.handlers.active();
    return run();
  };

  private get queues(): TestedQueue[] {
    return this.stores.flatMap(({ server, store }) =>
      server.queues.map((view) => keptIn(this.tested, view, () => new TestedQueue(server, store, view))),
    );
  }

  /** @throws TestingError where no worker runs that could */
  private requireWorker(): void {
    const { queues } = this;
    if (queues.length > 0 && queues.every(({ hasWorker }) => !hasWorker) && this.log.jobs.length > 0) {
      throw new TestingError(
        'No worker runs here, so drain() would run no job. Call `await moduleRef.init()` after compile(), ' +
          'and provide the handlers of the jobs.',
      );
    }
  }

  /** Marks everything until now as reported. */
  private markReported(): void {
    this.reported = { ends: this.log.ends.length, errors: this.log.failures.length };
  }

  private throwSince(from: number, throws: boolean): void {
    if (throws && this.log.failures.length > from) {
      throw this.log.failures[from]!.error;
    }
  }
}

/**
 * Replaces the outbox in a test. It adds the jobs of `testing.transaction` at its commit. It takes any other object too,
 * and adds its jobs at once.
 */
class MemoryOutbox implements OutboxWriter {
  private readonly done = new Set<string>();
  private hasWarned = false;

  constructor(
    private readonly memory: ScriptStore,
    private readonly logger: SafeLogger,
    private readonly transactions: TestTransactions,
  ) {}

  async store({ transaction }: StoredIn, queue: string, jobs: readonly EncodedJob[]): Promise<void> {
    const calls = this.memory.callsOf(queue, resolveQueueOptions(`queue "${queue}"`, {}));
    const enqueue = async () => void (await this.memory.exec(calls.enqueue(jobs)));
    if (!this.transactions.defer(transaction, { commit: enqueue })) {
      this.warnOnce();
      await enqueue();
    }
  }

  private warnOnce(): void {
    if (!this.hasWarned) {
      this.hasWarned = true;
      this.logger.log(
        'No JobOutboxModule: jobs of transactions are added at once, also if these roll back. ' +
          'testing.transaction(…) adds them at the commit.',
      );
    }
  }

  async markDone(transaction: TransactionHandle, queue: string, job: string): Promise<boolean> {
    const key = `${queue}\t${job}`;
    const isFirst = !this.done.has(key);
    this.done.add(key);
    if (isFirst) {
      this.transactions.defer(transaction, { commit: () => undefined, undo: () => this.done.delete(key) });
    }
    return isFirst;
  }
}

/**
 * Replaces JobQueueModule in a test. Handlers, services and queues work as in production, in the memory of the process
 * and by the test's clock. It opens no connection and no port, and its timers do not keep the process alive.
 *
 * @example
 * const moduleRef = await Test.createTestingModule({
 *   imports: [JobQueueTestingModule.forTest()],
 *   providers: [SignUpService, EmailHandler],
 * }).compile();
 * await moduleRef.init();
 * const testing = moduleRef.get(JobQueueTesting);
 */
@Module({})
export class JobQueueTestingModule {
  /**
   * Replaces `JobQueueModule.forRoot(options)`.
   *
   * @param options as of `JobQueueModule.forRoot`; `redis` is not used
   * @throws InvalidOptionError
   * @example overrideModule(Jobs).useModule(JobQueueTestingModule.forTest({ maxAttempts: 3 })) // Jobs = JobQueueModule.forRoot(…)
   */
  static forTest(
    options: Omit<JobQueueModuleOptions, 'redis' | 'requireRedis' | 'audit'> & JobQueueModuleExtras = {},
    testing: JobQueueTestingOptions = {},
  ): DynamicModule {
    const { imports: _none, ...definition } = this.forApp(testing);
    return {
      ...definition,
      imports: [JobQueueModule.forRoot(options)],
      exports: [...definition.exports!, JobQueueModule],
    };
  }

  /**
   * Puts the queues of an app in memory: imported beside the app's own module, whose `JobQueueModule.forRoot` keeps its
   * options.
   *
   * @throws InvalidOptionError
   * @example Test.createTestingModule({ imports: [AppModule, JobQueueTestingModule.forApp()] })
   */
  static forApp(testing: JobQueueTestingOptions = {}): DynamicModule {
    return {
      module: JobQueueTestingModule,
      global: true,
      imports: [],
      providers: [
        { provide: JobQueueTesting, useFactory: () => new JobQueueTesting(testing) },
        { provide: STORE_OVERRIDE, useExisting: JobQueueTesting },
      ],
      exports: [JobQueueTesting, STORE_OVERRIDE],
    };
  }
}

/** A step of a commit, and how to undo what was noted before it. */
interface Deferred {
  /** Runs when the transaction commits. */
  commit(): void | Promise<void>;
  /** Runs when it rolls back. */
  undo?(): void;
}

/** A call of `run`. */
interface Scope {
  readonly transaction: TransactionHandle;
  /** The call around it, of any transaction. */
  readonly around: Scope | undefined;
  readonly deferred: Deferred[];
  isOpen: boolean;
}

/** The open transactions of a test. Calls with the same object may overlap: each owns the steps of its own work. */
export class TestTransactions {
  private readonly current = new AsyncLocalStorage<Scope>();
  private readonly open = new Set<Scope>();

  /** Runs work in a transaction: commits it, or rolls it back if the work rejects. A nested one is a savepoint. */
  async run<Result>(transaction: TransactionHandle, work: () => Promise<Result>): Promise<Result> {
    const scope: Scope = { transaction, around: this.current.getStore(), deferred: [], isOpen: true };
    this.open.add(scope);
    try {
      const result = await this.current.run(scope, work);
      await commit(scope);
      return result;
    } catch (error) {
      scope.deferred.forEach(({ undo }) => undo?.());
      throw error;
    } finally {
      scope.isOpen = false;
      this.open.delete(scope);
    }
  }

  /** Keeps a step for the commit. Returns false if the transaction is none of the test, or has ended. */
  defer(transaction: TransactionHandle, step: Deferred): boolean {
    const own = scopesOf(this.current.getStore(), transaction);
    // Work of another async context, such as an event, has no scope of its own.
    const scope =
      own.length > 0 ? own : [...this.open].filter((each) => each.transaction === transaction).toReversed();
    const target = scope.find(({ isOpen }) => isOpen);
    target?.deferred.push(step);
    return target !== undefined;
  }
}

/** Commits a call, or gives its steps to the open call around it. Steps that come meanwhile are committed too. */
async function commit(scope: Scope): Promise<void> {
  const outer = scopesOf(scope.around, scope.transaction).find(({ isOpen }) => isOpen);
  if (outer) outer.deferred.push(...scope.deferred);
  else for (const step of scope.deferred) await step.commit();
}

/** Returns the calls of a transaction from the innermost one outwards. */
function scopesOf(innermost: Scope | undefined, transaction: TransactionHandle): Scope[] {
  const scopes: Scope[] = [];
  for (let scope = innermost; scope !== undefined; scope = scope.around) {
    if (scope.transaction === transaction) scopes.push(scope);
  }
  return scopes;
}
