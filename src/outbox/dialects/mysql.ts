import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { LONGEST_AGE_MS, MOST_ATTEMPTS, turnOf, type Dialect, type SqlPart } from './dialect.js';

/** Compares texts by their code points. */
const TEXT = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
/** The time now. It is UTC, because sessions may have different time zones. */
const NOW = 'UTC_TIMESTAMP(6)';
/** The digits of a number, to fill a table without a loop. */
const DIGITS = `(${Array.from({ length: 16 }, (_, n) => `SELECT ${n} AS n`).join(' UNION ALL ')})`;
/** The rows that stand for groups. Several groups may share one, and then wait for each other. */
const SLOTS = 16 ** 3;

/**
 * A text, sent as hexadecimal digits. Most clients write values into the statement, and escape them by backslashes. With
 * the mode NO_BACKSLASH_ESCAPES, or some character sets, such a text would end early, and its rest would be SQL.
 */
const HEX_TEXT = `CONVERT(UNHEX(?) USING utf8mb4) COLLATE utf8mb4_bin`;

/** MySQL 8.0.13 or later, and MariaDB 10.6 or later. */
export const mysql: Dialect = {
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
  created_at DATETIME(6) NOT NULL DEFAULT (${NOW}),
  attempts INT NOT NULL DEFAULT 0,
  not_before DATETIME(6),
  failed_at DATETIME(6),
  last_error TEXT,
  INDEX job_outbox_aside (not_before)
) ENGINE = InnoDB ${TEXT}`,
    `CREATE TABLE job_outbox_fence (value BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE = InnoDB`,
    `CREATE TABLE job_outbox_source (source VARCHAR(64) PRIMARY KEY) ENGINE = InnoDB ${TEXT}`,
    `INSERT INTO job_outbox_source (source) VALUES (UUID())`,
    `CREATE TABLE job_outbox_order (slot INT PRIMARY KEY) ENGINE = InnoDB`,
    `INSERT INTO job_outbox_order (slot) SELECT a.n + 16 * b.n + 256 * c.n FROM ${DIGITS} a, ${DIGITS} b, ${DIGITS} c`,
    `CREATE TABLE job_done (
  queue VARBINARY(1024) NOT NULL,
  id VARBINARY(1024) NOT NULL,
  done_at DATETIME(6) NOT NULL DEFAULT (${NOW}),
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

  slots: SLOTS,

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
        `the ${SLOTS} rows of the table job_outbox_order`,
        `${slots.length - locked.length} of ${slots.length} missing`,
        'Add them: `npx nest-job-queue outbox sql --dialect mysql` prints the statement.',
      );
    }
  },

  raiseFence: async ({ changed }, fence) =>
    (await changed('INSERT IGNORE INTO job_outbox_fence (value) VALUES (?)', [fence])) > 0,
  ageOf: (column) => `LEAST(GREATEST(TIMESTAMPDIFF(MICROSECOND, ${column}, ${NOW}) / 1000, 0), ${LONGEST_AGE_MS})`,
  text: HEX_TEXT,
  sent: toHex,
  seqText: (column) => `CAST(${column} AS CHAR)`,
  seq: 'CAST(? AS SIGNED)',
  attempts: `LEAST(GREATEST(attempts, 0), ${MOST_ATTEMPTS})`,
  bytesOf: (column) => `OCTET_LENGTH(${column})`,
  now: NOW,
  inMs: `DATE_ADD(${NOW}, INTERVAL ? * 1000 MICROSECOND)`,
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

/** Returns the row that stands for a group. */
function slotOf(group: string): number {
  return createHash('sha256').update(group).digest().readUInt16BE() % SLOTS;
}

function oneOf(column: string, each: string, values: readonly unknown[]): SqlPart {
  return { sql: `${column} IN (${values.map(() => each).join(', ')})`, values };
}
