import { countReturned, LONGEST_AGE_MS, MOST_ATTEMPTS, type Dialect, type Turn } from './dialect.js';

/** The time in ms. `unixepoch('subsec')` needs SQLite 3.42. */
const NOW = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`;

export const sqlite: Dialect = {
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
  created_at INTEGER NOT NULL DEFAULT (${NOW}),
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
  done_at INTEGER NOT NULL DEFAULT (${NOW}),
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
  ageOf: (column) => `CAST(MIN(MAX(${NOW} - CAST(${column} AS REAL), 0), ${LONGEST_AGE_MS}) AS INTEGER)`,
  text: '?',
  sent: (text) => text,
  seqText: (column) => `CAST(${column} AS TEXT)`,
  seq: 'CAST(? AS INTEGER)',
  attempts: `MIN(MAX(CAST(attempts AS INTEGER), 0), ${MOST_ATTEMPTS})`,
  bytesOf: (column) => `length(CAST(${column} AS BLOB))`,
  now: NOW,
  inMs: `(${NOW} + CAST(? AS INTEGER))`,
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
