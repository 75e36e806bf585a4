import { countReturned, LONGEST_AGE_MS, MOST_ATTEMPTS, turnOf, type Dialect } from './dialect.js';

/** The lock of the table. It ends with the transaction, so that it works behind PgBouncer. */
const LOCK = `SELECT pg_try_advisory_xact_lock(CAST(724100 AS bigint) << 32 | CAST(CAST(CAST('job_outbox' AS regclass) AS oid) AS bigint)) AS locked`;

/** The locks of groups, which end with the transaction. Sorted, so that two enqueues of several groups do not deadlock. */
const LOCK_GROUPS =
  'SELECT count(pg_advisory_xact_lock(724101, slot)) AS locked FROM ' +
  '(SELECT DISTINCT hashtext(name) AS slot FROM unnest(CAST(? AS text[])) AS name ORDER BY slot) AS slots';

export const postgres: Dialect = {
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
      const [taken] = await run(LOCK);
      if (taken?.locked !== true) {
        return undefined;
      }
      // A sequence is not rolled back, so no later turn gets this fence.
      const [drawn] = await run(`SELECT nextval('job_outbox_fence') AS fence, source FROM job_outbox_source`);
      const { source, fence } = drawn!;
      return work(turnOf(postgres, database, transaction, { source: String(source), fence: Number(fence) }));
    }),

  lockOrder: (database, transaction, groups) => database.run(transaction, LOCK_GROUPS, [list(groups)]),
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
  among: (column, values) => ({ sql: `${column} = ANY(CAST(? AS text[]))`, values: [list(values)] }),
  amongSeqs: (seqs) => ({ sql: 'seq = ANY(CAST(? AS bigint[]))', values: [list(seqs)] }),
  insertDone: 'INSERT INTO job_done (queue, id) VALUES (?, ?) ON CONFLICT DO NOTHING',
  changed: countReturned,
};

/** Returns an array as PostgreSQL reads it. It knows no escape but that of `"` and of a backslash. */
function list(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/[\\"]/g, '\\$&')}"`).join(',')}}`;
}
