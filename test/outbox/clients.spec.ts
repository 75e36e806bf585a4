// Each database client on PostgreSQL and SQLite. MariaDB: mariadb.spec.ts, and test/long/outbox.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleSqlite } from 'drizzle-orm/libsql';
import knexOf from 'knex';
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely';
import Sqlite from 'libsql';
import pg from 'pg';
import { Sequelize, type Transaction } from 'sequelize';
import { DataSource } from 'typeorm';
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromLibsql,
  fromMikroOrm,
  fromPg,
  fromSequelize,
  fromTypeOrm,
} from 'nest-job-queue/outbox';
import { betterSqlite3, LikeBetterSqlite3 } from '../support/databases/better-sqlite3.js';
import { describeClient, Undo, type Client } from '../support/databases/client-cases.js';
import { makeTables, TestOutbox } from '../support/databases/outbox.js';
import { startPostgres, type Postgres } from '../../scripts/databases/postgres-server.mjs';

const load = createRequire(import.meta.url);
const BetterSqlite3Client = load('knex/lib/dialects/better-sqlite3/index.js') as typeof knexOf.Client;

/** Knex with the libSQL of the other clients, which is called as better-sqlite3 is. */
class KnexSqlite extends BetterSqlite3Client {
  _driver(): unknown {
    return Sqlite;
  }
}

const Order = new EntitySchema<{ name: string }>({
  name: 'Order',
  tableName: 'orders',
  properties: { name: { type: 'string', primary: true } },
});

const folder = mkdtempSync(join(tmpdir(), 'outbox-'));
let server: Postgres;

function pgClient(options?: Parameters<typeof fromPg>[1]): Promise<Client> {
  const pool = new pg.Pool({ connectionString: server.url });
  return Promise.resolve({
    database: fromPg(pool, options),
    itself: pool,
    nested: async (client: pg.PoolClient, work) => {
      await client.query('SAVEPOINT inside');
      await work(client);
      await client.query('ROLLBACK TO SAVEPOINT inside');
    },
    close: () => pool.end(),
  });
}

const CLIENTS: Record<string, () => Promise<Client>> = {
  pg: () => pgClient(),
  'pg, with prepared statements': () => pgClient({ prepare: true }),
  TypeORM: async () => {
    const db = await new DataSource({ type: 'postgres', url: server.url }).initialize();
    return {
      database: fromTypeOrm(db),
      itself: db.manager,
      nested: (manager: DataSource['manager'], work) =>
        manager.transaction(async (inner) => {
          await work(inner);
          throw new Undo();
        }),
      close: () => db.destroy(),
    };
  },
  Knex: async () => {
    const knex = knexOf({ client: 'pg', connection: server.url });
    return {
      database: fromKnex(knex),
      itself: knex,
      nested: (trx: knexOf.Knex.Transaction, work) =>
        trx.transaction(async (inner) => {
          await work(inner);
          throw new Undo();
        }),
      close: () => knex.destroy(),
    };
  },
  Kysely: async () => {
    const db = new Kysely({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: server.url }) }),
    });
    return { database: fromKysely(db), itself: db, close: () => db.destroy() };
  },
  Drizzle: async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    const db = drizzle(pool);
    return {
      database: fromDrizzle(db, { sql }),
      itself: db,
      nested: (tx: { transaction(work: (inner: object) => Promise<void>): Promise<void> }, work) =>
        tx.transaction(async (inner) => {
          await work(inner);
          throw new Undo();
        }),
      close: () => pool.end(),
    };
  },
  Sequelize: async () => {
    const sequelize = new Sequelize(server.url, { logging: false });
    return {
      database: fromSequelize(sequelize),
      itself: sequelize,
      nested: (transaction: Transaction, work) =>
        sequelize.transaction({ transaction } as object, async (inner) => {
          await work(inner);
          throw new Undo();
        }),
      close: () => sequelize.close(),
    };
  },
  MikroORM: async () => {
    const orm = await MikroORM.init({ clientUrl: server.url, entities: [Order] });
    return {
      database: fromMikroOrm(orm),
      itself: orm.em,
      nested: (em: MikroORM['em'], work) =>
        em.transactional(async (inner) => {
          await work(inner);
          throw new Undo();
        }),
      close: () => orm.close(),
    };
  },
  'better-sqlite3, as libSQL has it': () => betterSqlite3(LikeBetterSqlite3, join(folder, 'better.db')),
  'libSQL, of SQLite': async () => {
    const client = createClient({ url: `file:${join(folder, 'libsql.db')}` });
    return { database: fromLibsql(client), itself: client, close: async () => client.close() };
  },
  'TypeORM, on SQLite': async () => {
    const database = join(folder, 'typeorm.db');
    const db = await new DataSource({ type: 'better-sqlite3', database, driver: Sqlite }).initialize();
    return { database: fromTypeOrm(db), itself: db.manager, close: () => db.destroy() };
  },
  'Kysely, on SQLite': async () => {
    const db = new Kysely({ dialect: new SqliteDialect({ database: new Sqlite(join(folder, 'kysely.db')) }) });
    return { database: fromKysely(db, { dialect: 'sqlite' }), itself: db, close: () => db.destroy() };
  },
  'Knex, on SQLite': async () => {
    const connection = { filename: join(folder, 'knex.db') };
    const knex = knexOf({ client: KnexSqlite, connection, useNullAsDefault: true });
    return { database: fromKnex(knex), itself: knex, close: () => knex.destroy() };
  },
  'Drizzle, on SQLite': async () => {
    const client = createClient({ url: `file:${join(folder, 'drizzle.db')}` });
    const db = drizzleSqlite(client);
    return {
      database: fromDrizzle(db, { sql, dialect: 'sqlite' }),
      itself: db,
      close: async () => client.close(),
    };
  },
};

beforeAll(async () => {
  server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url });
  await makeTables(fromPg(pool));
  await pool.end();
}, 60_000);

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

for (const [name, make] of Object.entries(CLIENTS)) {
  describeClient(name, make);
}

it.each([
  [{ prepared: true }, /fromPg\.prepared: expected a known option.*prepare/],
  [{ prepare: 'yes' }, /fromPg\.prepare: expected true or false, found "yes"/],
  [null, /fromPg: expected an object with prepare, found null/],
])('refuses the options %j of fromPg', (options, message) => {
  expect(() => fromPg({} as pg.Pool, options as never)).toThrow(message);
});

it.each([true, false])('prepares only the insert of one job, and only if told to: %s', async (prepare) => {
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  const database = fromPg(pool, { prepare });
  const t = new TestOutbox(database);
  await database.begin((transaction) => t.enqueue(transaction as object, 1));
  const undone = database.begin(async (transaction) => {
    await t.enqueue(transaction as object, 2);
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  await database.begin((transaction) => t.enqueue(transaction as object, 3));
  await database.begin((transaction) =>
    t.queue.producer.many(undefined, [{ payload: 4 }, { payload: 5 }], { transaction: transaction as object }),
  );
  await t.outbox.ship();
  expect(await t.pending()).toEqual([1, 3, 4, 5]);
  const { rows } = await pool.query('SELECT name FROM pg_prepared_statements');
  expect(rows).toEqual(prepare ? [{ name: 'job_outbox_insert' }] : []);
  t.close();
  await pool.end();
});
