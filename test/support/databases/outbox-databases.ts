// The databases that an outbox is tested on, each with its tables.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterAll, beforeAll, describe } from '@jest/globals';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { fromLibsql, fromMysql2, fromPg, type OutboxDatabase } from 'nest-job-queue/outbox';
import { startPostgres } from '../../../scripts/databases/postgres-server.mjs';
import { startMariadb } from './mariadb.js';
import { makeTables } from './outbox.js';

interface Opened {
  database: OutboxDatabase;
  close(): Promise<unknown>;
}

/** Opens a database of SQLite in a folder of its own. */
export async function openSqlite(): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), 'outbox-'));
  const client = createClient({ url: `file:${join(folder, 'rows.db')}` });
  const database = fromLibsql(client);
  await makeTables(database);
  const close = async () => (client.close(), rmSync(folder, { recursive: true }));
  return { database, close };
}

const DATABASES: Record<string, () => Promise<Opened>> = {
  SQLite: openSqlite,
  async PostgreSQL() {
    const server = await startPostgres();
    const pool = new pg.Pool({ connectionString: server.url });
    const database = fromPg(pool);
    await makeTables(database);
    return { database, close: () => pool.end().then(() => server.stop()) };
  },
  async MariaDB() {
    const server = await startMariadb();
    const pool = mysql.createPool({ uri: server.url });
    const database = fromMysql2(pool);
    await makeTables(database);
    return { database, close: () => pool.end().then(() => server.stop()) };
  },
};

/** The names of the databases. */
export const OUTBOX_DATABASES: readonly string[] = Object.keys(DATABASES);

/** Runs tests on databases. Each is open only while they run. */
export function onOutboxDatabases(
  subject: string,
  names: readonly string[],
  tests: (database: () => OutboxDatabase, name: string) => void,
): void {
  describe.each(names)(`${subject} on %s`, (name) => {
    let opened: Opened;
    beforeAll(async () => {
      opened = await DATABASES[name]!();
    }, 60_000);
    afterAll(() => opened.close());
    tests(() => opened.database, name);
  });
}
