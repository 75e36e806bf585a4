// Outboxes on the transactions of ORMs and query builders, each of which brings its own driver.
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { MYSQL_ASK, isOpen } from './driver-handles.js';
import { numbered, rowsOf, type OutboxDatabase, type OutboxDialect } from './outbox-database.js';

/** An EntityManager or a QueryRunner of TypeORM, as the outbox uses it. */
export interface TypeOrmTransaction {
  /** Runs a statement. */
  query(sql: string, values?: unknown[]): Promise<unknown>;
}

/** A DataSource of TypeORM, as the outbox uses it. */
export interface TypeOrmDataSource {
  /** Its options. */
  readonly options: { readonly type: string };
  /** Runs work in a transaction. */
  transaction<Result>(work: (manager: TypeOrmTransaction) => Promise<Result>): Promise<Result>;
}

interface TypeOrmHandle {
  query?: unknown;
  queryRunner?: { isTransactionActive?: boolean };
  isTransactionActive?: boolean;
}

const TYPEORM_DIALECTS: Record<string, OutboxDialect> = {
  postgres: 'postgres',
  'aurora-postgres': 'postgres',
  mysql: 'mysql',
  mariadb: 'mysql',
  'aurora-mysql': 'mysql',
  sqlite: 'sqlite',
  'better-sqlite3': 'sqlite',
};

/**
 * Makes the database of the outbox from a DataSource of TypeORM. The transaction of an enqueue is the EntityManager of
 * `dataSource.transaction(…)`, or a QueryRunner with a started transaction.
 *
 * @throws InvalidOptionError for a database that the outbox does not know
 * @example JobOutboxModule.forRootAsync({ inject: [DataSource], useFactory: (db) => ({ database: fromTypeOrm(db) }) })
 */
export function fromTypeOrm(dataSource: TypeOrmDataSource): OutboxDatabase {
  const { type } = dataSource.options;
  const dialect = TYPEORM_DIALECTS[type];
  if (!dialect) {
    throw new InvalidOptionError(
      'fromTypeOrm',
      `a DataSource of ${Object.keys(TYPEORM_DIALECTS).join(', ')}`,
      show(type),
    );
  }
  const rendered = (sql: string) => (dialect === 'postgres' ? numbered(sql) : sql);
  return {
    dialect,
    refusalOf(transaction) {
      const { query, queryRunner, isTransactionActive } = (transaction ?? {}) as TypeOrmHandle;
      if (typeof query !== 'function') {
        return 'no EntityManager or QueryRunner';
      }
      if (isTransactionActive ?? queryRunner?.isTransactionActive) {
        return undefined;
      }
      return transaction === dataSource ? 'the DataSource itself' : 'a manager without a transaction';
    },
    run: async (transaction, sql, values) =>
      rowsOf(await (transaction as TypeOrmTransaction).query(rendered(sql), [...values])),
    begin: (work) => dataSource.transaction(work),
  };
}

/** A transaction of Prisma, as the outbox uses it. */
export interface PrismaTransaction {
  /** Runs a statement, and returns its rows. */
  $queryRawUnsafe<Result = unknown>(sql: string, ...values: never[]): PromiseLike<Result>;
}

/** A client of Prisma, as the outbox uses it. */
export interface PrismaInstance {
  /** Connects to the database. */
  $connect(): Promise<void>;
  /** Runs work in an interactive transaction. */
  $transaction<Result>(
    work: (transaction: PrismaTransaction) => Promise<Result>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<Result>;
}

/** The limits of a relay's transaction, in ms. Prisma's own are shorter than an answer of Redis may take. */
const PRISMA_LIMITS = { maxWait: 10_000, timeout: 60_000 };

/**
 * Makes the database of the outbox from a client of Prisma. The transaction of an enqueue is the `tx` of
 * `prisma.$transaction(async (tx) => …)`.
 *
 * @param options.dialect the dialect of the database. Default `postgres`
 * @example JobOutboxModule.forRootAsync({ inject: [PrismaService], useFactory: (prisma) => ({ database: fromPrisma(prisma) }) })
 */
export function fromPrisma(
  prisma: PrismaInstance,
  options: { dialect?: OutboxDialect | undefined } = {},
): OutboxDatabase {
  const { dialect = 'postgres' } = options;
  return {
    dialect,
    refusalOf(transaction) {
      const { $queryRawUnsafe: run, $connect: connect } = (transaction ?? {}) as Partial<
        PrismaTransaction & PrismaInstance
      >;
      if (typeof run !== 'function') {
        return 'no transaction of Prisma';
      }
      return connect === undefined ? undefined : 'the client itself';
    },
    run: async (transaction, sql, values) => {
      const text = dialect === 'postgres' ? numbered(sql) : sql;
      return rowsOf(await (transaction as PrismaTransaction).$queryRawUnsafe(text, ...(values as never[])));
    },
    begin: (work) => prisma.$transaction(work, PRISMA_LIMITS),
  };
}

/** The `sql` of drizzle-orm, as the outbox uses it: a tag for templates. */
export type DrizzleSql = (parts: TemplateStringsArray, ...values: unknown[]) => object;

/** A transaction of Drizzle, as the outbox uses it. */
export interface DrizzleTransaction {
  /** Ends the transaction. */
  rollback(): never;
}

/** A database of Drizzle, as the outbox uses it. */
export interface DrizzleDatabase {
  /** Runs work in a transaction. */
  transaction<Result>(work: (tx: DrizzleTransaction) => Promise<Result>): Promise<Result>;
}

/** The method for statements on PostgreSQL and MySQL, and that on SQLite. */
type Runs = Partial<Record<'execute' | 'all', (query: object) => PromiseLike<unknown>>>;

interface DrizzleHandle extends Runs {
  /** Its client of pg tells whether the transaction is open. */
  session?: { client?: { getTransactionStatus?(): string | null } };
}

/**
 * Makes the database of the outbox from a database of Drizzle, with an asynchronous driver. The transaction of an enqueue
 * is the `tx` of `db.transaction(…)`.
 *
 * @param options.sql the `sql` of drizzle-orm
 * @param options.dialect the dialect of the database. Default `postgres`
 * @example JobOutboxModule.forRoot({ database: fromDrizzle(db, { sql }) })
 */
export function fromDrizzle(
  db: DrizzleDatabase,
  options: { sql: DrizzleSql; dialect?: OutboxDialect | undefined },
): OutboxDatabase {
  const { sql: tag, dialect = 'postgres' } = options;
  const method = dialect === 'sqlite' ? 'all' : 'execute';
  const run = (transaction: unknown, text: string, values: readonly unknown[]) => {
    const parts = text.split('?');
    return (transaction as Required<Runs>)[method](tag(Object.assign(parts, { raw: parts }), ...values));
  };
  const hasEnded = async (handle: DrizzleHandle) =>
    dialect === 'mysql'
      ? !isOpen(await run(handle, MYSQL_ASK, []))
      : (handle.session?.client?.getTransactionStatus?.() ?? 'T') !== 'T';
  return {
    dialect,
    async refusalOf(transaction) {
      const handle = (transaction ?? {}) as DrizzleHandle;
      if (typeof handle[method] !== 'function') {
        return 'no transaction of Drizzle';
      }
      if (!('rollback' in handle)) {
        return 'the database itself';
      }
      return (await hasEnded(handle)) ? 'a transaction that has ended' : undefined;
    },
    run: async (transaction, text, values) => rowsOf(await run(transaction, text, values)),
    begin: (work) => db.transaction(work),
  };
}

/** An EntityManager of MikroORM, as the outbox uses it. */
export interface MikroOrmManager {
  /** Returns the open transaction. */
  getTransactionContext(): unknown;
}

/** A MikroORM instance, as the outbox uses it. */
export interface MikroOrmInstance {
  /** Its EntityManager. */
  readonly em: {
    /** Returns one without entities. */
    fork(): { transactional<Result>(work: (em: MikroOrmManager) => Promise<Result>): Promise<Result> };
  };
}

interface MikroOrmHandle extends MikroOrmManager {
  getConnection(): {
    execute(sql: string, values: readonly unknown[], method: 'all', context: unknown): Promise<unknown>;
  };
}

/**
 * Makes the database of the outbox from a MikroORM instance with an SQL driver. The transaction of an enqueue is the
 * EntityManager of `em.transactional(…)`.
 *
 * @param options.dialect the dialect of the database. Default `postgres`
 * @example JobOutboxModule.forRootAsync({ inject: [MikroORM], useFactory: (orm) => ({ database: fromMikroOrm(orm) }) })
 */
export function fromMikroOrm(
  orm: MikroOrmInstance,
  options: { dialect?: OutboxDialect | undefined } = {},
): OutboxDatabase {
  const { dialect = 'postgres' } = options;
  return {
    dialect,
    refusalOf(transaction) {
      const handle = (transaction ?? {}) as Partial<MikroOrmHandle>;
      if (typeof handle.getTransactionContext !== 'function') {
        return 'no EntityManager of MikroORM';
      }
      return handle.getTransactionContext() === undefined ? 'an EntityManager without a transaction' : undefined;
    },
    run: async (transaction, sql, values) => {
      const em = transaction as MikroOrmHandle;
      return rowsOf(await em.getConnection().execute(sql, values, 'all', em.getTransactionContext()));
    },
    begin: (work) => orm.em.fork().transactional(work),
  };
}

/** A transaction of Sequelize, as the outbox uses it. */
export interface SequelizeTransaction {
  /** Commits it. */
  commit(): Promise<unknown>;
}

/** A Sequelize instance, as the outbox uses it. */
export interface SequelizeInstance {
  /** Returns its dialect. */
  getDialect(): string;
  /** Runs a statement. */
  query(sql: string, options: never): Promise<unknown>;
  /** Runs work in a transaction. */
  transaction<Result>(work: (transaction: SequelizeTransaction) => Promise<Result>): Promise<Result>;
}

interface SequelizeHandle extends Partial<SequelizeTransaction> {
  sequelize?: SequelizeInstance;
  finished?: string;
}

const SEQUELIZE_DIALECTS: Record<string, OutboxDialect> = { postgres: 'postgres', mysql: 'mysql' };

/**
 * Makes the database of the outbox from a Sequelize instance. The transaction of an enqueue is that of
 * `sequelize.transaction(…)`.
 *
 * @throws InvalidOptionError for a database that the outbox does not know
 * @example JobOutboxModule.forRoot({ database: fromSequelize(sequelize) })
 */
export function fromSequelize(sequelize: SequelizeInstance): OutboxDatabase {
  const dialect = SEQUELIZE_DIALECTS[sequelize.getDialect()];
  if (!dialect) {
    const expected = `a Sequelize instance of ${Object.keys(SEQUELIZE_DIALECTS).join(', ')}`;
    throw new InvalidOptionError('fromSequelize', expected, show(sequelize.getDialect()));
  }
  return {
    dialect,
    refusalOf(transaction) {
      if (transaction === sequelize) {
        return 'the Sequelize instance itself';
      }
      const { commit, sequelize: owner, finished } = (transaction ?? {}) as SequelizeHandle;
      if (typeof commit !== 'function' || typeof owner?.query !== 'function') {
        return 'no transaction of Sequelize';
      }
      return finished === undefined ? undefined : 'a transaction that has ended';
    },
    run: async (transaction, sql, values) => {
      const options = { transaction, ...(values.length > 0 && { bind: [...values] }) };
      return rowsOf(await sequelize.query(numbered(sql), options as never));
    },
    begin: (work) => sequelize.transaction(work),
  };
}

/** A transaction of Knex, as the outbox uses it. */
export interface KnexTransaction {
  /** Runs a statement. */
  raw(sql: string, values: readonly never[]): PromiseLike<unknown>;
}

/** A Knex instance, as the outbox uses it. */
export interface KnexInstance {
  /** Its client, which knows the dialect. */
  readonly client: { readonly dialect?: string };
  /** Runs work in a transaction. */
  transaction<Result>(work: (trx: KnexTransaction) => Promise<Result>): Promise<Result>;
}

interface KnexHandle {
  raw?: unknown;
  isTransaction?: boolean;
  isCompleted?: () => boolean;
}

const KNEX_DIALECTS: Record<string, OutboxDialect> = { postgresql: 'postgres', mysql: 'mysql', sqlite3: 'sqlite' };

/**
 * Makes the database of the outbox from a Knex instance. The transaction of an enqueue is the `trx` of
 * `knex.transaction(…)`.
 *
 * @throws InvalidOptionError for a database that the outbox does not know
 * @example JobOutboxModule.forRoot({ database: fromKnex(knex) })
 */
export function fromKnex(knex: KnexInstance): OutboxDatabase {
  const dialect = KNEX_DIALECTS[knex.client.dialect ?? ''];
  if (!dialect) {
    throw new InvalidOptionError('fromKnex', 'a client of PostgreSQL, MySQL or SQLite', show(knex.client.dialect));
  }
  return {
    dialect,
    refusalOf(transaction) {
      const { raw, isTransaction, isCompleted } = (transaction ?? {}) as KnexHandle;
      if (typeof raw !== 'function') {
        return 'no transaction of Knex';
      }
      if (!isTransaction) {
        return 'the Knex instance itself';
      }
      return isCompleted?.() ? 'a transaction that has ended' : undefined;
    },
    run: async (transaction, sql, values) =>
      rowsOf(await (transaction as KnexTransaction).raw(sql, [...values] as never[])),
    begin: (work) => knex.transaction(work),
  };
}

/** A transaction of Kysely, as the outbox uses it. */
export interface KyselyTransaction {
  /** Runs a compiled statement. */
  executeQuery(query: never): Promise<unknown>;
}

/** A Kysely instance, as the outbox uses it. */
export interface KyselyInstance {
  /** Begins a transaction. */
  transaction(): { execute<Result>(work: (trx: KyselyTransaction) => Promise<Result>): Promise<Result> };
}

interface KyselyHandle {
  executeQuery?: unknown;
  isTransaction?: boolean;
  isCommitted?: boolean;
  isRolledBack?: boolean;
}

/**
 * Makes the database of the outbox from a Kysely instance. The transaction of an enqueue is the `trx` of
 * `db.transaction().execute(…)`.
 *
 * @param options.dialect the dialect of the instance. Default `postgres`
 * @example JobOutboxModule.forRoot({ database: fromKysely(db) })
 */
export function fromKysely(
  db: KyselyInstance,
  options: { dialect?: OutboxDialect | undefined } = {},
): OutboxDatabase {
  const { dialect = 'postgres' } = options;
  return {
    dialect,
    refusalOf(transaction) {
      const { executeQuery, isTransaction, isCommitted, isRolledBack } = (transaction ?? {}) as KyselyHandle;
      if (typeof executeQuery !== 'function') {
        return 'no transaction of Kysely';
      }
      if (!isTransaction) {
        return 'the Kysely instance itself';
      }
      return isCommitted || isRolledBack ? 'a transaction that has ended' : undefined;
    },
    run: async (transaction, sql, values) => {
      const text = dialect === 'postgres' ? numbered(sql) : sql;
      return rowsOf(await (transaction as KyselyTransaction).executeQuery(compiled(text, values) as never));
    },
    begin: (work) => db.transaction().execute(work),
  };
}

/** Returns what `CompiledQuery.raw` of Kysely does. */
function compiled(sql: string, values: readonly unknown[]) {
  const parameters = [...values];
  return {
    sql,
    parameters,
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
    queryId: { queryId: 'outbox' },
  };
}
