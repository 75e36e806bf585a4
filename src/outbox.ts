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
export { outboxSql } from './outbox/dialects.js';
export { fromPg, type FromPgOptions, type PgClient, type PgPool } from './outbox/driver-handles.js';
export { fromMysql2, type Mysql2Connection, type Mysql2Pool } from './outbox/driver-handles.js';
export { fromTypeOrm, type TypeOrmDataSource, type TypeOrmTransaction } from './outbox/orm-handles.js';
export { fromKnex, type KnexInstance, type KnexTransaction } from './outbox/orm-handles.js';
export { fromKysely, type KyselyInstance, type KyselyTransaction } from './outbox/orm-handles.js';
export {
  fromDrizzle,
  type DrizzleDatabase,
  type DrizzleSql,
  type DrizzleTransaction,
} from './outbox/orm-handles.js';
export { fromLibsql, type LibsqlClient, type LibsqlTransaction } from './outbox/driver-handles.js';
export { fromSequelize, type SequelizeInstance, type SequelizeTransaction } from './outbox/orm-handles.js';
export { fromMikroOrm, type MikroOrmInstance, type MikroOrmManager } from './outbox/orm-handles.js';
export { fromPrisma, type PrismaInstance, type PrismaTransaction } from './outbox/orm-handles.js';
export { fromBetterSqlite3, type BetterSqlite3Database } from './outbox/driver-handles.js';
