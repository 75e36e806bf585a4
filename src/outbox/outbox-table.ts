import type { OutboxEntry, OutboxJob, SqlPart, Turn } from './dialects/dialect.js';
import { dialectOf } from './dialects/dialect-of.js';
import type { StoredIn } from '../queue/store/verbs/outbox-writer.js';
import type { OutboxDatabase, OutboxRow } from './outbox-database.js';

/** The state of the outbox. */
export interface OutboxStats {
  /** The rows that wait for their jobs, up to 10,000. */
  waiting: number;
  /** Those of them that were refused, and wait for their next attempt. */
  setAside: number;
  /** The rows that were refused too often, and wait for `retry`. */
  failed: number;
  /** The age of the oldest waiting row, in ms, by the database's clock; 0 if none waits. */
  oldestAgeMs: number;
}

/** A row of the outbox. */
export interface OutboxRecord {
  /** The number of the row. Rows leave in this order. */
  seq: string;
  /** The id of its job. */
  id: string;
  /** The queue of its job. */
  queue: string;
  /** The name of its job. */
  name: string;
  /** The attempts to send it. */
  attempts: number;
  /** The time since its insert, in ms, by the database's clock. */
  ageMs: number;
  /** The reason of the last refusal. */
  lastError: string | undefined;
  /** True if it was refused too often, and waits for `retry`. */
  isFailed: boolean;
}

/** The rows of one statement at most: a statement of SQLite has 32,766 values. */
const MOST_ROWS = 1_000;
const MOST_COUNTED = 10_000;
const WAITING = 'failed_at IS NULL';
const COLUMNS = ['entry', 'id', 'connection', 'queue', 'name', 'payload', 'options', 'group_name'];
const INSERT = `INSERT INTO job_outbox (${COLUMNS.join(', ')}) VALUES `;
const VALUES = `(${COLUMNS.map(() => '?').join(', ')})`;
const INSERT_ONE = INSERT + VALUES;
const INSERT_ONE_NAME = 'job_outbox_insert';

/** The rows that a turn leaves out. */
interface LeftOut {
  /** The queues that take no rows now. */
  queues: readonly string[];
  /** The groups of `heldGroups`. */
  groups: readonly string[];
  /** The rows that it reads at most. */
  limit: number;
}

/** The table of jobs in a database, and that of done work. */
export class OutboxTable {
  private readonly sql;

  constructor(readonly database: OutboxDatabase) {
    this.sql = dialectOf(database);
  }

  async insert({ transaction, ordered }: StoredIn, jobs: readonly OutboxJob[]): Promise<void> {
    if (ordered) {
      await this.sql.lockOrder?.(this.database, transaction, jobs.map(groupOf));
    }
    if (jobs.length === 1) {
      await this.database.run(transaction, INSERT_ONE, valuesOf(jobs[0]!), INSERT_ONE_NAME);
      return;
    }
    for (let from = 0; from < jobs.length; from += MOST_ROWS) {
      const slice = jobs.slice(from, from + MOST_ROWS);
      const sql = INSERT + slice.map(() => VALUES).join(', ');
      await this.database.run(transaction, sql, slice.flatMap(valuesOf));
    }
  }

  /** Notes that a job's work was done. Returns false if it was noted before. */
  async markDone(transaction: unknown, queue: string, id: string): Promise<boolean> {
    return (await this.sql.changed(this.database, transaction, this.sql.insertDone, [queue, id])) > 0;
  }

  /** Deletes notes of done work that are older. */
  async forgetDone(olderThanMs: number): Promise<void> {
    await this.read(`DELETE FROM job_done WHERE done_at < ${this.sql.inMs}`, [-olderThanMs]);
  }

  /** Returns whether a row behind a number may be shipped. */
  async hasRows(after: string): Promise<boolean> {
    const sql = `SELECT seq FROM job_outbox WHERE seq > ? AND ${this.due} ORDER BY seq LIMIT 1`;
    return (await this.read(sql, [after])).length > 0;
  }

  turn<Result>(work: (turn: Turn) => Promise<Result>): Promise<Result | undefined> {
    return this.sql.turn(this.database, work);
  }

  /** Lets the next fence be larger than this one. Returns false if it is already. */
  raiseFence(turn: Turn, fence: number): Promise<boolean> {
    return this.sql.raiseFence(turn, fence);
  }

  /** Returns the first rows behind a number that may be shipped, in their order. */
  async rows({ run }: Turn, after: string, { queues, groups, limit }: LeftOut): Promise<OutboxEntry[]> {
    const others = [this.without('queue', queues), this.withoutGroups(groups)];
    const sql =
      `SELECT seq, entry, id, connection, queue, name, payload, options, group_name AS grp, attempts, ` +
      `${this.sql.ageOf('created_at')} AS age FROM job_outbox WHERE seq > ? AND ${this.due} ` +
      `${others.map((each) => each.sql).join('')}ORDER BY seq LIMIT ${limit}`;
    const values = [after, ...others.flatMap((each) => each.values)];
    return (await run(sql, values)).map(entryOf);
  }

  private without(column: string, listed: readonly string[]): SqlPart {
    const { sql, values } = listed.length > 0 ? this.sql.among(column, listed) : { sql: '', values: [] };
    return { sql: sql && `AND NOT (${sql}) `, values };
  }

  /** Leaves out the held groups. A full list may lack some, so all rows with a group wait until it is shorter. */
  private withoutGroups(held: readonly string[]): SqlPart {
    return held.length < MOST_COUNTED
      ? this.without(this.group, held)
      : { sql: 'AND group_name IS NULL ', values: [] };
  }

  /** A group of a queue of a connection, as one text. */
  private get group(): string {
    return this.sql.joined('connection', `' '`, 'queue', `' '`, `coalesce(group_name, '')`);
  }

  /** Returns the groups of rows that were refused and wait, up to a bound: their later rows wait too. */
  async heldGroups({ run }: Turn): Promise<string[]> {
    const sql =
      `SELECT DISTINCT ${this.group} AS grp FROM job_outbox ` +
      `WHERE not_before > ${this.sql.now} AND ${WAITING} AND group_name IS NOT NULL LIMIT ${MOST_COUNTED}`;
    return (await run(sql, [])).map(({ grp }) => String(grp));
  }

  /** Deletes rows. Returns false if another relay has the turn by now. */
  async remove({ changed, isMine }: Turn, seqs: readonly string[]): Promise<boolean> {
    if (seqs.length === 0) {
      return true;
    }
    const { sql, values } = this.sql.amongSeqs(seqs);
    return (await changed(`DELETE FROM job_outbox WHERE ${sql} AND ${isMine}`, values)) > 0;
  }

  /** Sets a refused row aside. @param retryInMs undefined: it has failed */
  async setAside({ run, isMine }: Turn, seq: string, error: string, retryInMs: number | undefined): Promise<void> {
    const next = retryInMs === undefined ? `failed_at = ${this.sql.now}` : `not_before = ${this.sql.inMs}`;
    const where = this.sql.amongSeqs([seq]);
    const sql = `UPDATE job_outbox SET attempts = attempts + 1, last_error = ?, ${next} WHERE ${where.sql} AND ${isMine}`;
    const values = [error, ...(retryInMs === undefined ? [] : [retryInMs]), ...where.values];
    await run(sql, values);
  }

  /** Returns which of these entries have a row. */
  async present({ run }: Turn, entries: readonly string[]): Promise<Set<string>> {
    const { sql, values } = this.sql.among('entry', entries);
    const rows = await run(`SELECT entry FROM job_outbox WHERE ${sql}`, values);
    return new Set(rows.map(({ entry }) => String(entry)));
  }

  async stats(): Promise<OutboxStats> {
    const age = this.sql.ageOf('created_at');
    const [row] = await this.read(
      `SELECT ${count(WAITING)} AS waiting, ${count(`not_before > ${this.sql.now} AND ${WAITING}`)} AS aside, ` +
        `${count('failed_at IS NOT NULL')} AS failed, ` +
        `(SELECT ${age} FROM job_outbox WHERE ${WAITING} ORDER BY seq LIMIT 1) AS age`,
    );
    const { waiting, aside, failed, age: oldest } = row!;
    return {
      waiting: Number(waiting),
      setAside: Number(aside),
      failed: Number(failed),
      oldestAgeMs: Math.max(0, Math.round(Number(oldest ?? 0))),
    };
  }

  /** Returns rows, the failed and refused ones first. */
  async list(limit: number): Promise<OutboxRecord[]> {
    const rows = await this.read(
      `SELECT seq, id, queue, name, attempts, ${this.sql.ageOf('created_at')} AS age, last_error AS error, ` +
        `CASE WHEN failed_at IS NULL THEN 0 ELSE 1 END AS failed ` +
        `FROM job_outbox ORDER BY failed DESC, attempts DESC, seq LIMIT ${limit}`,
    );
    return rows.map((row) => ({
      seq: String(row.seq),
      id: String(row.id),
      queue: String(row.queue),
      name: String(row.name),
      attempts: Number(row.attempts),
      ageMs: Math.round(Number(row.age)),
      lastError: (row.error as string | null) ?? undefined,
      isFailed: Number(row.failed) === 1,
    }));
  }

  /** Lets refused and failed rows be sent again at once. Returns how many. */
  async retry(): Promise<number> {
    const refused = '(not_before IS NOT NULL OR failed_at IS NOT NULL)';
    // MySQL would lock every row that an UPDATE reads. It finds these by the primary key.
    const found = await this.read(`SELECT seq FROM job_outbox WHERE ${refused} ORDER BY seq`);
    const seqs = found.map(({ seq }) => String(seq));
    let retried = 0;
    for (let from = 0; from < seqs.length; from += MOST_ROWS) {
      const { sql, values } = this.sql.amongSeqs(seqs.slice(from, from + MOST_ROWS));
      const set = 'attempts = 0, not_before = NULL, failed_at = NULL';
      retried += await this.change(`UPDATE job_outbox SET ${set} WHERE ${sql} AND ${refused}`, values);
    }
    return retried;
  }

  /** Deletes a failed row. Its job is never added. */
  async discard(seq: string): Promise<boolean> {
    const { sql, values } = this.sql.amongSeqs([seq]);
    return (await this.change(`DELETE FROM job_outbox WHERE failed_at IS NOT NULL AND ${sql}`, values)) > 0;
  }

  private get due(): string {
    return `${WAITING} AND (not_before IS NULL OR not_before <= ${this.sql.now})`;
  }

  private change(sql: string, values: readonly unknown[] = []): Promise<number> {
    return this.database.begin((transaction) => this.sql.changed(this.database, transaction, sql, values));
  }

  private read(sql: string, values: readonly unknown[] = []): Promise<OutboxRow[]> {
    return this.database.begin((transaction) => this.database.run(transaction, sql, values));
  }
}

/** Returns the values of a row, in the order of the columns. */
function valuesOf(job: OutboxJob): (string | null)[] {
  const { entry, id, connection, queue, name, payload, options, group = null } = job;
  return [entry, id, connection, queue, name, payload, options, group];
}

/** Returns the group of a job, as one text. */
function groupOf({ connection, queue, group = '' }: OutboxJob): string {
  return `${connection} ${queue} ${group}`;
}

/** Returns an expression that counts rows, up to a bound. */
function count(where: string): string {
  return `(SELECT count(*) FROM (SELECT 1 FROM job_outbox WHERE ${where} LIMIT ${MOST_COUNTED}) AS counted)`;
}

function entryOf(row: OutboxRow): OutboxEntry {
  return {
    seq: String(row.seq),
    entry: String(row.entry),
    id: String(row.id),
    connection: String(row.connection),
    queue: String(row.queue),
    name: String(row.name),
    payload: String(row.payload),
    options: String(row.options),
    group: (row.grp as string | null) ?? undefined,
    attempts: Number(row.attempts),
    ageMs: Math.max(0, Number(row.age)),
  };
}
