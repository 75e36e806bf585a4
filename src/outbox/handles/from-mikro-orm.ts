import { rowsOf, type OutboxDatabase, type OutboxDialect } from '../outbox-database.js';

/** An EntityManager of MikroORM, as the outbox uses it. */
export interface MikroOrmManager {
  /** Returns the open transaction. */
  getTransactionContext(): unknown;
}

/** A MikroORM instance, as the outbox uses it. */
export interface MikroOrmInstance {
  /** Its EntityManager. */
  readonly em: {
    /** Returns one without entities. */
    fork(): { transactional<Result>(work: (em: MikroOrmManager) => Promise<Result>): Promise<Result> };
  };
}

interface Handle extends MikroOrmManager {
  getConnection(): {
    execute(sql: string, values: readonly unknown[], method: 'all', context: unknown): Promise<unknown>;
  };
}

/**
 * Makes the database of the outbox from a MikroORM instance with an SQL driver. The transaction of an enqueue is the
 * EntityManager of `em.transactional(…)`.
 *
 * @param options.dialect the dialect of the database. Default `postgres`
 * @example JobOutboxModule.forRootAsync({ inject: [MikroORM], useFactory: (orm) => ({ database: fromMikroOrm(orm) }) })
 */
export function fromMikroOrm(
  orm: MikroOrmInstance,
  options: { dialect?: OutboxDialect | undefined } = {},
): OutboxDatabase {
  const { dialect = 'postgres' } = options;
  return {
    dialect,
    refusalOf(transaction) {
      const handle = (transaction ?? {}) as Partial<Handle>;
      if (typeof handle.getTransactionContext !== 'function') {
        return 'no EntityManager of MikroORM';
      }
      return handle.getTransactionContext() === undefined ? 'an EntityManager without a transaction' : undefined;
    },
    run: async (transaction, sql, values) => {
      const em = transaction as Handle;
      return rowsOf(await em.getConnection().execute(sql, values, 'all', em.getTransactionContext()));
    },
    begin: (work) => orm.em.fork().transactional(work),
  };
}
