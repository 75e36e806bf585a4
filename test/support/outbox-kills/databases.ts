// The databases of the kill loops, opened by the test and by each of its processes.
import type { OutboxDatabase, OutboxDialect } from '#outbox/outbox-database.js';
import { fromMysql2, fromPg } from '#outbox/driver-handles.js';

/** The connections of a process. */
const CONNECTIONS = 4;

/** Connects to a database. Tells the number of each session. The driver is loaded only where it is used. */
export async function openDatabase(
  { dialect, url }: { dialect: OutboxDialect; url: string },
  tell: (session: number) => void,
): Promise<OutboxDatabase> {
  if (dialect === 'postgres') {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
    pool.on('error', () => undefined);
    pool.on('connect', (client) => tell((client as unknown as { processID: number }).processID));
    return { ...fromPg(pool), close: () => pool.end() };
  }
  const { default: mysql } = await import('mysql2/promise');
  const pool = mysql.createPool({ uri: url, connectionLimit: CONNECTIONS });
  pool.on('connection', ({ threadId }) => tell(threadId));
  return { ...fromMysql2(pool), close: () => pool.end() };
}

/** Ends a session, as a database does with a silent one. It may have ended by itself. */
export async function cut(database: OutboxDatabase, session: number): Promise<void> {
  const sql = database.dialect === 'postgres' ? 'SELECT pg_terminate_backend(?)' : 'KILL CONNECTION ?';
  await database.begin((transaction) => database.run(transaction, sql, [session])).catch(() => undefined);
}
