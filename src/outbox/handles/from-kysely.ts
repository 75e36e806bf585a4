import { numbered, rowsOf, type OutboxDatabase, type OutboxDialect } from '../outbox-database.js';

/** A transaction of Kysely, as the outbox uses it. */
export interface KyselyTransaction {
  /** Runs a compiled statement. */
  executeQuery(query: never): Promise<unknown>;
}

/** A Kysely instance, as the outbox uses it. */
export interface KyselyInstance {
  /** Begins a transaction. */
  transaction(): { execute<Result>(work: (trx: KyselyTransaction) => Promise<Result>): Promise<Result> };
}

interface Handle {
  executeQuery?: unknown;
  isTransaction?: boolean;
  isCommitted?: boolean;
  isRolledBack?: boolean;
}

/**
 * Makes the database of the outbox from a Kysely instance. The transaction of an enqueue is the `trx` of
 * `db.transaction().execute(…)`.
 *
 * @param options.dialect the dialect of the instance. Default `postgres`
 * @example JobOutboxModule.forRoot({ database: fromKysely(db) })
 */
export function fromKysely(
  db: KyselyInstance,
  options: { dialect?: OutboxDialect | undefined } = {},
): OutboxDatabase {
  const { dialect = 'postgres' } = options;
  return {
    dialect,
    refusalOf(transaction) {
      const { executeQuery, isTransaction, isCommitted, isRolledBack } = (transaction ?? {}) as Handle;
      if (typeof executeQuery !== 'function') {
        return 'no transaction of Kysely';
      }
      if (!isTransaction) {
        return 'the Kysely instance itself';
      }
      return isCommitted || isRolledBack ? 'a transaction that has ended' : undefined;
    },
    run: async (transaction, sql, values) => {
      const text = dialect === 'postgres' ? numbered(sql) : sql;
      return rowsOf(await (transaction as KyselyTransaction).executeQuery(compiled(text, values) as never));
    },
    begin: (work) => db.transaction().execute(work),
  };
}

/** Returns what `CompiledQuery.raw` of Kysely does. */
function compiled(sql: string, values: readonly unknown[]) {
  const parameters = [...values];
  return {
    sql,
    parameters,
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
    queryId: { queryId: 'outbox' },
  };
}
