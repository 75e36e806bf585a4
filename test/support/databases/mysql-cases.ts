// What holds for the outbox on each server of MySQL's kind, by mysql2.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import mysql, { type Pool } from 'mysql2/promise';
import { fromMysql2, type OutboxDatabase } from 'nest-job-queue/outbox';
import { describeClient } from './client-cases.js';
import { MYSQL_CLIENTS } from './mysql-clients.js';
import type { MysqlServer } from './mysql-server.js';
import { makeTables, TestOutbox } from './outbox.js';

export interface MysqlScene {
  server: MysqlServer;
  pool: Pool;
  database: OutboxDatabase;
}

/** Starts a server with the tables of the outbox, and states the cases. Returns what they use, from `beforeAll` on. */
export function describeMysql(start: () => Promise<MysqlServer>): MysqlScene {
  const scene = {} as MysqlScene;

  beforeAll(async () => {
    scene.server = await start();
    scene.pool = mysql.createPool({ uri: scene.server.url });
    scene.database = fromMysql2(scene.pool);
    await makeTables(scene.database);
  }, 60_000);

  afterAll(async () => {
    await scene.pool.end();
    await scene.server.stop();
  });

  describeClient('mysql2', async () => MYSQL_CLIENTS['mysql2']!(scene.server.url));

  it('an ordered job of a group waits for the open transaction of another', async () => {
    const { database } = scene;
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

  return scene;
}
