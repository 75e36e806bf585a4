import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { rowsOf, type OutboxDatabase, type OutboxDialect } from '../outbox-database.js';

/** A transaction of Knex, as the outbox uses it. */
export interface KnexTransaction {
  /** Runs a statement. */
  raw(sql: string, values: readonly never[]): PromiseLike<unknown>;
}

/** A Knex instance, as the outbox uses it. */
export interface KnexInstance {
  /** Its client, which knows the dialect. */
  readonly client: { readonly dialect?: string };
  /** Runs work in a transaction. */
  transaction<Result>(work: (trx: KnexTransaction) => Promise<Result>): Promise<Result>;
}

interface Handle {
  raw?: unknown;
  isTransaction?: boolean;
  isCompleted?: () => boolean;
}

const DIALECT_OF: Record<string, OutboxDialect> = { postgresql: 'postgres', mysql: 'mysql', sqlite3: 'sqlite' };

/**
 * Makes the database of the outbox from a Knex instance. The transaction of an enqueue is the `trx` of
 * `knex.transaction(…)`.
 *
 * @throws InvalidOptionError for a database that the outbox does not know
 * @example JobOutboxModule.forRoot({ database: fromKnex(knex) })
 */
export function fromKnex(knex: KnexInstance): OutboxDatabase {
  const dialect = DIALECT_OF[knex.client.dialect ?? ''];
  if (!dialect) {
    throw new InvalidOptionError('fromKnex', 'a client of PostgreSQL, MySQL or SQLite', show(knex.client.dialect));
  }
  return {
    dialect,
    refusalOf(transaction) {
      const { raw, isTransaction, isCompleted } = (transaction ?? {}) as Handle;
      if (typeof raw !== 'function') {
        return 'no transaction of Knex';
      }
      if (!isTransaction) {
        return 'the Knex instance itself';
      }
      return isCompleted?.() ? 'a transaction that has ended' : undefined;
    },
    run: async (transaction, sql, values) =>
      rowsOf(await (transaction as KnexTransaction).raw(sql, [...values] as never[])),
    begin: (work) => knex.transaction(work),
  };
}
