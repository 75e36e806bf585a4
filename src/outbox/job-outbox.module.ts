import { z } from 'zod';
import { registerQueues } from '../queue/register/register-queues.js';
import { checkConnectionName, DEFAULT_CONNECTION, partToken } from '../nest/connection/connection-tokens.js';
import { IN_MEMORY } from '../nest/job-queue.options.js';
import type { QueueRegistry } from '../nest/connection/queue-registry.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { systemClock } from '../queue/runtime/clock.js';
import { duration, flag } from '../queue/validation/numbers.js';
import { checkNestModules, checkOptions } from '../queue/validation/validate-options.js';
import { missingTables, unsafeSetting } from './check-tables.js';
import { JobOutbox } from './job-outbox.js';
import { DIALECTS, type OutboxDatabase } from './outbox-database.js';

/** The options of `JobOutboxModule`. */
export interface JobOutboxOptions {
  /** The database, by `fromTypeOrm`, `fromPg` and the like. */
  database: OutboxDatabase;
  /** False if this process only writes rows, and leaves their shipping to others. @default true */
  relay?: boolean | undefined;
  /** The time between two looks for rows, in ms. A process also looks right after its own enqueues. @default 1,000 */
  pollMs?: number | undefined;
  /** The time for which `jobs.once` knows that work was done, in ms. @default 30 days */
  keepDoneMs?: number | undefined;
}

/** The options of `JobOutboxModule.forRootAsync`. */
export interface JobOutboxAsyncOptions {
  /** The modules that export the injected providers. */
  imports?: unknown[] | undefined;
  /** The arguments of the factory. */
  inject?: unknown[] | undefined;
  /** Makes the options. */
  useFactory: (...parts: never[]) => JobOutboxOptions | Promise<JobOutboxOptions>;
  /** The names of the connections whose queues get jobs by the outbox. @default that of the `forRoot` without a name */
  connections?: readonly string[] | undefined;
}

/** A dynamic module of Nest. Typed here, so that the types of this entry point need no Nest. */
export interface OutboxModule {
  /** The class of the module. */
  module: typeof JobOutboxModule;
  /** True: Nest keeps one instance for the app. */
  global: boolean;
  /** The modules of the injected providers. */
  imports: never[];
  /** The providers of the module. */
  providers: {
    /** The token. */
    provide: symbol | typeof JobOutbox;
    /** Makes the value. */
    useFactory: (...parts: never[]) => unknown;
    /** The tokens of the arguments. */
    inject: never[];
  }[];
  /** The tokens that the app can inject. */
  exports: (typeof JobOutbox)[];
}

const OPTIONS: symbol = Symbol.for('nest-job-queue:outbox-options');
/** The table that each process writes. */
const WRITTEN_TABLE = 'job_outbox';
const MONTH_MS = 30 * 24 * 3_600_000;

const optionsSchema = z.strictObject(
  {
    database: z.custom<OutboxDatabase>(isDatabase, 'expected a database, by fromPg(…) or the like'),
    relay: flag.default(true),
    pollMs: duration(10).default(1_000),
    keepDoneMs: duration(1).default(MONTH_MS),
  },
  { error: 'expected an object with database, relay, pollMs, keepDoneMs' },
);

function isDatabase(value: unknown): boolean {
  const { dialect, refusalOf, run, begin } = (value ?? {}) as Partial<OutboxDatabase>;
  return DIALECTS.includes(dialect!) && [refusalOf, run, begin].every((method) => typeof method === 'function');
}

/**
 * Adds jobs in transactions of a database: `jobs.enqueue(name, payload, { transaction })`. Import it once, beside
 * `JobQueueModule.forRoot()`. `npx nest-job-queue outbox sql` prints the tables.
 *
 * @example
 * \@Module({ imports: [JobQueueModule.forRoot(), JobOutboxModule.forRoot({ database: fromPg(pool) })] })
 * export class AppModule {}
 */
export class JobOutboxModule {
  /** Declares the module. @throws InvalidOptionError that names the option, at boot */
  static forRoot(options: JobOutboxOptions & Pick<JobOutboxAsyncOptions, 'connections'>): OutboxModule {
    const { connections, ...rest } = options ?? {};
    return moduleOf({ useFactory: () => rest, ...(connections && { connections }) });
  }

  /** Declares the module with options of a factory. @throws InvalidOptionError that names the option, at boot */
  static forRootAsync(options: JobOutboxAsyncOptions): OutboxModule {
    return moduleOf(options);
  }
}

function moduleOf(options: JobOutboxAsyncOptions): OutboxModule {
  const { imports = [], inject = [], useFactory, connections = [DEFAULT_CONNECTION] } = options;
  checkNestModules('JobOutboxModule.imports', imports);
  connections.forEach((name) => checkConnectionName('JobOutboxModule.connections', name));
  return {
    module: JobOutboxModule,
    global: true,
    imports: imports as never[],
    providers: [
      { provide: OPTIONS, useFactory, inject: inject as never[] },
      {
        provide: JobOutbox,
        useFactory: (given: JobOutboxOptions, ...queues: QueueRegistry[]) =>
          new AppOutbox(given, new Map(connections.map((name, i) => [name, queues[i]!]))),
        inject: [OPTIONS, ...connections.map((name) => partToken('queues', name))] as never[],
      },
    ],
    exports: [JobOutbox],
  };
}

/** The outbox of an app. It starts and stops with it. */
class AppOutbox extends JobOutbox {
  private readonly isEmbedded: boolean;

  constructor(options: JobOutboxOptions, registries: ReadonlyMap<string, QueueRegistry>) {
    const { relay, ...checked } = checkOptions('JobOutboxModule', optionsSchema, options);
    const [first] = registries.values();
    const isEmbedded = [...registries.values()].some(({ redis }) => redis.isEmbedded);
    if (relay && isEmbedded) {
      throw inMemory();
    }
    super({
      ...checked,
      relays: relay,
      clock: systemClock,
      logger: first!.redis.connection.logger,
      connections: [...registries.keys()],
      queueOf: (connection, name) => {
        const queue = registries.get(connection)!.requested(name);
        registerQueues(queue);
        return queue;
      },
    });
    registries.forEach((registry, connection) => {
      registry.outbox = this.writerFor(connection);
    });
    this.isEmbedded = isEmbedded;
  }

  /** @throws InvalidOptionError if the queues are in memory */
  override async ship(): Promise<void> {
    if (this.isEmbedded) {
      throw inMemory();
    }
    return super.ship();
  }

  /**
   * Checks the database and starts. Called by Nest.
   *
   * @throws InvalidOptionError if a table is missing, or statements of the database's client are unsafe
   */
  async onApplicationBootstrap(): Promise<void> {
    const expected = 'the tables of the outbox';
    const missing = await this.missingTables().catch((error: unknown) => (error as Error).message);
    if (missing !== undefined) {
      refuseDatabase(expected, missing, 'Make them by a migration: `npx nest-job-queue outbox sql` prints it.');
    }
    const unsafe = await unsafeSetting(this.table.database);
    if (unsafe) {
      refuseDatabase(unsafe.expected, unsafe.found, unsafe.remedy);
    }
    this.start();
  }

  /** Returns the missing tables that this process needs, in words. One that only writes rows may have no right to read them. */
  private async missingTables(): Promise<string | undefined> {
    const missing = await missingTables(this.table.database);
    const needed = this.relays ? missing : missing.filter((table) => table === WRITTEN_TABLE);
    if (this.relays && needed.length === 0) {
      await this.stats();
    }
    return needed.length > 0 ? `none of the name ${needed.join(', ')}` : undefined;
  }

  /** Stops before the connections close. Called by Nest. */
  async onModuleDestroy(): Promise<void> {
    await this.stop();
  }
}

function refuseDatabase(expected: string, found: string, hint: string): never {
  throw new InvalidOptionError('JobOutboxModule.database', expected, found, hint);
}

/** Returns the refusal of a relay that would move the rows of all processes into the memory of this one. */
function inMemory(): InvalidOptionError {
  return new InvalidOptionError(
    'JobOutboxModule.relay',
    'a Redis server for the jobs that it moves',
    `redis: '${IN_MEMORY}', where they end with this process`,
    'Set `relay: false`, so that another process moves them, or REDIS_URL.',
  );
}
