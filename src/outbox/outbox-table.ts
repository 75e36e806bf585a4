import { type OutboxEntry, type OutboxJob, type SqlPart, type Turn, dialectOf } from './dialects.js';
import { asStored } from '../queue/codec/sealed.js';
import type { OutboxRecord, StoredIn } from '../queue/store/outbox-writer.js';
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

/** The number before that of each row. A row of this number itself is never read. */
export const BEFORE_ALL = '-9223372036854775808';
/** The rows of one statement at most: a statement of SQLite has 32,766 values. */
const MOST_ROWS = 1_000;
const MOST_COUNTED = 10_000;
/** The most bytes of a value in Redis. */
const MOST_PAYLOAD_BYTES = 512 * 1024 * 1024;
/** The most bytes of the name of a group: a row with more is refused, and holds no group back. */
const MOST_GROUP_BYTES = 1_024;
/** The most characters of a text in a list of rows. */
const MOST_SHOWN = 2_000;
const LISTED = ['id', 'queue', 'name'];
const WAITING = 'failed_at IS NULL';
const COLUMNS = ['entry', 'id', 'connection', 'queue', 'name', 'payload', 'options', 'group_name'];
const INSERT = `INSERT INTO job_outbox (${COLUMNS.join(', ')}) VALUES `;
const INSERT_ONE_NAME = 'job_outbox_insert';

/** The rows that a turn reads. */
interface Asked {
  /** The connections of this process. */
  connections: readonly string[];
  /** The queues that take no rows now; see `queueKey`. */
  resting: readonly string[];
  /** The groups of `heldGroups`. */
  groups: readonly string[];
  /** The rows that it reads at most. */
  limit: number;
}

/** The rows of a change. */
interface Chosen {
  connection?: string;
  queue?: string;
  seqs?: readonly string[];
}

/** Returns a queue of a connection, as one text. */
export function queueKey({ connection, queue }: Pick<OutboxJob, 'connection' | 'queue'>): string {
  return `${connection} ${queue}`;
}

/** The table of jobs in a database, and that of done work. */
export class OutboxTable {
  private readonly sql;
  private readonly values: string;
  private readonly insertOne: string;

  constructor(readonly database: OutboxDatabase) {
    this.sql = dialectOf(database);
    this.values = `(${COLUMNS.map(() => this.sql.text).join(', ')})`;
    this.insertOne = INSERT + this.values;
  }

  async insert({ transaction, ordered }: StoredIn, jobs: readonly OutboxJob[]): Promise<void> {
    if (ordered) {
      await this.sql.lockOrder?.(this.database, transaction, jobs.map(groupOf));
    }
    if (jobs.length === 1) {
      await this.database.run(transaction, this.insertOne, this.valuesOf(jobs[0]!), INSERT_ONE_NAME);
      return;
    }
    for (let from = 0; from < jobs.length; from += MOST_ROWS) {
      const slice = jobs.slice(from, from + MOST_ROWS);
      const sql = INSERT + slice.map(() => this.values).join(', ');
      await this.database.run(
        transaction,
        sql,
        slice.flatMap((job) => this.valuesOf(job)),
      );
    }
  }

  /** Returns the values of a row, in the order of the columns. */
  private valuesOf(job: OutboxJob): (string | null)[] {
    const { entry, id, connection, queue, name, payload, options, group } = job;
    const texts = [entry, id, connection, queue, name, payload, options];
    return [...texts.map(this.sql.sent), group === undefined ? null : this.sql.sent(group)];
  }

  /** Notes that a job's work was done. Returns false if it was noted before. */
  async markDone(transaction: unknown, queue: string, id: string): Promise<boolean> {
    const values = [queue, id].map(this.sql.sent);
    return (await this.sql.changed(this.database, transaction, this.sql.insertDone, values)) > 0;
  }

  /** Deletes notes of done work that are older. */
  async forgetDone(olderThanMs: number): Promise<void> {
    await this.read(`DELETE FROM job_done WHERE done_at < ${this.sql.inMs}`, [-olderThanMs]);
  }

  /** Returns whether a row of these connections behind a number may be shipped. */
  async hasRows(after: string, connections: readonly string[]): Promise<boolean> {
    const own = this.sql.among('connection', connections);
    const sql = `SELECT 1 AS one FROM job_outbox WHERE seq > ${this.sql.seq} AND ${this.due} AND ${own.sql} ORDER BY seq LIMIT 1`;
    return (await this.read(sql, [after, ...own.values])).length > 0;
  }

  turn<Result>(work: (turn: Turn) => Promise<Result>): Promise<Result | undefined> {
    return this.sql.turn(this.database, work);
  }

  /** Lets the next fence be larger than this one. Returns false if it is already. */
  raiseFence(turn: Turn, fence: number): Promise<boolean> {
    return this.sql.raiseFence(turn, fence);
  }

  /** Returns the first rows behind a number that may be shipped, in their order. */
  async rows({ run }: Turn, after: string, asked: Asked): Promise<OutboxEntry[]> {
    const { sql } = this;
    const { where, values } = this.which(after, asked);
    const payload = `CASE WHEN ${sql.bytesOf('payload')} <= ${MOST_PAYLOAD_BYTES} THEN payload END`;
    const found = await run(
      `SELECT ${sql.seqText('seq')} AS number, entry, id, connection, queue, name, ${payload} AS payload, options, ` +
        `group_name AS grp, ${sql.attempts} AS tries, ${sql.ageOf('created_at')} AS age FROM job_outbox ${where}`,
      values,
    );
    return found.map(entryOf);
  }

  /** Returns the numbers and attempts of these rows, and nothing else of them. */
  async numbers({ run }: Turn, after: string, asked: Asked): Promise<Pick<OutboxEntry, 'seq' | 'attempts'>[]> {
    const { where, values } = this.which(after, asked);
    const sql = `SELECT ${this.sql.seqText('seq')} AS number, ${this.sql.attempts} AS tries FROM job_outbox ${where}`;
    return (await run(sql, values)).map(numberOf);
  }

  private which(
    after: string,
    { connections, resting, groups, limit }: Asked,
  ): { where: string; values: unknown[] } {
    const own = this.sql.among('connection', connections);
    const others = [this.without(this.queue, resting), this.withoutGroups(groups)];
    return {
      where:
        `WHERE seq > ${this.sql.seq} AND ${this.due} AND ${own.sql} ` +
        `${others.map((each) => each.sql).join('')}ORDER BY seq LIMIT ${limit}`,
      values: [after, ...own.values, ...others.flatMap((each) => each.values)],
    };
  }

  /** Returns whether there are `strangers`. */
  async hasStrangers(connections: readonly string[], waitedMs: number): Promise<boolean> {
    const { where, values } = this.ofOthers(connections, waitedMs);
    return (await this.read(`SELECT 1 AS one FROM job_outbox ${where} LIMIT 1`, values)).length > 0;
  }

  /** Returns the first rows of other connections that have waited for this long, and may be sent. */
  async strangers(
    { run }: Turn,
    connections: readonly string[],
    waitedMs: number,
  ): Promise<Pick<OutboxEntry, 'seq' | 'attempts' | 'connection'>[]> {
    const { where, values } = this.ofOthers(connections, waitedMs);
    const found = await run(
      `SELECT ${this.sql.seqText('seq')} AS number, ${this.sql.attempts} AS tries, connection FROM job_outbox ` +
        `${where} ORDER BY seq LIMIT ${MOST_ROWS}`,
      values,
    );
    return found.map((row) => ({ ...numberOf(row), connection: String(row.connection) }));
  }

  private ofOthers(
    connections: readonly string[],
    waitedMs: number,
  ): { where: string; values: readonly unknown[] } {
    const { sql, values } = this.sql.among('connection', connections);
    return {
      where: `WHERE ${this.due} AND NOT (${sql}) AND ${this.sql.ageOf('created_at')} >= ${waitedMs}`,
      values,
    };
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

  /** A queue of a connection, as one text; see `queueKey`. */
  private get queue(): string {
    return this.sql.joined('connection', `' '`, 'queue');
  }

  /** A group of a queue of a connection, as one text. */
  private get group(): string {
    return this.sql.joined('connection', `' '`, 'queue', `' '`, `coalesce(group_name, '')`);
  }

  /** Returns the groups of rows that were refused and wait, up to a bound: their later rows wait too. */
  async heldGroups({ run }: Turn): Promise<string[]> {
    const sql =
      `SELECT DISTINCT ${this.group} AS grp FROM job_outbox ` +
      `WHERE not_before > ${this.sql.now} AND ${WAITING} AND group_name IS NOT NULL ` +
      `AND ${this.sql.bytesOf('group_name')} <= ${MOST_GROUP_BYTES} LIMIT ${MOST_COUNTED}`;
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

  /** Sets a refused row aside. @param attempts its attempts by now @param retryInMs undefined: it has failed */
  async setAside(
    { run, isMine }: Turn,
    { seq, attempts }: Pick<OutboxEntry, 'seq' | 'attempts'>,
    error: string,
    retryInMs: number | undefined,
  ): Promise<void> {
    const next = retryInMs === undefined ? `failed_at = ${this.sql.now}` : `not_before = ${this.sql.inMs}`;
    const where = this.sql.amongSeqs([seq]);
    const set = `attempts = ?, last_error = ${this.sql.text}, ${next}`;
    const values = [
      attempts,
      this.sql.sent(error),
      ...(retryInMs === undefined ? [] : [retryInMs]),
      ...where.values,
    ];
    await run(`UPDATE job_outbox SET ${set} WHERE ${where.sql} AND ${isMine}`, values);
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
    const { waiting, aside, failed } = row!;
    return {
      waiting: Number(waiting),
      setAside: Number(aside),
      failed: Number(failed),
      oldestAgeMs: ageOf(row!),
    };
  }

  /** Returns rows, the failed and refused ones first. @param connection that of the rows; by default any */
  async list(limit: number, connection?: string): Promise<OutboxRecord[]> {
    const { sql } = this;
    const own = this.havingTexts({ connection });
    const rows = await this.read(
      `SELECT ${sql.seqText('seq')} AS number, ${LISTED.map((column) => `substr(${column}, 1, ${MOST_SHOWN}) AS ${column}`).join(', ')}, ` +
        `${sql.attempts} AS tries, ${sql.ageOf('created_at')} AS age, substr(last_error, 1, ${MOST_SHOWN}) AS error, ` +
        `CASE WHEN failed_at IS NULL THEN 0 ELSE 1 END AS failed ` +
        `FROM job_outbox WHERE ${own.sql} ORDER BY failed DESC, attempts DESC, seq LIMIT ${limit}`,
      own.values,
    );
    return rows.map((row) => ({
      ...numberOf(row),
      id: String(row.id),
      queue: String(row.queue),
      name: String(row.name),
      ageMs: ageOf(row),
      lastError: (row.error as string | null) ?? undefined,
      isFailed: Number(row.failed) === 1,
    }));
  }

  /** Lets refused and failed rows be sent again at once. Returns how many. @param only by default all */
  async retry(only: Chosen = {}): Promise<number> {
    const refused = '(not_before IS NOT NULL OR failed_at IS NOT NULL)';
    // MySQL would lock every row that an UPDATE reads. It finds these by the primary key.
    const seqs = await this.seqsOf(refused, only);
    const set = 'attempts = 0, not_before = NULL, failed_at = NULL';
    return this.eachSlice(seqs, (rows) => `UPDATE job_outbox SET ${set} WHERE ${rows} AND ${refused}`);
  }

  /** Deletes failed rows. Their jobs are never added. Returns how many. */
  async discard(only: Chosen & { seqs: readonly string[] }): Promise<number> {
    const failed = 'failed_at IS NOT NULL';
    const seqs = await this.seqsOf(failed, only);
    return this.eachSlice(seqs, (rows) => `DELETE FROM job_outbox WHERE ${failed} AND ${rows}`);
  }

  private async seqsOf(where: string, { seqs, ...rest }: Chosen): Promise<string[]> {
    if (seqs?.length === 0) {
      return [];
    }
    const own = this.havingTexts(rest);
    const chosen = seqs ? this.sql.amongSeqs(seqs) : { sql: '1 = 1', values: [] };
    const found = await this.read(
      `SELECT ${this.sql.seqText('seq')} AS number FROM job_outbox WHERE ${where} AND ${own.sql} AND ${chosen.sql} ORDER BY seq`,
      [...own.values, ...chosen.values],
    );
    return found.map(({ number: seq }) => String(seq));
  }

  private async eachSlice(seqs: readonly string[], statement: (rows: string) => string): Promise<number> {
    let changes = 0;
    for (let from = 0; from < seqs.length; from += MOST_ROWS) {
      const { sql, values } = this.sql.amongSeqs(seqs.slice(from, from + MOST_ROWS));
      changes += await this.change(statement(sql), values);
    }
    return changes;
  }

  /** Returns a condition: the row has these texts. */
  private havingTexts(texts: { connection?: string | undefined; queue?: string | undefined }): SqlPart {
    const parts = Object.entries(texts).flatMap(([column, text]) =>
      text === undefined ? [] : [this.sql.among(column, [text])],
    );
    return {
      sql: ['1 = 1', ...parts.map(({ sql }) => sql)].join(' AND '),
      values: parts.flatMap(({ values }) => values),
    };
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

/** Returns the group of a job, as one text. */
function groupOf({ connection, queue, group = '' }: OutboxJob): string {
  return `${connection} ${queue} ${group}`;
}

/** Returns an expression that counts rows, up to a bound. */
function count(where: string): string {
  return `(SELECT count(*) FROM (SELECT 1 FROM job_outbox WHERE ${where} LIMIT ${MOST_COUNTED}) AS counted)`;
}

function entryOf(row: OutboxRow): OutboxEntry {
  const isGiant = row.payload === null;
  return {
    ...numberOf(row),
    entry: String(row.entry),
    id: String(row.id),
    connection: String(row.connection),
    queue: String(row.queue),
    name: String(row.name),
    payload: isGiant ? undefined : asStored(row.payload),
    options: String(row.options),
    group: (row.grp as string | null) ?? undefined,
    ageMs: ageOf(row),
  };
}

function numberOf({ number, tries }: OutboxRow): Pick<OutboxEntry, 'seq' | 'attempts'> {
  return { seq: String(number), attempts: Number(tries) };
}

function ageOf({ age }: OutboxRow): number {
  return Math.max(0, Math.round(Number(age ?? 0)));
}
