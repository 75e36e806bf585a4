// Each database client: jobs of committed transactions only, once each, and words for what is no open transaction.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleSqlite } from 'drizzle-orm/libsql';
import knexOf from 'knex';
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely';
import Sqlite from 'libsql';
import pg from 'pg';
import { DataSource } from 'typeorm';
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromLibsql,
  fromPg,
  fromTypeOrm,
  type OutboxDatabase,
} from 'nest-job-queue/outbox';
import { makeTables, TestOutbox } from '../support/databases/outbox.js';
import { startPostgres, type Postgres } from '../support/databases/postgres.js';

/** A client as a test uses it. */
interface Client {
  database: OutboxDatabase;
  /** The client itself, which is no transaction. */
  itself: unknown;
  /** Runs work in a transaction that is nested in this one, and rolls it back. Absent where the client has none. */
  nested?(transaction: never, work: (inner: object) => Promise<void>): Promise<unknown>;
  close(): Promise<unknown>;
}

const load = createRequire(import.meta.url);
const BetterSqlite3Client = load('knex/lib/dialects/better-sqlite3/index.js') as typeof knexOf.Client;

class Undo extends Error {}

/** Knex with the libSQL of the other clients, which is called as better-sqlite3 is. */
class KnexSqlite extends BetterSqlite3Client {
  _driver(): unknown {
    return Sqlite;
  }
}

const folder = mkdtempSync(join(tmpdir(), 'outbox-'));
let server: Postgres;

const CLIENTS: Record<string, () => Promise<Client>> = {
  pg: async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    return {
      database: fromPg(pool),
      itself: pool,
      nested: async (client: pg.PoolClient, work) => {
        await client.query('SAVEPOINT inside');
        await work(client);
        await client.query('ROLLBACK TO SAVEPOINT inside');
      },
      close: () => pool.end(),
    };
  },
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

describe.each(Object.keys(CLIENTS))('the outbox with %s', (name) => {
  let client: Client;
  let t: TestOutbox;

  beforeAll(async () => {
    client = await CLIENTS[name]!();
    if (client.database.dialect === 'sqlite') {
      await makeTables(client.database);
    }
    t = new TestOutbox(client.database);
  });

  afterAll(async () => {
    t.close();
    await client.close();
  });

  const begin = (work: (transaction: object) => Promise<unknown>) =>
    client.database.begin((transaction) => work(transaction as object));

  it('adds the jobs of a committed transaction after its commit, in their order', async () => {
    const handles = await begin(async (transaction) => {
      const made = [await t.enqueue(transaction, 1), await t.enqueue(transaction, 2, { metadata: { a: 'b' } })];
      const many = [{ payload: { to: 'ada ? $1' } }, { payload: 'é\u0000\\', id: 'own' }];
      return [...made, ...(await t.queue.producer.many(undefined, many, transaction))];
    });
    expect((handles as { outcome: string }[]).map(({ outcome }) => outcome)).toEqual(Array(4).fill('stored'));
    expect(await t.pending()).toEqual([]);
    expect(await t.rows()).toBe(4);
    await t.outbox.ship();
    expect(await t.pending()).toEqual([1, 2, { to: 'ada ? $1' }, 'é\u0000\\']);
    expect((await t.queue.get((handles as { id: string }[])[1]!.id))?.metadata).toEqual({ a: 'b' });
    expect((await t.queue.get('own'))?.status).toBe('pending');
    expect(await t.rows()).toBe(0);
    await t.purge();
  });

  it('adds each job once where two relays look at the same time', async () => {
    const other = new TestOutbox(client.database);
    await begin(
      (transaction) =>
      t.queue.producer.many(undefined, Array.from({ length: 50 }, (_, payload) => ({ payload })), transaction), // prettier-ignore
    );
    await Promise.all([t.outbox.ship(), other.outbox.ship()]);
    await t.outbox.ship(); // where both met the lock of the other
    expect(await t.pending()).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(await t.rows()).toBe(0);
    await t.purge();
    other.close();
  });

  it('adds no job of a transaction that rolls back', async () => {
    const undone = begin(async (transaction) => {
      await t.enqueue(transaction, 'never');
      throw new Undo();
    });
    await expect(undone).rejects.toThrow(Undo);
    await t.outbox.ship();
    expect(await t.pending()).toEqual([]);
  });

  it('adds no job of a savepoint that rolls back', async () => {
    const { nested } = client;
    await begin(async (transaction) => {
      await t.enqueue(transaction, 'kept');
      await nested?.(transaction as never, async (inner) => void (await t.enqueue(inner, 'undone'))).catch(
        (error: Error) => expect(error).toBeInstanceOf(Undo),
      );
    });
    await t.outbox.ship();
    expect(await t.pending()).toEqual(['kept']);
    await t.purge();
  });

  it('refuses what is no open transaction, and says what it is', async () => {
    let ended: object | undefined;
    await begin(async (transaction) => {
      ended = transaction;
    });
    const refusal = (value: unknown) =>
      t.enqueue(value as object, 1).then(
        () => 'stored',
        (error: Error) => error.message,
      );
    const words = await Promise.all([client.itself, {}, 'text'].map(refusal));
    expect(words[0]).toMatch(
      /^enqueue.transaction: expected an open transaction, found .*(itself|without a transaction)/,
    );
    expect(words[1]).toMatch(/found no (client|EntityManager|transaction) /);
    expect(words.join()).not.toContain('stored');
    if (name !== 'Drizzle' && !name.includes('SQLite')) {
      expect(await refusal(ended)).not.toBe('stored');
    }
    await t.outbox.ship();
    expect(await t.pending()).toEqual([]);
  });

  it('notes once that the work of a job was done', async () => {
    const writer = t.outbox.writerFor('default');
    const mark = (transaction: object) => writer.markDone(transaction, t.queue.name, 'job-1');
    await expect(begin(async (transaction) => (expect(await mark(transaction)).toBe(true), Promise.reject(new Undo())))).rejects.toThrow(Undo); // prettier-ignore
    expect(await begin(mark)).toBe(true);
    expect(await begin(mark)).toBe(false);
  });
});
