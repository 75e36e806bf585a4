import { ASK, isOpen } from './from-mysql2.js';
import { rowsOf, type OutboxDatabase, type OutboxDialect } from '../outbox-database.js';

/** The `sql` of drizzle-orm, as the outbox uses it: a tag for templates. */
export type DrizzleSql = (parts: TemplateStringsArray, ...values: unknown[]) => object;

/** A transaction of Drizzle, as the outbox uses it. */
export interface DrizzleTransaction {
  /** Ends the transaction. */
  rollback(): never;
}

/** A database of Drizzle, as the outbox uses it. */
export interface DrizzleDatabase {
  /** Runs work in a transaction. */
  transaction<Result>(work: (tx: DrizzleTransaction) => Promise<Result>): Promise<Result>;
}

/** The method for statements on PostgreSQL and MySQL, and that on SQLite. */
type Runs = Partial<Record<'execute' | 'all', (query: object) => PromiseLike<unknown>>>;

interface Handle extends Runs {
  /** Its client of pg tells whether the transaction is open. */
  session?: { client?: { getTransactionStatus?(): string | null } };
}

/**
 * Makes the database of the outbox from a database of Drizzle, with an asynchronous driver. The transaction of an enqueue
 * is the `tx` of `db.transaction(…)`.
 *
 * @param options.sql the `sql` of drizzle-orm
 * @param options.dialect the dialect of the database. Default `postgres`
 * @example JobOutboxModule.forRoot({ database: fromDrizzle(db, { sql }) })
 */
export function fromDrizzle(
  db: DrizzleDatabase,
  options: { sql: DrizzleSql; dialect?: OutboxDialect | undefined },
): OutboxDatabase {
  const { sql: tag, dialect = 'postgres' } = options;
  const method = dialect === 'sqlite' ? 'all' : 'execute';
  const run = (transaction: unknown, text: string, values: readonly unknown[]) => {
    const parts = text.split('?');
    return (transaction as Required<Runs>)[method](tag(Object.assign(parts, { raw: parts }), ...values));
  };
  const hasEnded = async (handle: Handle) =>
    dialect === 'mysql'
      ? !isOpen(await run(handle, ASK, []))
      : (handle.session?.client?.getTransactionStatus?.() ?? 'T') !== 'T';
  return {
    dialect,
    async refusalOf(transaction) {
      const handle = (transaction ?? {}) as Handle;
      if (typeof handle[method] !== 'function') {
        return 'no transaction of Drizzle';
      }
      if (!('rollback' in handle)) {
        return 'the database itself';
      }
      return (await hasEnded(handle)) ? 'a transaction that has ended' : undefined;
    },
    run: async (transaction, text, values) => rowsOf(await run(transaction, text, values)),
    begin: (work) => db.transaction(work),
  };
}
