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

/** The method for statements on PostgreSQL, and that on SQLite. */
type Runs = Partial<Record<'execute' | 'all', (query: object) => PromiseLike<unknown>>>;

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
  options: { sql: DrizzleSql; dialect?: OutboxDialect },
): OutboxDatabase {
  const { sql: tag, dialect = 'postgres' } = options;
  const method = dialect === 'postgres' ? 'execute' : 'all';
  return {
    dialect,
    refusalOf(transaction) {
      const handle = (transaction ?? {}) as Runs;
      if (typeof handle[method] !== 'function') {
        return 'no transaction of Drizzle';
      }
      return 'rollback' in handle ? undefined : 'the database itself';
    },
    run: async (transaction, text, values) => {
      const parts = text.split('?');
      const query = tag(Object.assign(parts, { raw: parts }), ...values);
      return rowsOf(await (transaction as Required<Runs>)[method](query));
    },
    begin: (work) => db.transaction(work),
  };
}
