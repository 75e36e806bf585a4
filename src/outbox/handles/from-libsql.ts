import { rowsOf, type OutboxDatabase } from '../outbox-database.js';

/** A transaction of libSQL, as the outbox uses it. */
export interface LibsqlTransaction {
  /** Runs a statement. */
  execute(statement: { sql: string; args: never[] }): Promise<unknown>;
  /** True once it has ended. */
  readonly closed: boolean;
  /** Commits. */
  commit(): Promise<void>;
  /** Rolls back what is not committed. */
  close(): void;
}

/** A client of the package \@libsql/client, as the outbox uses it. */
export interface LibsqlClient {
  /** Begins a transaction. */
  transaction(mode: 'write'): Promise<LibsqlTransaction>;
}

/**
 * Makes the database of the outbox from a client of `@libsql/client`, for SQLite. The transaction of an enqueue is what
 * `client.transaction('write')` returned.
 *
 * @example JobOutboxModule.forRoot({ database: fromLibsql(client) })
 */
export function fromLibsql(client: LibsqlClient): OutboxDatabase {
  return {
    dialect: 'sqlite',
    refusalOf(transaction) {
      const { execute, commit, closed } = (transaction ?? {}) as Partial<LibsqlTransaction>;
      if (typeof execute !== 'function') {
        return 'no transaction of libSQL';
      }
      if (typeof commit !== 'function') {
        return 'the client itself';
      }
      return closed ? 'a transaction that has ended' : undefined;
    },
    run: async (transaction, sql, values) =>
      rowsOf(await (transaction as LibsqlTransaction).execute({ sql, args: [...values] as never[] })),
    async begin(work) {
      const transaction = await client.transaction('write');
      try {
        const result = await work(transaction);
        await transaction.commit();
        return result;
      } finally {
        transaction.close();
      }
    },
  };
}
