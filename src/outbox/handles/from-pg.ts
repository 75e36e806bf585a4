import { numbered, rowsOf, type OutboxDatabase } from '../outbox-database.js';

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

const STATES: Record<string, string> = {
  I: 'a client without a transaction',
  E: 'a transaction that has failed',
};

/**
 * Makes the database of the outbox from a pool of `pg`. The transaction of an enqueue is the client that has sent BEGIN.
 *
 * @example JobOutboxModule.forRoot({ database: fromPg(pool) })
 */
export function fromPg(pool: PgPool): OutboxDatabase {
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
        : (STATES[state ?? ''] ?? 'a client without a transaction');
    },
    run: async (transaction, sql, values) =>
      rowsOf(await (transaction as PgClient).query(numbered(sql), [...values])),
    begin: (work) => inTransaction(pool, work),
  };
}

async function inTransaction<Result>(pool: PgPool, work: (client: PgClient) => Promise<Result>): Promise<Result> {
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
