// Each client of the outbox for MySQL and MariaDB.
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/mysql2';
import knexOf from 'knex';
import { Kysely, MysqlDialect } from 'kysely';
import { createPool as createCallbackPool } from 'mysql2';
import mysql from 'mysql2/promise';
import { Sequelize, type Transaction } from 'sequelize';
import { DataSource } from 'typeorm';
import { fromDrizzle, fromKnex, fromKysely, fromMysql2, fromSequelize, fromTypeOrm } from 'nest-job-queue/outbox';
import { Undo, type Client } from './client-cases.js';

const undone = (work: (inner: object) => Promise<void>) => async (inner: object) => {
  await work(inner);
  throw new Undo();
};

/** Opens a client of a server by its address. */
export const MYSQL_CLIENTS: Record<string, (url: string) => Promise<Client>> = {
  async mysql2(url) {
    const pool = mysql.createPool({ uri: url });
    return {
      database: fromMysql2(pool),
      itself: pool,
      nested: async (connection: mysql.PoolConnection, work) => {
        await connection.query('SAVEPOINT inside');
        await work(connection);
        await connection.query('ROLLBACK TO SAVEPOINT inside');
      },
      close: () => pool.end(),
    };
  },
  async TypeORM(url) {
    const db = await new DataSource({ type: 'mariadb', url }).initialize();
    return {
      database: fromTypeOrm(db),
      itself: db.manager,
      nested: (manager: DataSource['manager'], work) => manager.transaction(undone(work)),
      close: () => db.destroy(),
    };
  },
  async Knex(url) {
    const knex = knexOf({ client: 'mysql2', connection: url });
    return {
      database: fromKnex(knex),
      itself: knex,
      nested: (trx: knexOf.Knex.Transaction, work) => trx.transaction(undone(work)),
      close: () => knex.destroy(),
    };
  },
  async Kysely(url) {
    const db = new Kysely({ dialect: new MysqlDialect({ pool: createCallbackPool(url) }) });
    return { database: fromKysely(db, { dialect: 'mysql' }), itself: db, close: () => db.destroy() };
  },
  async Sequelize(url) {
    const sequelize = new Sequelize(url, { logging: false });
    return {
      database: fromSequelize(sequelize),
      itself: sequelize,
      nested: (transaction: Transaction, work) => sequelize.transaction({ transaction } as object, undone(work)),
      close: () => sequelize.close(),
    };
  },
  async Drizzle(url) {
    const pool = mysql.createPool({ uri: url });
    const db = drizzle(pool);
    return {
      database: fromDrizzle(db, { sql, dialect: 'mysql' }),
      itself: db,
      nested: (tx: { transaction(work: (inner: object) => Promise<void>): Promise<void> }, work) =>
        tx.transaction(undone(work)),
      close: () => pool.end(),
    };
  },
};
