// Outboxes on the transactions of database drivers: pg, mysql2, better-sqlite3 and libSQL.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { flag } from '../queue/validation/numbers.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import { numbered, rowsOf, type OutboxDatabase } from './outbox-database.js';

/** A client of the package pg, as the outbox uses it. */
export interface PgClient {
  /** Runs a statement. */
  query(sql: string, values?: unknown[]): Promise<unknown>;
  /** Tells the state of the transaction: `T` for an open one. Since pg 8.17. */
  getTransactionStatus?(): string | null;
  /** Adds a listener. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  /** Removes a listener. */
  off?(event: 'error', listener: (error: Error) => void): unknown;
  /** Gives the client back to its pool. */
  release?(error?: Error | boolean): void;
}

/** A pool of the package pg, as the outbox uses it. */
export interface PgPool {
  /** Returns a client of the pool. */
  connect(): Promise<PgClient & { release(error?: Error | boolean): void }>;
}

/** A client of pg, which prepares a statement with a name once for each connection. */
interface Preparing {
  query(
    statement: string | { name: string; text: string; values: unknown[] },
    values?: unknown[],
  ): Promise<unknown>;
}

const pgOptionsSchema = z.strictObject(
  { prepare: flag.default(false) },
  { error: 'expected an object with prepare' },
);

const PG_STATES: Record<string, string> = {
  I: 'a client without a transaction',
  E: 'a transaction that has failed',
};

/** The options of `fromPg`. */
export interface FromPgOptions {
  /**
   * True to let each connection prepare the statement of an enqueue, which then costs PostgreSQL half as much. Not behind a
   * PgBouncer before 1.21 in transaction mode: it knows no prepared statements, and the enqueue would fail. @default false
   */
  prepare?: boolean | undefined;
}

/**
 * Makes the database of the outbox from a pool of `pg`. The transaction of an enqueue is the client that has sent BEGIN.
 *
 * @throws InvalidOptionError for an unknown option, or a `prepare` that is no boolean
 * @example JobOutboxModule.forRoot({ database: fromPg(pool, { prepare: true }) })
 */
export function fromPg(pool: PgPool, options: FromPgOptions = {}): OutboxDatabase {
  const { prepare } = checkOptions('fromPg', pgOptionsSchema, options);
  /** The texts of the statements with a name. */
  const texts = new Map<string, string>();
  const textOf = (name: string, sql: string) => {
    const text = texts.get(name) ?? numbered(sql);
    texts.set(name, text);
    return text;
  };
  return {
    dialect: 'postgres',
    refusalOf(transaction) {
      const { query, getTransactionStatus } = (transaction ?? {}) as Partial<PgClient>;
      if (typeof query !== 'function' || transaction === pool || 'totalCount' in (transaction as object)) {
        return transaction === pool ? 'the pool itself' : 'no client of pg';
      }
      const state = getTransactionStatus?.call(transaction);
      return state === undefined || state === 'T'
        ? undefined
        : (PG_STATES[state ?? ''] ?? 'a client without a transaction');
    },
    async run(transaction, sql, values, name) {
      const client = transaction as Preparing;
      const text = name === undefined ? numbered(sql) : textOf(name, sql);
      const result =
        name !== undefined && prepare
          ? client.query({ name, text, values: [...values] })
          : client.query(text, [...values]);
      return rowsOf(await result);
    },
    begin: (work) => inPgTransaction(pool, work),
  };
}

async function inPgTransaction<Result>(pool: PgPool, work: (client: PgClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A session that ends between two statements would otherwise end the process.
  const ended = (error: Error) => void (broken = error);
  client.on?.('error', ended);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off?.('error', ended);
    client.release(broken);
  }
}

/** A connection of the package mysql2/promise, as the outbox uses it. */
export interface Mysql2Connection {
  /** Runs a statement. */
  query(sql: string, values?: never[]): Promise<[unknown, unknown]>;
  /** Begins a transaction. */
  beginTransaction(): Promise<unknown>;
  /** Commits the transaction. */
  commit(): Promise<unknown>;
  /** Rolls the transaction back. */
  rollback(): Promise<unknown>;
  /** Gives the connection back to its pool. */
  release(): void;
  /** Closes the connection. */
  destroy(): void;
}

/** A pool of the package mysql2/promise, as the outbox uses it. */
export interface Mysql2Pool {
  /** Returns a connection of the pool. */
  getConnection(): Promise<Mysql2Connection>;
}

/** Does nothing. Only the server knows whether a transaction is open. Its result says so if it has no rows. */
export const MYSQL_ASK = 'DO 0';
/** The bits of a server's status: a transaction is open, and each statement is a transaction of its own. */
const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;

/**
 * Makes the database of the outbox from a pool of `mysql2/promise`, for MySQL or MariaDB. The transaction of an enqueue
 * is a connection of the pool after `beginTransaction()`.
 *
 * @example JobOutboxModule.forRoot({ database: fromMysql2(pool) })
 */
export function fromMysql2(pool: Mysql2Pool): OutboxDatabase {
  return {
    dialect: 'mysql',
    async refusalOf(transaction) {
      const { query, beginTransaction } = (transaction ?? {}) as Partial<Mysql2Connection>;
      if (transaction === pool || typeof (transaction as Partial<Mysql2Pool>)?.getConnection === 'function') {
        return 'the pool itself';
      }
      if (typeof query !== 'function' || typeof beginTransaction !== 'function') {
        return 'no connection of mysql2/promise';
      }
      return isOpen(await query.call(transaction, MYSQL_ASK)) ? undefined : 'a connection without a transaction';
    },
    run: async (transaction, sql, values) =>
      rowsOf(await (transaction as Mysql2Connection).query(sql, [...values] as never[])),
    begin: (work) => inMysqlTransaction(pool, work),
  };
}

/** Returns whether a transaction is open, by the result of `MYSQL_ASK`. */
export function isOpen(result: unknown): boolean {
  const [{ serverStatus }] = result as [{ serverStatus: number }];
  return (serverStatus & IN_TRANSACTION) !== 0 || (serverStatus & AUTOCOMMIT) === 0;
}

async function inMysqlTransaction<Result>(
  pool: Mysql2Pool,
  work: (connection: Mysql2Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.getConnection();
  let isBroken = false;
  try {
    await connection.beginTransaction();
    const result = await work(connection);
    await connection.commit();
    return result;
  } catch (error) {
    await connection.rollback().catch(() => {
      isBroken = true;
    });
    throw error;
  } finally {
    if (isBroken) {
      connection.destroy();
    } else {
      connection.release();
    }
  }
}

/** A database of better-sqlite3, as the outbox uses it. */
export interface BetterSqlite3Database {
  /** The path of its file. */
  readonly name: string;
  /** True while a transaction is open. */
  readonly inTransaction: boolean;
  /** Prepares a statement. */
  prepare(sql: string): {
    /** True if it returns rows. */
    readonly reader: boolean;
    /** Runs it, and returns its rows. */
    all(...values: never[]): unknown[];
    /** Runs it. */
    run(...values: never[]): unknown;
  };
  /** Closes the connection. */
  close(): unknown;
}

/** The time for which a statement of the relay waits for the transaction of another connection, in ms. */
const SQLITE_MOST_WAIT_MS = 5_000;
const SQLITE_WAIT_MS = 5;

/**
 * Makes the database of the outbox from a database of better-sqlite3. The transaction of an enqueue is a database after
 * `BEGIN IMMEDIATE`. A function of `db.transaction(…)` ends before an enqueue could write.
 *
 * The relay has a connection of its own. It holds no transaction, because a synchronous client would block the process
 * until that ended.
 *
 * @throws InvalidOptionError for a database in memory, which has one connection only
 * @example JobOutboxModule.forRoot({ database: fromBetterSqlite3(db) })
 */
export function fromBetterSqlite3(db: BetterSqlite3Database): OutboxDatabase {
  if (!db.name || db.name === ':memory:') {
    throw new InvalidOptionError('fromBetterSqlite3', 'a database in a file', show(db.name));
  }
  let own: BetterSqlite3Database | undefined;
  return {
    dialect: 'sqlite',
    refusalOf(transaction) {
      const { prepare, inTransaction } = (transaction ?? {}) as Partial<BetterSqlite3Database>;
      if (typeof prepare !== 'function') {
        return 'no database of better-sqlite3';
      }
      return inTransaction ? undefined : 'a database without a transaction';
    },
    async run(transaction, sql, values) {
      const run = () => runOn(transaction as BetterSqlite3Database, sql, values);
      return rowsOf(transaction === own ? await patiently(run) : run());
    },
    begin: (work) => work((own ??= connectLike(db))),
    close() {
      own?.close();
      own = undefined;
    },
  };
}

/** Opens the file again. Without a timeout, because a wait would block the transaction that it waits for. */
function connectLike(db: BetterSqlite3Database): BetterSqlite3Database {
  const Database = db.constructor as new (name: string, options: object) => BetterSqlite3Database;
  return new Database(db.name, { timeout: 0 });
}

function runOn(db: BetterSqlite3Database, sql: string, values: readonly unknown[]): unknown {
  const statement = db.prepare(sql);
  return statement.reader ? statement.all(...(values as never[])) : statement.run(...(values as never[]));
}

/** Tries again while another connection writes. */
async function patiently<Result>(run: () => Result): Promise<Result> {
  const deadline = performance.now() + SQLITE_MOST_WAIT_MS;
  for (;;) {
    try {
      return run();
    } catch (error) {
      const isBusy = String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY');
      if (!isBusy || performance.now() > deadline) {
        throw error;
      }
      await sleep(SQLITE_WAIT_MS);
    }
  }
}

/** A transaction of libSQL, as the outbox uses it. */
export interface LibsqlTransaction {
  /** Runs a statement. */
  execute(statement: { sql: string; args: never[] }): Promise<unknown>;
  /** True once it has ended. */
  readonly closed: boolean;
  /** Commits. */
  commit(): Promise<void>;
  /** Rolls back what is not committed. */
  close(): void;
}

/** A client of the package \@libsql/client, as the outbox uses it. */
export interface LibsqlClient {
  /** Begins a transaction. */
  transaction(mode: 'write'): Promise<LibsqlTransaction>;
}

/**
 * Makes the database of the outbox from a client of `@libsql/client`, for SQLite. The transaction of an enqueue is what
 * `client.transaction('write')` returned.
 *
 * @example JobOutboxModule.forRoot({ database: fromLibsql(client) })
 */
export function fromLibsql(client: LibsqlClient): OutboxDatabase {
  return {
    dialect: 'sqlite',
    refusalOf(transaction) {
      const { execute, commit, closed } = (transaction ?? {}) as Partial<LibsqlTransaction>;
      if (typeof execute !== 'function') {
        return 'no transaction of libSQL';
      }
      if (typeof commit !== 'function') {
        return 'the client itself';
      }
      return closed ? 'a transaction that has ended' : undefined;
    },
    run: async (transaction, sql, values) =>
      rowsOf(await (transaction as LibsqlTransaction).execute({ sql, args: [...values] as never[] })),
    async begin(work) {
      const transaction = await client.transaction('write');
      try {
        const result = await work(transaction);
        await transaction.commit();
        return result;
      } finally {
        transaction.close();
      }
    },
  };
}
