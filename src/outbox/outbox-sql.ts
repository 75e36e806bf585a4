import { dialectOf } from './dialects/dialect-of.js';
import type { OutboxDialect } from './outbox-database.js';

/**
 * Returns the statements that make the tables of the outbox, for a migration.
 *
 * @example for (const statement of outboxSql('postgres')) await queryRunner.query(statement);
 */
export function outboxSql(dialect: OutboxDialect): readonly string[] {
  return dialectOf({ dialect }).ddl;
}
