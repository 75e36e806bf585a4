import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { numbered, rowsOf, type OutboxDatabase, type OutboxDialect } from '../outbox-database.js';

/** An EntityManager or a QueryRunner of TypeORM, as the outbox uses it. */
export interface TypeOrmTransaction {
  /** Runs a statement. */
  query(sql: string, values?: unknown[]): Promise<unknown>;
}

/** A DataSource of TypeORM, as the outbox uses it. */
export interface TypeOrmDataSource {
  /** Its options. */
  readonly options: { readonly type: string };
  /** Runs work in a transaction. */
  transaction<Result>(work: (manager: TypeOrmTransaction) => Promise<Result>): Promise<Result>;
}

interface Handle {
  query?: unknown;
  queryRunner?: { isTransactionActive?: boolean };
  isTransactionActive?: boolean;
}

const TYPES: Record<string, OutboxDialect> = {
  postgres: 'postgres',
  'aurora-postgres': 'postgres',
  mysql: 'mysql',
  mariadb: 'mysql',
  'aurora-mysql': 'mysql',
  sqlite: 'sqlite',
  'better-sqlite3': 'sqlite',
};

/**
 * Makes the database of the outbox from a DataSource of TypeORM. The transaction of an enqueue is the EntityManager of
 * `dataSource.transaction(…)`, or a QueryRunner with a started transaction.
 *
 * @throws InvalidOptionError for a database that the outbox does not know
 * @example JobOutboxModule.forRootAsync({ inject: [DataSource], useFactory: (db) => ({ database: fromTypeOrm(db) }) })
 */
export function fromTypeOrm(dataSource: TypeOrmDataSource): OutboxDatabase {
  const { type } = dataSource.options;
  const dialect = TYPES[type];
  if (!dialect) {
    throw new InvalidOptionError('fromTypeOrm', `a DataSource of ${Object.keys(TYPES).join(', ')}`, show(type));
  }
  const rendered = (sql: string) => (dialect === 'postgres' ? numbered(sql) : sql);
  return {
    dialect,
    refusalOf(transaction) {
      const { query, queryRunner, isTransactionActive } = (transaction ?? {}) as Handle;
      if (typeof query !== 'function') {
        return 'no EntityManager or QueryRunner';
      }
      if (isTransactionActive ?? queryRunner?.isTransactionActive) {
        return undefined;
      }
      return transaction === dataSource ? 'the DataSource itself' : 'a manager without a transaction';
    },
    run: async (transaction, sql, values) =>
      rowsOf(await (transaction as TypeOrmTransaction).query(rendered(sql), [...values])),
    begin: (work) => dataSource.transaction(work),
  };
}
