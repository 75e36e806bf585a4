import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Argument, Option, type Command } from 'commander';
import { VERDICT_MARKS } from '../../inspect/marks.js';
import {
  outboxSentence,
  type OutboxVerdict,
  outboxVerdictOf,
  readOutboxVerdict,
} from '../../inspect/outbox-verdict.js';
import { checkTables, unsafeSetting } from '../../outbox/check-tables.js';
import { outboxSql } from '../../outbox/dialects.js';
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
import { DIALECTS, type OutboxDatabase, type OutboxDialect } from '../../outbox/outbox-database.js';
import { OutboxTable } from '../../outbox/outbox-table.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { loadPeer } from '../../queue/errors/load-peer.js';
import { withoutPasswords, withoutPassword } from '../../queue/errors/show.js';
import type { OutboxRecord } from '../../queue/store/outbox-writer.js';
import type { CommandOptions, LocalContext, RunLocally } from '../context.js';
import { CliError, EXIT, exitOf } from '../exit-codes.js';
import { refusePassword } from '../failure.js';
import { wholeNumber } from '../numbers.js';
import type { Output } from '../output.js';
import { age, lines, text, type Text } from '../text.js';

const ACTIONS = ['sql', 'check', 'list', 'retry', 'discard'] as const;
const MOST_ROWS = 5;
/** The time that the database may take for a verdict, in ms. */
const ANSWER_MS = 10_000;

/** Adds the command for the outbox: its tables, their check, and rows that do not reach their queues. */
export function addOutbox(program: Command, run: RunLocally, env: NodeJS.ProcessEnv): void {
  program
    .command('outbox')
    .addArgument(new Argument('<action>', 'what to do').choices(ACTIONS))
    .argument('[row]', 'the number of the row to discard')
    .description('checks the outbox and its bad rows, or prints its tables for a migration; see docs/outbox.md')
    .addOption(new Option('--dialect <name>', 'sql: the database').choices(DIALECTS))
    .option('--database <url>', 'the database; without it DATABASE_URL, also where it has a password')
    .option('--limit <n>', 'list: the rows to show', '50')
    .action(
      run(async (context, [action, row], options) => {
        if (action === 'sql') {
          printSql(context, options['dialect'] as OutboxDialect | undefined);
        } else {
          await onDatabase(env, options, (table) => act(context, table, { action, row, options }));
        }
      }),
    );
}

/** Returns the verdict on the outbox in a database. One that gives no answer is a verdict too. */
export async function judgeOutbox(env: NodeJS.ProcessEnv, given: string | undefined): Promise<OutboxVerdict> {
  const { database, close } = await openDatabase(given, env);
  try {
    const table = new OutboxTable(database);
    const { cause, ...verdict } = (await readOutboxVerdict({ signs: () => table.stats() }, ANSWER_MS))!;
    return { ...verdict, ...(cause !== undefined && { cause: withoutPasswords(cause) }) };
  } finally {
    await close();
  }
}

/** Returns a verdict on the outbox in words. */
export function outboxText(verdict: OutboxVerdict, out: Output): Text[] {
  const { severity, next } = verdict;
  return [
    text`${out.sign(VERDICT_MARKS[severity])} ${outboxSentence(verdict)}`,
    ...(next === undefined ? [] : [text`    next:  ${next}`]),
  ];
}

function printSql({ out }: LocalContext, dialect: OutboxDialect | undefined): void {
  if (dialect === undefined) {
    throw new CliError(`Pass --dialect ${DIALECTS.join(', ')}.`, EXIT.usage);
  }
  const statements = outboxSql(dialect);
  out.show(statements, () => lines(statements.flatMap((each) => [...`${each};`.split('\n'), '']).slice(0, -1)));
}

async function onDatabase(
  env: NodeJS.ProcessEnv,
  options: CommandOptions,
  work: (table: OutboxTable) => Promise<void>,
): Promise<void> {
  const { database, close } = await openDatabase(options['database'] as string | undefined, env);
  try {
    await reach(database);
    await work(new OutboxTable(database));
  } finally {
    await close();
  }
}

/** @throws CliError if the database gives no answer */
async function reach(database: OutboxDatabase): Promise<void> {
  try {
    await database.begin((transaction) => database.run(transaction, 'SELECT 1', []));
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const reason = withoutPasswords(message || (code ?? 'no reason given'));
    throw new CliError(`Could not reach the database of the outbox: ${reason}`, EXIT.unreachable);
  }
}

interface Asked {
  action: string | undefined;
  row: string | undefined;
  options: CommandOptions;
}

async function act(context: LocalContext, table: OutboxTable, { action, row, options }: Asked): Promise<void> {
  const { out } = context;
  const { database } = table;
  const unsafe = await unsafeSetting(database);
  const wrong = await checkTables(database);
  if (unsafe) {
    showWrong(out, [`Expected ${unsafe.expected}, found ${unsafe.found}.`, ...wrong], unsafe.remedy);
    context.exit(EXIT.failed);
  } else if (wrong.length > 0) {
    const ddl = `npx nest-job-queue outbox sql --dialect ${database.dialect}`;
    showWrong(out, wrong, `compare your migration with: ${ddl}`);
    context.exit(EXIT.failed);
  } else if (action === 'check') {
    await check(context, table);
  } else if (action === 'list') {
    const rows = await table.list(wholeNumber('limit', options['limit'])!);
    out.show(rows, () => (rows.length > 0 ? rowsText(out, rows) : 'The outbox has no row.'));
  } else if (action === 'retry') {
    const count = await table.retry();
    out.show({ retried: count }, () => text`${count} refused or failed rows will be sent again`);
  } else {
    await discard(context, table, row);
  }
}

function showWrong(out: Output, wrong: readonly string[], next: string): void {
  out.show({ severity: 'critical', wrong, next }, () =>
    lines([...wrong.map((each) => text`${out.sign(VERDICT_MARKS.critical)} ${each}`), text`    next:  ${next}`]),
  );
}

/** Shows whether rows reach their queues, and the first bad ones. */
async function check({ out, exit }: LocalContext, table: OutboxTable): Promise<void> {
  const stats = await table.stats();
  const verdict = outboxVerdictOf(stats);
  const { severity } = verdict;
  const bad = (await table.list(MOST_ROWS)).filter(({ isFailed, attempts }) => isFailed || attempts > 0);
  exit(exitOf(severity));
  out.show({ severity, verdict, stats, bad }, () =>
    lines([
      ...outboxText(verdict, out),
      text`    the tables are right; ${stats.waiting} ${stats.waiting === 1 ? 'row waits' : 'rows wait'}, the oldest for ${age(stats.oldestAgeMs)}; ${stats.failed} failed`,
      ...(bad.length > 0 ? ['', rowsText(out, bad)] : []),
    ]),
  );
}

function rowsText(out: Output, rows: readonly OutboxRecord[]): Text {
  const head = ['row', 'queue', 'name', 'job', 'state', 'attempts', 'age', 'error'];
  const cells = rows.map((row) => [
    String(row.seq),
    row.queue,
    row.name,
    row.id,
    row.isFailed ? 'failed' : row.attempts > 0 ? 'refused' : 'waiting',
    row.attempts,
    age(row.ageMs),
    row.lastError ?? '',
  ]);
  return out.table(head, cells, { whole: ['row'], dropped: ['name', 'job'] });
}

async function discard({ out, confirm }: LocalContext, table: OutboxTable, row: string | undefined): Promise<void> {
  if (row === undefined || !/^\d{1,18}$/.test(row)) {
    throw new CliError('Pass the number of the row to discard; outbox list has it.', EXIT.usage);
  }
  await confirm(() => text`delete row ${row} of the outbox, whose job is then never added`);
  if ((await table.discard({ seqs: [row] })) === 0) {
    throw new CliError(`The outbox has no failed row ${row}. Only failed rows can be discarded.`, EXIT.notFound);
  }
  out.show({ discarded: row }, () => text`row ${row} discarded`);
}

// Connects to the database of an outbox, by a package of the app.

/** A database that a command has opened. */
interface OpenDatabase {
  database: OutboxDatabase;
  close(): unknown;
}

const ADDRESS_FORMS = 'postgres://…, mysql://… or file:… (SQLite)';
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
    throw new CliError(`Pass the database of the outbox in DATABASE_URL: ${ADDRESS_FORMS}.`, EXIT.usage);
  }
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (given !== undefined && url) {
    refusePassword('database', 'DATABASE_URL', url);
  }
  const open = OPENERS[url?.protocol ?? ''];
  if (!open) {
    const found = JSON.stringify(withoutPassword(address));
    throw new CliError(`Expected the database of the outbox as ${ADDRESS_FORMS}, found ${found}.`, EXIT.usage);
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
  const { Pool } = (await loadOfApp('pg')) as Pg;
  const pool = new Pool({ connectionString: address, max: 1, connectionTimeoutMillis: CONNECT_MS });
  pool.on('error', () => undefined); // the next statement reports it
  return { database: fromPg(pool), close: () => pool.end() };
}

async function openMysql(address: string): Promise<OpenDatabase> {
  interface Mysql {
    createPool(options: object): Mysql2Pool & { end(): Promise<void> };
  }
  const uri = address.replace(/^mariadb:/, 'mysql:');
  const pool = ((await loadOfApp('mysql2', '/promise')) as Mysql).createPool({
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
  const found = await loadOfApp('better-sqlite3').catch(notInstalled);
  const better = found as (new (path: string) => BetterSqlite3Database) | undefined;
  if (better) {
    const db = new better(path);
    const database = fromBetterSqlite3(db);
    return { database, close: () => [database.close?.(), db.close()] };
  }
  interface Libsql {
    createClient(options: { url: string }): LibsqlClient & { close(): void };
  }
  const client = ((await loadOfApp('@libsql/client')) as Libsql).createClient({ url: `file:${path}` });
  return { database: fromLibsql(client), close: () => client.close() };
}

/** Loads a package of the app in the current folder. @throws InvalidOptionError that says what to install */
function loadOfApp(name: string, part = ''): Promise<unknown> {
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
