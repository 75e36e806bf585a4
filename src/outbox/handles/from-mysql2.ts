import { rowsOf, type OutboxDatabase } from '../outbox-database.js';

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
export const ASK = 'DO 0';
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
      return isOpen(await query.call(transaction, ASK)) ? undefined : 'a connection without a transaction';
    },
    run: async (transaction, sql, values) =>
      rowsOf(await (transaction as Mysql2Connection).query(sql, [...values] as never[])),
    begin: (work) => inTransaction(pool, work),
  };
}

/** Returns whether a transaction is open, by the result of `ASK`. */
export function isOpen(result: unknown): boolean {
  const [{ serverStatus }] = result as [{ serverStatus: number }];
  return (serverStatus & IN_TRANSACTION) !== 0 || (serverStatus & AUTOCOMMIT) === 0;
}

async function inTransaction<Result>(
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
