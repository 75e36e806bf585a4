import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { numbered, rowsOf, type OutboxDatabase, type OutboxDialect } from '../outbox-database.js';

/** A transaction of Sequelize, as the outbox uses it. */
export interface SequelizeTransaction {
  /** Commits it. */
  commit(): Promise<unknown>;
}

/** A Sequelize instance, as the outbox uses it. */
export interface SequelizeInstance {
  /** Returns its dialect. */
  getDialect(): string;
  /** Runs a statement. */
  query(sql: string, options: never): Promise<unknown>;
  /** Runs work in a transaction. */
  transaction<Result>(work: (transaction: SequelizeTransaction) => Promise<Result>): Promise<Result>;
}

interface Handle extends Partial<SequelizeTransaction> {
  sequelize?: SequelizeInstance;
  finished?: string;
}

const DIALECT_OF: Record<string, OutboxDialect> = { postgres: 'postgres', mysql: 'mysql' };

/**
 * Makes the database of the outbox from a Sequelize instance. The transaction of an enqueue is that of
 * `sequelize.transaction(…)`.
 *
 * @throws InvalidOptionError for a database that the outbox does not know
 * @example JobOutboxModule.forRoot({ database: fromSequelize(sequelize) })
 */
export function fromSequelize(sequelize: SequelizeInstance): OutboxDatabase {
  const dialect = DIALECT_OF[sequelize.getDialect()];
  if (!dialect) {
    const expected = `a Sequelize instance of ${Object.keys(DIALECT_OF).join(', ')}`;
    throw new InvalidOptionError('fromSequelize', expected, show(sequelize.getDialect()));
  }
  return {
    dialect,
    refusalOf(transaction) {
      if (transaction === sequelize) {
        return 'the Sequelize instance itself';
      }
      const { commit, sequelize: owner, finished } = (transaction ?? {}) as Handle;
      if (typeof commit !== 'function' || typeof owner?.query !== 'function') {
        return 'no transaction of Sequelize';
      }
      return finished === undefined ? undefined : 'a transaction that has ended';
    },
    run: async (transaction, sql, values) => {
      const options = { transaction, ...(values.length > 0 && { bind: [...values] }) };
      return rowsOf(await sequelize.query(numbered(sql), options as never));
    },
    begin: (work) => sequelize.transaction(work),
  };
}
