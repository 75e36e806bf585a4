import { z } from 'zod';
import { checkOptions } from '../../queue/validation/validate-options.js';
import { numbered, rowsOf, type OutboxDatabase } from '../outbox-database.js';
import { flag } from '../../queue/validation/numbers.js';

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

const optionsSchema = z.strictObject(
  { prepare: flag.default(false) },
  { error: 'expected an object with prepare' },
);

const STATES: Record<string, string> = {
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
  const { prepare } = checkOptions('fromPg', optionsSchema, options);
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
        : (STATES[state ?? ''] ?? 'a client without a transaction');
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
