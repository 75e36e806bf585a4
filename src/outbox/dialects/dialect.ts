import type { Sealed } from '../../queue/codec/sealed.js';
import type { OutboxDatabase, OutboxRow } from '../outbox-database.js';

/** A job as its row has it. */
export interface OutboxJob {
  /** Identifies the row; never used again. */
  entry: string;
  id: string;
  connection: string;
  queue: string;
  name: string;
  payload: Sealed;
  /** The encoded options, as JSON. */
  options: string;
  group: string | undefined;
}

/** A row that waits for its job. Its texts may be anything: whoever may insert rows has written them. */
export interface OutboxEntry extends Omit<OutboxJob, 'payload'> {
  seq: string;
  /** Undefined if it has more bytes than Redis takes. */
  payload: Sealed | undefined;
  attempts: number;
  /** The time since the insert, by the database's clock, in ms. */
  ageMs: number;
}

/** The right to ship rows, until another relay gets it. */
export interface Turn {
  /** Runs a statement of the turn. */
  run(sql: string, values: readonly unknown[]): Promise<OutboxRow[]>;
  /** Runs a statement that writes, and returns its number of rows. */
  changed(sql: string, values: readonly unknown[]): Promise<number>;
  /** A condition for what only the relay with the turn may write. */
  isMine: string;
  /** The name of the table, as Redis knows it. */
  source: string;
  /** A number that grows with each turn, even if the turn is rolled back. */
  fence: number;
}

/** The lines that differ between databases. Each statement has a `?` for each value. */
export interface Dialect {
  /** The statements that make the tables. */
  readonly ddl: readonly string[];
  /**
   * The queries of its catalogue; `{tables}` stands for names. `columns` has a row (tbl, col, type, nullable, filled) for
   * each column, `indexes` a row (tbl, cols) for each index.
   */
  readonly catalogue: { readonly columns: string; readonly indexes: string };
  /** Finds settings of a session that make its statements unsafe. Absent where there are none. */
  readonly unsafe?: {
    readonly query: string;
    readonly pattern: RegExp;
    readonly expected: string;
    readonly remedy: string;
  };
  /** Runs work with the right to ship. Resolves to undefined if another relay has the right. */
  turn<Result>(database: OutboxDatabase, work: (turn: Turn) => Promise<Result>): Promise<Result | undefined>;
  /**
   * Waits for the other open transactions that have ordered one of these groups. The rows that follow it have numbers in
   * the order of the commits. Absent where a transaction that has written keeps all others from writing.
   *
   * @throws InvalidOptionError if a row is missing that it must lock
   */
  lockOrder?(database: OutboxDatabase, transaction: unknown, groups: readonly string[]): Promise<unknown>;
  /** The rows that its table `job_outbox_order` needs. Absent where there is no such table. */
  readonly slots?: number;
  /** Lets the next fence be larger than this one. Returns false if it is already. */
  raiseFence(turn: Turn, fence: number): Promise<boolean>;
  /**
   * The `?` of a text, and the value that is sent for it. Where a client may write values into the statement itself, no
   * character that has a meaning there is sent.
   */
  readonly text: string;
  sent(text: string): string;
  /** Returns an expression for the time since `column`, in ms: from 0 to `LONGEST_AGE_MS`, whatever the column has. */
  ageOf(column: string): string;
  /** Returns an expression for the number of a row as text. JavaScript has no whole numbers beyond 2^53. */
  seqText(column: string): string;
  /** The `?` of the number of a row, which is given as text. */
  readonly seq: string;
  /** The attempts of a row: from 0 to `MOST_ATTEMPTS`, whatever the column has. */
  readonly attempts: string;
  /** Returns an expression for the length of a text, in bytes. */
  bytesOf(column: string): string;
  /** The time now, and in a number of ms. */
  readonly now: string;
  readonly inMs: string;
  /** Joins texts. */
  joined(...texts: string[]): string;
  /** Returns a condition: the text of the column is one of these. */
  among(column: string, values: readonly string[]): SqlPart;
  /** Returns a condition: the number of the row is one of these. The rows are found by the primary key. */
  amongSeqs(seqs: readonly string[]): SqlPart;
  /** Notes done work, if there is no note of it yet. */
  readonly insertDone: string;
  /** Runs a statement that writes, and returns its number of rows. */
  changed(database: OutboxDatabase, transaction: unknown, sql: string, values: readonly unknown[]): Promise<number>;
}

/** The largest number of attempts that is read. A row with more was written by hand. */
export const MOST_ATTEMPTS = 1_000;
/** The longest age that is read, in ms: 31 years. */
export const LONGEST_AGE_MS = 1_000_000_000_000;

/** A part of a statement, with the values of its `?`. */
export interface SqlPart {
  sql: string;
  values: readonly unknown[];
}

/** Returns the turn of a relay whose transaction has the lock. */
export function turnOf(
  { changed }: Pick<Dialect, 'changed'>,
  database: OutboxDatabase,
  transaction: unknown,
  { source, fence }: Pick<Turn, 'source' | 'fence'>,
): Turn {
  return {
    run: (sql, values) => database.run(transaction, sql, values),
    changed: (sql, values) => changed(database, transaction, sql, values),
    isMine: '1 = 1',
    source,
    fence,
  };
}

/** Counts the rows of a statement by those that it returns. */
export const countReturned: Dialect['changed'] = async (database, transaction, sql, values) =>
  (await database.run(transaction, `${sql} RETURNING 1 AS one`, values)).length;
