import { InvalidOptionError } from '../queue/errors/errors.js';
import type { TransactionHandle } from '../queue/store/outbox-writer.js';

/** The SQL dialects that the outbox speaks. */
export const DIALECTS: readonly OutboxDialect[] = ['postgres', 'mysql', 'sqlite'];

/** The SQL dialect of a database. `mysql` is that of MariaDB too. */
export type OutboxDialect = 'postgres' | 'mysql' | 'sqlite';

/** A row of a result. */
export type OutboxRow = Record<string, unknown>;

/**
 * A database as the outbox uses it. `fromPg`, `fromTypeOrm` and the like make one; an own one needs these four members.
 */
export interface OutboxDatabase {
  /** Its SQL dialect. */
  readonly dialect: OutboxDialect;
  /** Returns what else a value is than an open transaction of this client; undefined if it is one. */
  refusalOf(transaction: unknown): string | undefined | Promise<string | undefined>;
  /**
   * Runs a statement in a transaction. `sql` has a `?` for each value. Returns its rows; none if it has none.
   *
   * @param name of a statement that comes often, always with the same `sql`: a client may prepare it
   */
  run(transaction: unknown, sql: string, values: readonly unknown[], name?: string): Promise<OutboxRow[]>;
  /** Runs work in a transaction of its own, commits it, or rolls it back if the work rejects. */
  begin<Result>(work: (transaction: unknown) => Promise<Result>): Promise<Result>;
  /** Closes the connections that this object has opened, when the app closes. Not those of the client. */
  close?(): void | Promise<void>;
}

/** @throws InvalidOptionError for something else than an open transaction of the database */
export async function checkTransaction(
  subject: string,
  database: OutboxDatabase,
  transaction: TransactionHandle,
): Promise<void> {
  const found = await database.refusalOf(transaction);
  if (found !== undefined) {
    const hint = 'Pass the handle that your database client gives to the work of a transaction, before it ends.';
    throw new InvalidOptionError(subject, 'an open transaction', found, hint);
  }
}

/** Returns a statement with `$1`, `$2` for its `?`. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/\?/g, () => `$${++count}`);
}

/** Returns the rows of a result, as one of the clients returns it. */
export function rowsOf(result: unknown): OutboxRow[] {
  const rows = Array.isArray(result)
    ? Array.isArray(result[0])
      ? (result[0] as unknown[])
      : result
    : (result as { rows?: unknown } | undefined)?.rows;
  return Array.isArray(rows) ? rows.filter((row): row is OutboxRow => typeof row === 'object' && row !== null) : [];
}
