// The outbox on MariaDB, by mysql2: transactions, and relays that die, stall, and meet rows that they cannot send.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type mysql from 'mysql2/promise';
import type { RowDataPacket } from 'mysql2/promise';
import { checkTables } from '#outbox/check-tables.js';
import { OutboxTable } from '#outbox/outbox-table.js';
import { startMariadb } from '../support/databases/mariadb.js';
import { describeMysql } from '../support/databases/mysql-cases.js';
import { TestOutbox } from '../support/databases/outbox.js';
import { connect } from '../support/redis/redis.js';

const scene = describeMysql(startMariadb);

it('the check of MariaDB finds the faults of its tables', async () => {
  await scene.pool.query('ALTER TABLE job_done DROP INDEX job_done_at, MODIFY id VARCHAR(20)');
  await scene.pool.query('RENAME TABLE job_outbox_order TO other');
  expect(await checkTables(scene.database)).toEqual([
    'The table job_outbox_order is missing.',
    'The column job_done.id has the type varchar(20), and needs varbinary(1024).',
    'The table job_done has no index on (done_at).',
  ]);
  await scene.pool.query('RENAME TABLE other TO job_outbox_order');
  await scene.pool.query('ALTER TABLE job_done ADD INDEX job_done_at (done_at), MODIFY id VARBINARY(1024)');
  expect(await checkTables(scene.database)).toEqual([]);
});

it('the outbox on MariaDB refuses an ordered job where the rows are missing that keep the order, and says so in its check', async () => {
  await scene.pool.query('CREATE TABLE other AS SELECT slot FROM job_outbox_order');
  await scene.pool.query('DELETE FROM job_outbox_order');
  const t = new TestOutbox(scene.database);
  const added = scene.database.begin((tx) => t.enqueue(tx as object, 1, { group: 'a', ordered: true }));
  await expect(added).rejects.toThrow(/^enqueue.ordered: .*job_outbox_order, found 1 of 1 missing.*outbox sql/);
  t.close();
  expect(await checkTables(scene.database)).toEqual(['The table job_outbox_order has 0 of its 4096 rows.']);
  await scene.pool.query('INSERT INTO job_outbox_order SELECT slot FROM other');
  await scene.pool.query('DROP TABLE other');
  expect(await checkTables(scene.database)).toEqual([]);
});

const commit = (work: (transaction: object) => Promise<unknown>) =>
  scene.database.begin((transaction) => work(transaction as object));

describe('the relay on MariaDB', () => {
  let t: TestOutbox;
  beforeAll(() => {
    t = new TestOutbox(scene.database);
  });
  afterAll(() => t.close());

  it('draws a larger fence for each turn, also after one that rolled back', async () => {
    const fences: number[] = [];
    const table = new OutboxTable(scene.database);
    const draw = (fails: boolean) =>
      table.turn(async ({ fence }) => (fences.push(fence), fails && Promise.reject(new Error('rolls back'))));
    await draw(false);
    await expect(draw(true)).rejects.toThrow('rolls back');
    await draw(false);
    expect(fences).toEqual([fences[0], fences[0]! + 1, fences[0]! + 2]);
    const [rows] = await scene.pool.query<RowDataPacket[]>('SELECT count(*) AS count FROM job_outbox_fence');
    expect(rows[0]!.count).toBe(1);
  });

  it('adds nothing when it stalls and comes back after another took over', async () => {
    await commit((tx) => t.enqueue(tx, 1));
    const stalling = new TestOutbox(scene.database);
    const { queue } = t;
    const { reached, goOn } = stalling.stallAt(queue);
    const stalled = stalling.outbox.ship();
    await reached;
    await t.outbox.ship();
    expect(await t.pending()).toEqual([]); // the stalled relay has the lock
    const [sessions] = await scene.pool.query<RowDataPacket[]>(
      'SELECT trx_mysql_thread_id AS id FROM information_schema.innodb_trx',
    );
    await Promise.all(sessions.map(({ id }) => scene.pool.query(`KILL ${id}`)));
    await t.outbox.ship();
    expect(await t.pending()).toEqual([1]);
    await t.purge();
    goOn();
    await stalled;
    expect(stalling.outbox.trouble).toBeDefined();
    expect(await t.pending()).toEqual([]);
    expect(await connect().zcard(`queue:${queue.name}:once`)).toBe(0);
    stalling.close();
  });

  it('raises its fence where the database was restored from a backup', async () => {
    const [rows] = await scene.pool.query<RowDataPacket[]>('SELECT source FROM job_outbox_source');
    await t.queue.exec((calls) =>
      calls.once.enqueue({ sender: { source: rows[0]!.source as string, fence: 5_000 }, entries: [] }),
    );
    await commit((tx) => t.enqueue(tx, 1));
    await t.outbox.ship();
    expect(await t.pending()).toEqual([1]);
    await t.purge();
  });

  it('sets a bad row aside with the later ones of its group, lets it fail, retries and discards it', async () => {
    await commit(async (tx) => {
      await t.enqueue(tx, 'bad', { group: 'a' });
      await t.enqueue(tx, 'later', { group: 'a', delayMs: 10_000 });
      await t.enqueue(tx, 'good', { group: 'b' });
    });
    await scene.pool.query(`UPDATE job_outbox SET options = '{{', attempts = 19 WHERE payload = '"bad"'`);
    await t.outbox.ship();
    expect((await t.queue.stats()).pending).toBe(1);
    expect(await t.outbox.stats()).toMatchObject({ waiting: 1, setAside: 0, failed: 1 });
    const { seq } = (await t.outbox.list())[0]!;
    expect(await t.outbox.retry()).toBe(1);
    await t.outbox.ship();
    expect(await t.outbox.stats()).toMatchObject({ setAside: 1, failed: 0 });
    const [aside] = await t.outbox.list();
    expect(aside).toMatchObject({ seq, attempts: 1, isFailed: false });
    expect(aside!.lastError).toContain('JSON');
    await t.outbox.ship(); // while its group waits
    expect(await t.outbox.discard(seq)).toBe(false);
    await scene.pool.query('UPDATE job_outbox SET failed_at = now() WHERE seq = ?', [seq]);
    expect(await t.outbox.discard(seq)).toBe(true);
    await t.outbox.ship();
    expect(await t.rows()).toBe(0);
    await t.purge();
  });

  it('counts a delay from the insert, in any time zone of a session', async () => {
    const handle = (await commit(async (tx) => {
      await (tx as mysql.Connection).query(`SET time_zone = '+09:00'`);
      return t.enqueue(tx, 1, { delayMs: 7_200_000 });
    })) as { id: string };
    await scene.pool.query('UPDATE job_outbox SET created_at = DATE_SUB(created_at, INTERVAL 1 HOUR)');
    expect(Math.abs((await t.outbox.stats()).oldestAgeMs - 3_600_000)).toBeLessThan(10_000);
    await t.outbox.ship();
    const { dueAt } = (await t.queue.get(handle.id))!;
    expect(Math.abs(dueAt!.getTime() - Date.now() - 3_600_000)).toBeLessThan(10_000);
  });
});
