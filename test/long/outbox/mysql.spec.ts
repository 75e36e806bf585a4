// The outbox on MySQL itself, by mysql2: transactions, its tables, and relays and producers that die and stall.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import mysql, { type Pool } from 'mysql2/promise';
import { checkTables } from '#outbox/check/check-tables.js';
import { fromMysql2, type OutboxDatabase } from 'nest-job-queue/outbox';
import { describeClient } from '../../support/databases/client-cases.js';
import { startMysql } from '../../support/databases/mysql.js';
import { makeTables, TestOutbox } from '../../support/databases/outbox.js';
import { KillLoop } from '../../support/outbox-kills/kill-loop.js';

/** Returns a server; undefined where Debian has these packages no more, or another machine has no packages of it. */
async function startIfFetched() {
  try {
    return await startMysql();
  } catch (error) {
    const { message } = error as Error;
    if (!message.startsWith('Fetching')) throw error;
    console.warn(`The outbox is not tested on MySQL: ${message}`);
    return undefined;
  }
}

const DEATHS = Number(process.env.OUTBOX_DEATHS ?? 20);
const ROWS = Number(process.env.OUTBOX_ROWS ?? 2_000);
const server = await startIfFetched();

(server ? describe : describe.skip)('the outbox on MySQL', () => {
  let pool: Pool;
  let database: OutboxDatabase;

  beforeAll(async () => {
    pool = mysql.createPool({ uri: server!.url });
    database = fromMysql2(pool);
    await makeTables(database);
  });

  afterAll(async () => {
    await pool.end();
    await server!.stop();
  });

  describeClient('mysql2', async () => ({
    database,
    itself: pool,
    nested: async (connection: mysql.PoolConnection, work) => {
      await connection.query('SAVEPOINT inside');
      await work(connection);
      await connection.query('ROLLBACK TO SAVEPOINT inside');
    },
    close: async () => undefined,
  }));

  it('its check finds nothing to say about the tables that it was told to make', async () => {
    expect(await checkTables(database)).toEqual([]);
  });

  it('an ordered job of a group waits for the open transaction of another', async () => {
    const t = new TestOutbox(database);
    const added: number[] = [];
    let second: Promise<unknown> | undefined;
    await database.begin(async (tx) => {
      await t.enqueue(tx as object, 1, { group: 'a', ordered: true });
      second = database.begin(async (other) => {
        await t.enqueue(other as object, 2, { group: 'a', ordered: true });
        added.push(2);
      });
      await t.enqueue(tx as object, 1.5, { group: 'a', ordered: true });
      added.push(1);
    });
    await second;
    await t.outbox.ship();
    expect(added).toEqual([1, 2]);
    expect(await t.pending()).toEqual([1, 1.5, 2]);
    t.close();
  });

  it(
    'loses no job among deaths and stalls, adds none twice or of a rollback, and keeps the order of each group',
    async () => {
      await pool.query('CREATE DATABASE kills');
      const url = server!.url.replace(/app$/, 'kills');
      const { committed, kills, stalls, ...faults } = await new KillLoop({ dialect: 'mysql', url }).run(
        DEATHS,
        ROWS,
      );
      console.log('MySQL', { committed, kills, stalls, ...faults }); // the figures of this run
      expect(kills + stalls).toBeGreaterThanOrEqual(DEATHS);
      expect(committed).toBeGreaterThanOrEqual(ROWS);
      expect(faults).toEqual({ lost: 0, twice: 0, phantom: 0, disorder: 0 });
    },
    120_000 + DEATHS * 10_000 + ROWS * 40,
  );
});
