// The SQL of each database of an outbox: its tables, its statements, and its forms of values.
import { createHash } from 'node:crypto';
import type { Sealed } from '../queue/codec/sealed.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import type { OutboxDatabase, OutboxRow, OutboxDialect } from './outbox-database.js';

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
interface Dialect {
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
const MOST_ATTEMPTS = 1_000;
/** The longest age that is read, in ms: 31 years. */
const LONGEST_AGE_MS = 1_000_000_000_000;

/** A part of a statement, with the values of its `?`. */
export interface SqlPart {
  sql: string;
  values: readonly unknown[];
}

/** Returns the turn of a relay whose transaction has the lock. */
function turnOf(
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

/** Counts the changed rows. The statement returns one row for each. */
const countReturned: Dialect['changed'] = async (database, transaction, sql, values) =>
  (await database.run(transaction, `${sql} RETURNING 1 AS one`, values)).length;

/** The lock of the table. It ends with the transaction, so that it works behind PgBouncer. */
const POSTGRES_LOCK = `SELECT pg_try_advisory_xact_lock(CAST(724100 AS bigint) << 32 | CAST(CAST(CAST('job_outbox' AS regclass) AS oid) AS bigint)) AS locked`;

/** The locks of groups, which end with the transaction. Sorted, so that two enqueues of several groups do not deadlock. */
const POSTGRES_LOCK_GROUPS =
  'SELECT count(pg_advisory_xact_lock(724101, slot)) AS locked FROM ' +
  '(SELECT DISTINCT hashtext(name) AS slot FROM unnest(CAST(? AS text[])) AS name ORDER BY slot) AS slots';

const postgres: Dialect = {
  ddl: [
    `CREATE TABLE job_outbox (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  entry text NOT NULL,
  id text NOT NULL,
  connection text NOT NULL,
  queue text NOT NULL,
  name text NOT NULL,
  payload text NOT NULL,
  options text NOT NULL,
  group_name text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts integer NOT NULL DEFAULT 0,
  not_before timestamptz,
  failed_at timestamptz,
  last_error text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)`,
    `CREATE INDEX job_outbox_aside ON job_outbox (not_before) WHERE not_before IS NOT NULL`,
    `CREATE SEQUENCE job_outbox_fence`,
    `CREATE TABLE job_outbox_source (source text PRIMARY KEY)`,
    `INSERT INTO job_outbox_source (source) VALUES (gen_random_uuid())`,
    `CREATE TABLE job_done (
  queue text NOT NULL,
  id text NOT NULL,
  done_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (queue, id)
)`,
  ],

  catalogue: {
    columns:
      'SELECT c.relname AS tbl, a.attname AS col, format_type(a.atttypid, a.atttypmod) AS type, ' +
      'CAST(NOT a.attnotnull AS int) AS nullable, ' +
      `CAST(a.atthasdef OR a.attidentity <> '' AS int) AS filled FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid ` +
      'WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relname IN ({tables}) AND pg_table_is_visible(c.oid)',
    indexes:
      'SELECT c.relname AS tbl, (SELECT string_agg(a.attname, CAST(CHR(44) AS text) ORDER BY k.n) ' +
      'FROM unnest(CAST(i.indkey AS int2[])) WITH ORDINALITY AS k(attnum, n) ' +
      'JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum) AS cols ' +
      'FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid ' +
      'WHERE i.indisvalid AND c.relname IN ({tables}) AND pg_table_is_visible(c.oid)',
  },

  turn: (database, work) =>
    database.begin(async (transaction) => {
      const run = (sql: string) => database.run(transaction, sql, []);
      // A snapshot from before the lock could show rows that the last turn has deleted.
      await run('SET TRANSACTION ISOLATION LEVEL READ COMMITTED');
      const [taken] = await run(POSTGRES_LOCK);
      if (taken?.locked !== true) {
        return undefined;
      }
      // A sequence is not rolled back, so no later turn gets this fence.
      const [drawn] = await run(`SELECT nextval('job_outbox_fence') AS fence, source FROM job_outbox_source`);
      const { source, fence } = drawn!;
      return work(turnOf(postgres, database, transaction, { source: String(source), fence: Number(fence) }));
    }),

  lockOrder: (database, transaction, groups) =>
    database.run(transaction, POSTGRES_LOCK_GROUPS, [postgresArray(groups)]),
  raiseFence: async ({ run }, fence) =>
    (await run(`SELECT setval('job_outbox_fence', CAST(? AS bigint))`, [fence])).length > 0,
  // A difference to an infinite time is an error before version 17.
  ageOf: (column) =>
    `CAST(CASE WHEN isfinite(${column}) THEN LEAST(GREATEST(` +
    `extract(epoch FROM clock_timestamp() - ${column}) * 1000, 0), ${LONGEST_AGE_MS}) ELSE 0 END AS double precision)`,
  text: '?',
  sent: (text) => text,
  seqText: (column) => `CAST(${column} AS text)`,
  seq: 'CAST(? AS bigint)',
  attempts: `LEAST(GREATEST(attempts, 0), ${MOST_ATTEMPTS})`,
  bytesOf: (column) => `octet_length(${column})`,
  now: 'clock_timestamp()',
  inMs: `clock_timestamp() + CAST(? AS double precision) * interval '1 millisecond'`,
  joined: (...texts) => `(${texts.join(' || ')})`,
  among: (column, values) => ({ sql: `${column} = ANY(CAST(? AS text[]))`, values: [postgresArray(values)] }),
  amongSeqs: (seqs) => ({ sql: 'seq = ANY(CAST(? AS bigint[]))', values: [postgresArray(seqs)] }),
  insertDone: 'INSERT INTO job_done (queue, id) VALUES (?, ?) ON CONFLICT DO NOTHING',
  changed: countReturned,
};

/** Returns an array as PostgreSQL reads it. It knows no escape but that of `"` and of a backslash. */
function postgresArray(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/[\\"]/g, '\\$&')}"`).join(',')}}`;
}

/** Compares texts by their code points. */
const MYSQL_TEXT = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
/** The time now. It is UTC, because sessions may have different time zones. */
const MYSQL_NOW = 'UTC_TIMESTAMP(6)';
/** The digits of a number, to fill a table without a loop. */
const MYSQL_DIGITS = `(${Array.from({ length: 16 }, (_, n) => `SELECT ${n} AS n`).join(' UNION ALL ')})`;
/** The rows that stand for groups. Several groups may share one, and then wait for each other. */
const MYSQL_SLOTS = 16 ** 3;

/**
 * A text, sent as hexadecimal digits. Most clients write values into the statement, and escape them by backslashes. With
 * the mode NO_BACKSLASH_ESCAPES, or some character sets, such a text would end early, and its rest would be SQL.
 */
const HEX_TEXT = `CONVERT(UNHEX(?) USING utf8mb4) COLLATE utf8mb4_bin`;

/** MySQL 8.0.13 or later, and MariaDB 10.6 or later. */
const mysql: Dialect = {
  ddl: [
    `CREATE TABLE job_outbox (
  seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  entry VARCHAR(256) NOT NULL,
  id VARCHAR(256) NOT NULL,
  connection VARCHAR(256) NOT NULL,
  queue VARCHAR(256) NOT NULL,
  name VARCHAR(256) NOT NULL,
  payload LONGTEXT NOT NULL,
  options LONGTEXT NOT NULL,
  group_name TEXT,
  created_at DATETIME(6) NOT NULL DEFAULT (${MYSQL_NOW}),
  attempts INT NOT NULL DEFAULT 0,
  not_before DATETIME(6),
  failed_at DATETIME(6),
  last_error TEXT,
  INDEX job_outbox_aside (not_before)
) ENGINE = InnoDB ${MYSQL_TEXT}`,
    `CREATE TABLE job_outbox_fence (value BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE = InnoDB`,
    `CREATE TABLE job_outbox_source (source VARCHAR(64) PRIMARY KEY) ENGINE = InnoDB ${MYSQL_TEXT}`,
    `INSERT INTO job_outbox_source (source) VALUES (UUID())`,
    `CREATE TABLE job_outbox_order (slot INT PRIMARY KEY) ENGINE = InnoDB`,
    `INSERT INTO job_outbox_order (slot) SELECT a.n + 16 * b.n + 256 * c.n FROM ${MYSQL_DIGITS} a, ${MYSQL_DIGITS} b, ${MYSQL_DIGITS} c`,
    `CREATE TABLE job_done (
  queue VARBINARY(1024) NOT NULL,
  id VARBINARY(1024) NOT NULL,
  done_at DATETIME(6) NOT NULL DEFAULT (${MYSQL_NOW}),
  PRIMARY KEY (queue, id),
  INDEX job_done_at (done_at)
) ENGINE = InnoDB`,
  ],

  catalogue: {
    columns:
      'SELECT table_name AS tbl, column_name AS col, column_type AS type, ' +
      `is_nullable = 'YES' AS nullable, column_default IS NOT NULL OR extra LIKE '%auto_increment%' AS filled ` +
      'FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ({tables})',
    indexes:
      'SELECT table_name AS tbl, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS cols ' +
      'FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name IN ({tables}) ' +
      'GROUP BY table_name, index_name',
  },

  // Texts of the outbox are safe in this mode. But the app's own are not: the clients escape by backslashes.
  unsafe: {
    query: 'SELECT @@SESSION.sql_mode AS setting',
    pattern: /\bNO_BACKSLASH_ESCAPES\b/,
    expected: 'a server without NO_BACKSLASH_ESCAPES in its sql_mode',
    remedy: 'Take it out: clients escape by backslashes, so in this mode a text of a user may be SQL.',
  },

  turn: (database, work) =>
    database.begin(async (transaction) => {
      const run = (sql: string) => database.run(transaction, sql, []);
      // A row lock ends with the transaction. The first read behind it makes the snapshot, so no deleted row is in it.
      const [taken] = await run('SELECT source FROM job_outbox_source FOR UPDATE SKIP LOCKED');
      if (!taken) {
        return undefined;
      }
      // A number of AUTO_INCREMENT is not rolled back, so no later turn gets this fence.
      await run('INSERT INTO job_outbox_fence () VALUES ()');
      const [drawn] = await run('SELECT LAST_INSERT_ID() AS fence');
      const fence = Number(drawn!.fence);
      await database.run(transaction, 'DELETE FROM job_outbox_fence WHERE value < ?', [fence]);
      return work(turnOf(mysql, database, transaction, { source: String(taken.source), fence }));
    }),

  slots: MYSQL_SLOTS,

  async lockOrder(database, transaction, groups) {
    const slots = [...new Set(groups.map(slotOf))];
    const { sql, values } = oneOf('slot', '?', slots);
    const locked = await database.run(
      transaction,
      `SELECT slot FROM job_outbox_order WHERE ${sql} ORDER BY slot FOR UPDATE`,
      values,
    );
    if (locked.length < slots.length) {
      throw new InvalidOptionError(
        'enqueue.ordered',
        `the ${MYSQL_SLOTS} rows of the table job_outbox_order`,
        `${slots.length - locked.length} of ${slots.length} missing`,
        'Add them: `npx nest-job-queue outbox sql --dialect mysql` prints the statement.',
      );
    }
  },

  raiseFence: async ({ changed }, fence) =>
    (await changed('INSERT IGNORE INTO job_outbox_fence (value) VALUES (?)', [fence])) > 0,
  ageOf: (column) =>
    `LEAST(GREATEST(TIMESTAMPDIFF(MICROSECOND, ${column}, ${MYSQL_NOW}) / 1000, 0), ${LONGEST_AGE_MS})`,
  text: HEX_TEXT,
  sent: toHex,
  seqText: (column) => `CAST(${column} AS CHAR)`,
  seq: 'CAST(? AS SIGNED)',
  attempts: `LEAST(GREATEST(attempts, 0), ${MOST_ATTEMPTS})`,
  bytesOf: (column) => `OCTET_LENGTH(${column})`,
  now: MYSQL_NOW,
  inMs: `DATE_ADD(${MYSQL_NOW}, INTERVAL ? * 1000 MICROSECOND)`,
  joined: (...texts) => `concat(${texts.join(', ')})`,
  among: (column, values) => oneOf(column, HEX_TEXT, values.map(toHex)),
  // Numbers, so that the primary key serves. MySQL compares a text with a number by their nearest doubles.
  amongSeqs: (seqs) => oneOf('seq', 'CAST(? AS SIGNED)', seqs),
  insertDone: `INSERT IGNORE INTO job_done (queue, id) VALUES (${HEX_TEXT}, ${HEX_TEXT})`,

  async changed(database, transaction, sql, values) {
    await database.run(transaction, sql, values);
    const [row] = await database.run(transaction, 'SELECT ROW_COUNT() AS changed', []);
    return Number(row!.changed);
  },
};

function toHex(text: string): string {
  return Buffer.from(text).toString('hex');
}

/** Returns the number of the lock row of a group. */
function slotOf(group: string): number {
  return createHash('sha256').update(group).digest().readUInt16BE() % MYSQL_SLOTS;
}

function oneOf(column: string, each: string, values: readonly unknown[]): SqlPart {
  return { sql: `${column} IN (${values.map(() => each).join(', ')})`, values };
}

/** The time in ms. `unixepoch('subsec')` needs SQLite 3.42. */
const SQLITE_NOW = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`;

const sqlite: Dialect = {
  ddl: [
    `CREATE TABLE job_outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  entry TEXT NOT NULL,
  id TEXT NOT NULL,
  connection TEXT NOT NULL,
  queue TEXT NOT NULL,
  name TEXT NOT NULL,
  payload TEXT NOT NULL,
  options TEXT NOT NULL,
  group_name TEXT,
  created_at INTEGER NOT NULL DEFAULT (${SQLITE_NOW}),
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER,
  failed_at INTEGER,
  last_error TEXT
)`,
    `CREATE INDEX job_outbox_aside ON job_outbox (not_before) WHERE not_before IS NOT NULL`,
    `CREATE TABLE job_outbox_source (source TEXT PRIMARY KEY, fence INTEGER NOT NULL DEFAULT 0)`,
    `INSERT INTO job_outbox_source (source) VALUES (lower(hex(randomblob(16))))`,
    `CREATE TABLE job_done (
  queue TEXT NOT NULL,
  id TEXT NOT NULL,
  done_at INTEGER NOT NULL DEFAULT (${SQLITE_NOW}),
  PRIMARY KEY (queue, id)
)`,
  ],

  catalogue: {
    columns:
      `SELECT m.name AS tbl, c.name AS col, c.type AS type, c."notnull" = 0 AND c.pk = 0 AS nullable, ` +
      `c.dflt_value IS NOT NULL OR (c.pk = 1 AND m.sql LIKE '%AUTOINCREMENT%') AS filled ` +
      `FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name IN ({tables})`,
    indexes:
      `SELECT m.name AS tbl, (SELECT group_concat(name) FROM pragma_index_info(i.name)) AS cols ` +
      `FROM sqlite_master m JOIN pragma_index_list(m.name) i WHERE m.type = 'table' AND m.name IN ({tables}) ` +
      `UNION ALL SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ` +
      `WHERE m.type = 'table' AND m.name IN ({tables}) AND c.pk = 1 AND c.type = 'INTEGER'`,
  },

  /**
   * Holds no lock, because SQLite has one writer at a time, and Redis may be slow. The last fence has the turn. Redis
   * takes no job of an earlier one, and `isMine` lets it delete no row.
   */
  async turn(database, work) {
    const run: Turn['run'] = (sql, values) =>
      database.begin((transaction) => database.run(transaction, sql, values));
    const [drawn] = await run('UPDATE job_outbox_source SET fence = fence + 1 RETURNING fence, source', []);
    const fence = Number(drawn!.fence);
    return work({
      run,
      changed: (sql, values) => database.begin((transaction) => countReturned(database, transaction, sql, values)),
      isMine: `${fence} = (SELECT fence FROM job_outbox_source)`,
      source: String(drawn!.source),
      fence,
    });
  },

  raiseFence: async ({ changed }, fence) =>
    (await changed('UPDATE job_outbox_source SET fence = ? WHERE fence < ?', [fence, fence])) > 0,
  // A column may have a value of any type.
  ageOf: (column) => `CAST(MIN(MAX(${SQLITE_NOW} - CAST(${column} AS REAL), 0), ${LONGEST_AGE_MS}) AS INTEGER)`,
  text: '?',
  sent: (text) => text,
  seqText: (column) => `CAST(${column} AS TEXT)`,
  seq: 'CAST(? AS INTEGER)',
  attempts: `MIN(MAX(CAST(attempts AS INTEGER), 0), ${MOST_ATTEMPTS})`,
  bytesOf: (column) => `length(CAST(${column} AS BLOB))`,
  now: SQLITE_NOW,
  inMs: `(${SQLITE_NOW} + CAST(? AS INTEGER))`,
  joined: (...texts) => `(${texts.join(' || ')})`,
  among: (column, values) => ({
    sql: `${column} IN (SELECT value FROM json_each(?))`,
    values: [JSON.stringify(values)],
  }),
  amongSeqs: (seqs) => ({
    sql: 'seq IN (SELECT CAST(value AS INTEGER) FROM json_each(?))',
    values: [JSON.stringify(seqs)],
  }),
  insertDone: 'INSERT INTO job_done (queue, id) VALUES (?, ?) ON CONFLICT DO NOTHING',
  changed: countReturned,
};

const DIALECTS = { postgres, mysql, sqlite };

export function dialectOf({ dialect }: Pick<OutboxDatabase, 'dialect'>): Dialect {
  return DIALECTS[dialect];
}

/**
 * Returns the statements that make the tables of the outbox, for a migration.
 *
 * @example for (const statement of outboxSql('postgres')) await queryRunner.query(statement);
 */
export function outboxSql(dialect: OutboxDialect): readonly string[] {
  return dialectOf({ dialect }).ddl;
}
