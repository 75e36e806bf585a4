import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { rowsOf, type OutboxDatabase } from '../outbox-database.js';

/** A database of better-sqlite3, as the outbox uses it. */
export interface BetterSqlite3Database {
  /** The path of its file. */
  readonly name: string;
  /** True while a transaction is open. */
  readonly inTransaction: boolean;
  /** Prepares a statement. */
  prepare(sql: string): {
    /** True if it returns rows. */
    readonly reader: boolean;
    /** Runs it, and returns its rows. */
    all(...values: never[]): unknown[];
    /** Runs it. */
    run(...values: never[]): unknown;
  };
  /** Closes the connection. */
  close(): unknown;
}

/** The time for which a statement of the relay waits for the transaction of another connection, in ms. */
const MOST_WAIT_MS = 5_000;
const WAIT_MS = 5;

/**
 * Makes the database of the outbox from a database of better-sqlite3. The transaction of an enqueue is a database after
 * `BEGIN IMMEDIATE`. A function of `db.transaction(…)` ends before an enqueue could write.
 *
 * The relay has a connection of its own. It holds no transaction, because a synchronous client would block the process
 * until that ended.
 *
 * @throws InvalidOptionError for a database in memory, which has one connection only
 * @example JobOutboxModule.forRoot({ database: fromBetterSqlite3(db) })
 */
export function fromBetterSqlite3(db: BetterSqlite3Database): OutboxDatabase {
  if (!db.name || db.name === ':memory:') {
    throw new InvalidOptionError('fromBetterSqlite3', 'a database in a file', show(db.name));
  }
  let own: BetterSqlite3Database | undefined;
  return {
    dialect: 'sqlite',
    refusalOf(transaction) {
      const { prepare, inTransaction } = (transaction ?? {}) as Partial<BetterSqlite3Database>;
      if (typeof prepare !== 'function') {
        return 'no database of better-sqlite3';
      }
      return inTransaction ? undefined : 'a database without a transaction';
    },
    async run(transaction, sql, values) {
      const run = () => runOn(transaction as BetterSqlite3Database, sql, values);
      return rowsOf(transaction === own ? await patiently(run) : run());
    },
    begin: (work) => work((own ??= connectLike(db))),
    close() {
      own?.close();
      own = undefined;
    },
  };
}

/** Opens the file again. Without a timeout, because a wait would block the transaction that it waits for. */
function connectLike(db: BetterSqlite3Database): BetterSqlite3Database {
  const Database = db.constructor as new (name: string, options: object) => BetterSqlite3Database;
  return new Database(db.name, { timeout: 0 });
}

function runOn(db: BetterSqlite3Database, sql: string, values: readonly unknown[]): unknown {
  const statement = db.prepare(sql);
  return statement.reader ? statement.all(...(values as never[])) : statement.run(...(values as never[]));
}

/** Tries again while another connection writes. */
async function patiently<Result>(run: () => Result): Promise<Result> {
  const deadline = performance.now() + MOST_WAIT_MS;
  for (;;) {
    try {
      return run();
    } catch (error) {
      const isBusy = String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY');
      if (!isBusy || performance.now() > deadline) {
        throw error;
      }
      await sleep(WAIT_MS);
    }
  }
}
