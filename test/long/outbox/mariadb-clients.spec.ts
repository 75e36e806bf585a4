// The clients of test/outbox/clients.spec.ts on MariaDB.
import { afterAll, beforeAll } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/mysql2';
import knexOf from 'knex';
import { Kysely, MysqlDialect } from 'kysely';
import { createPool as createCallbackPool } from 'mysql2';
import mysql from 'mysql2/promise';
import { Sequelize, type Transaction } from 'sequelize';
import { DataSource } from 'typeorm';
import { fromDrizzle, fromKnex, fromKysely, fromMysql2, fromSequelize, fromTypeOrm } from 'nest-job-queue/outbox';
import { describeClient, Undo, type Client } from '../../support/databases/client-cases.js';
import { startMariadb } from '../../support/databases/mariadb.js';
import type { MysqlServer } from '../../support/databases/mysql-server.js';
import { makeTables } from '../../support/databases/outbox.js';

let server: MysqlServer;

beforeAll(async () => {
  server = await startMariadb();
  const pool = mysql.createPool({ uri: server.url });
  await makeTables(fromMysql2(pool));
  await pool.end();
}, 60_000);

afterAll(() => server.stop());

const undone = (work: (inner: object) => Promise<void>) => async (inner: object) => {
  await work(inner);
  throw new Undo();
};

const CLIENTS: Record<string, () => Promise<Client>> = {
  TypeORM: async () => {
    const db = await new DataSource({ type: 'mariadb', url: server.url }).initialize();
    return {
      database: fromTypeOrm(db),
      itself: db.manager,
      nested: (manager: DataSource['manager'], work) => manager.transaction(undone(work)),
      close: () => db.destroy(),
    };
  },
  Knex: async () => {
    const knex = knexOf({ client: 'mysql2', connection: server.url });
    return {
      database: fromKnex(knex),
      itself: knex,
      nested: (trx: knexOf.Knex.Transaction, work) => trx.transaction(undone(work)),
      close: () => knex.destroy(),
    };
  },
  Kysely: async () => {
    const db = new Kysely({ dialect: new MysqlDialect({ pool: createCallbackPool(server.url) }) });
    return { database: fromKysely(db, { dialect: 'mysql' }), itself: db, close: () => db.destroy() };
  },
  Sequelize: async () => {
    const sequelize = new Sequelize(server.url, { logging: false });
    return {
      database: fromSequelize(sequelize),
      itself: sequelize,
      nested: (transaction: Transaction, work) => sequelize.transaction({ transaction } as object, undone(work)),
      close: () => sequelize.close(),
    };
  },
  Drizzle: async () => {
    const pool = mysql.createPool({ uri: server.url });
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

for (const [name, make] of Object.entries(CLIENTS)) {
  describeClient(`${name}, on MariaDB`, make);
}
