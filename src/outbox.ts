// Entry point `nest-job-queue/outbox`: jobs that are added in a transaction of the app's database.
export { JobOutbox } from './outbox/job-outbox.js';
export {
  JobOutboxModule,
  type JobOutboxAsyncOptions,
  type JobOutboxOptions,
  type OutboxModule,
} from './outbox/job-outbox.module.js';
export type { OutboxDatabase, OutboxDialect, OutboxRow } from './outbox/outbox-database.js';
export type { OutboxStats } from './outbox/outbox-table.js';
export type { OutboxRecord } from './queue/store/outbox-writer.js';
export { outboxSql } from './outbox/outbox-sql.js';
export { fromPg, type FromPgOptions, type PgClient, type PgPool } from './outbox/handles/from-pg.js';
export { fromMysql2, type Mysql2Connection, type Mysql2Pool } from './outbox/handles/from-mysql2.js';
export { fromTypeOrm, type TypeOrmDataSource, type TypeOrmTransaction } from './outbox/handles/from-typeorm.js';
export { fromKnex, type KnexInstance, type KnexTransaction } from './outbox/handles/from-knex.js';
export { fromKysely, type KyselyInstance, type KyselyTransaction } from './outbox/handles/from-kysely.js';
export {
  fromDrizzle,
  type DrizzleDatabase,
  type DrizzleSql,
  type DrizzleTransaction,
} from './outbox/handles/from-drizzle.js';
export { fromLibsql, type LibsqlClient, type LibsqlTransaction } from './outbox/handles/from-libsql.js';
export {
  fromSequelize,
  type SequelizeInstance,
  type SequelizeTransaction,
} from './outbox/handles/from-sequelize.js';
export { fromMikroOrm, type MikroOrmInstance, type MikroOrmManager } from './outbox/handles/from-mikro-orm.js';
export { fromPrisma, type PrismaInstance, type PrismaTransaction } from './outbox/handles/from-prisma.js';
export { fromBetterSqlite3, type BetterSqlite3Database } from './outbox/handles/from-better-sqlite3.js';
