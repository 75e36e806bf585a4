import type { OutboxDatabase } from '../outbox-database.js';

/** A job as its row has it. */
export interface OutboxJob {
  /** Identifies the row; never used again. */
  entry: string;
  id: string;
  connection: string;
  queue: string;
  name: string;
  payload: string;
  /** The encoded options, as JSON. */
  options: string;
  group: string | undefined;
}

/** A row that waits for its job. */
export interface OutboxEntry extends OutboxJob {
  seq: string;
  attempts: number;
  /** The time since the insert, by the database's clock, in ms. */
  ageMs: number;
}

/** The right to ship rows, until its transaction ends. */
export interface Turn {
  transaction: unknown;
  /** The name of the table, as Redis knows it. */
  source: string;
  /** A number that grows with each turn, even if the turn is rolled back. */
  fence: number;
}

/** The lines that differ between databases. Each statement has a `?` for each value. */
export interface Dialect {
  /** The statements that make the tables. */
  readonly ddl: readonly string[];
  /** Runs work with the right to ship, and commits. Resolves to undefined if another relay has the right. */
  turn<Result>(database: OutboxDatabase, work: (turn: Turn) => Promise<Result>): Promise<Result | undefined>;
  /** Lets the next fence be larger than this one. */
  readonly raiseFence: string;
  /** Returns an expression for the time since `column`, in ms. */
  ageOf(column: string): string;
  /** The time now, and in a number of ms. */
  readonly now: string;
  readonly inMs: string;
  /** Returns a condition: the text of the column is in a list, which is sent as one value. */
  among(column: string): string;
  /** A condition: the number of the row is in such a list. It is found by the primary key. */
  readonly amongSeqs: string;
  /** Returns the value of such a list. */
  list(values: readonly string[]): string;
}
