// Connects to the database of an outbox, by a package of the app.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { loadPeer } from '../../queue/errors/load-peer.js';
import { withoutPassword } from '../../queue/errors/show.js';
import {
  fromBetterSqlite3,
  type BetterSqlite3Database,
  fromLibsql,
  type LibsqlClient,
  fromMysql2,
  type Mysql2Pool,
  fromPg,
  type PgPool,
} from '../../outbox/driver-handles.js';
import type { OutboxDatabase } from '../../outbox/outbox-database.js';
import { CliError, EXIT } from '../exit-codes.js';
import { refusePassword } from '../failure.js';

/** A database that a command has opened. */
interface OpenDatabase {
  database: OutboxDatabase;
  close(): unknown;
}

const EXPECTED = 'postgres://…, mysql://… or file:… (SQLite)';
const CONNECT_MS = 5_000;

/**
 * Opens the database of a URL.
 *
 * @param given the address of the command line, which others can read
 * @throws CliError for another address, one with a password in the arguments, or a missing package
 */
export async function openDatabase(given: string | undefined, env: NodeJS.ProcessEnv): Promise<OpenDatabase> {
  const address = given ?? env['DATABASE_URL'];
  if (address === undefined) {
    throw new CliError(`Pass the database of the outbox in DATABASE_URL: ${EXPECTED}.`, EXIT.usage);
  }
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (given !== undefined && url) {
    refusePassword('database', 'DATABASE_URL', url);
  }
  const open = OPENERS[url?.protocol ?? ''];
  if (!open) {
    const found = JSON.stringify(withoutPassword(address));
    throw new CliError(`Expected the database of the outbox as ${EXPECTED}, found ${found}.`, EXIT.usage);
  }
  return open(address);
}

const OPENERS: Record<string, (address: string) => Promise<OpenDatabase>> = {
  'postgres:': openPostgres,
  'postgresql:': openPostgres,
  'mysql:': openMysql,
  'mariadb:': openMysql,
  'file:': openSqlite,
};

async function openPostgres(address: string): Promise<OpenDatabase> {
  interface Pg {
    Pool: new (
      options: object,
    ) => PgPool & { on(event: 'error', listener: () => void): void; end(): Promise<void> };
  }
  const { Pool } = (await load('pg')) as Pg;
  const pool = new Pool({ connectionString: address, max: 1, connectionTimeoutMillis: CONNECT_MS });
  pool.on('error', () => undefined); // the next statement reports it
  return { database: fromPg(pool), close: () => pool.end() };
}

async function openMysql(address: string): Promise<OpenDatabase> {
  interface Mysql {
    createPool(options: object): Mysql2Pool & { end(): Promise<void> };
  }
  const uri = address.replace(/^mariadb:/, 'mysql:');
  const pool = ((await load('mysql2', '/promise')) as Mysql).createPool({
    uri,
    connectionLimit: 1,
    connectTimeout: CONNECT_MS,
  });
  return { database: fromMysql2(pool), close: () => pool.end() };
}

/** @throws CliError if there is no such file: a client would make an empty one */
async function openSqlite(address: string): Promise<OpenDatabase> {
  const path = address.replace(/^file:(\/\/)?/, '');
  if (!existsSync(path)) {
    throw new CliError(`Could not find the database of the outbox: there is no file ${path}.`, EXIT.unreachable);
  }
  const found = await load('better-sqlite3').catch(notInstalled);
  const better = found as (new (path: string) => BetterSqlite3Database) | undefined;
  if (better) {
    const db = new better(path);
    const database = fromBetterSqlite3(db);
    return { database, close: () => [database.close?.(), db.close()] };
  }
  interface Libsql {
    createClient(options: { url: string }): LibsqlClient & { close(): void };
  }
  const client = ((await load('@libsql/client')) as Libsql).createClient({ url: `file:${path}` });
  return { database: fromLibsql(client), close: () => client.close() };
}

/** Loads a package of the app in the current folder. @throws InvalidOptionError that says what to install */
function load(name: string, part = ''): Promise<unknown> {
  const inApp = createRequire(join(process.cwd(), 'package.json'));
  const use = 'in the folder of your app, where this must run';
  return loadPeer(name, 'outbox', use, () => Promise.resolve().then(() => inApp(`${name}${part}`) as unknown));
}

/** Returns undefined for a package that is not installed. */
function notInstalled(error: unknown): undefined {
  if (!(error instanceof InvalidOptionError)) {
    throw error;
  }
}
