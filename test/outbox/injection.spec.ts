// Values of an enqueue are no SQL: for each client of MySQL and MariaDB, in each mode of the server. Some clients write
// values into the statement, and escape them by backslashes, which NO_BACKSLASH_ESCAPES makes plain characters.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import mysql, { type RowDataPacket } from 'mysql2/promise';
import { unsafeSetting } from '#outbox/check-tables.js';
import { fromMysql2, JobOutboxModule } from 'nest-job-queue/outbox';
import { EXIT } from '#cli/exit-codes.js';
import { cli } from '../cli/run-cli.js';
import { startApp } from '../nest/app.js';
import { startMariadb } from '../support/databases/mariadb.js';
import { MYSQL_CLIENTS } from '../support/databases/mysql-clients.js';
import type { MysqlServer } from '../support/databases/mysql-server.js';
import { makeTables, TestOutbox } from '../support/databases/outbox.js';
import { someOf } from '../support/run/samples.js';

const MODES = ['', 'NO_BACKSLASH_ESCAPES', 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES', 'ANSI_QUOTES'];
const ESCAPED = 'NO_BACKSLASH_ESCAPES';

/** Texts that end early where a backslash is no escape, or where one of two bytes is. The last two add a row of their own. */
const TEXTS = [
  `it's`,
  `\\`,
  `\\'`,
  `"`,
  `\\"; --`,
  `\u00BF'`,
  `é\u0000\u001A`,
  `', '{}', NULL), ('stolen', 'stolen', 'default', 'q', 'n', '1', '{}', NULL) -- `,
  `\\', '{}', NULL), ('stolen', 'stolen', 'default', 'q', 'n', '1', '{}', NULL) -- `,
];

let server: MysqlServer;
let root: mysql.Connection;

beforeAll(async () => {
  server = await startMariadb();
  root = await mysql.createConnection(server.url);
  await makeTables(fromMysql2(mysql.createPool({ uri: server.url, connectionLimit: 1 })));
}, 60_000);

afterAll(async () => {
  await root.end();
  await server.stop();
});

const setMode = (mode: string) => root.query(`SET GLOBAL sql_mode = ?`, [mode]);

async function stolen(): Promise<unknown> {
  const [rows] = await root.query<RowDataPacket[]>(
    `SELECT count(*) AS count FROM job_outbox WHERE entry = 'stolen'`,
  );
  return rows[0]!['count'];
}

describe.each(someOf(MODES, 2).map((mode) => [mode || 'no mode', mode] as const))('with %s', (_name, mode) => {
  beforeAll(() => setMode(mode));

  it.each(Object.entries(MYSQL_CLIENTS))('no text is SQL by %s', async (_client, open) => {
    const { database, close } = await open(server.url);
    const t = new TestOutbox(database);
    const begin = (work: (transaction: object) => Promise<unknown>) =>
      database.begin((transaction) => work(transaction as object));
    const writer = t.outbox.writerFor('default');
    for (const [i, text] of TEXTS.entries()) {
      const options = {
        name: text,
        group: text,
        unique: { key: text, for: 'pending' },
        metadata: { a: text },
      } as const;
      const id = `${i}-${text.replaceAll(/\p{Cc}/gu, '')}`;
      await begin((transaction) => t.enqueue(transaction, text, { ...options, id, ordered: true }));
      await begin((transaction) =>
        t.queue.producer.many(undefined, [{ payload: text, group: text }, { payload: { text } }], { transaction }),
      );
      await begin(async (transaction) => expect(await writer.markDone(transaction, t.queue.name, text)).toBe(true));
      await begin(async (transaction) =>
        expect(await writer.markDone(transaction, t.queue.name, text)).toBe(false),
      );
      expect(await stolen()).toBe(0);
    }
    await t.outbox.ship();
    const jobs = await t.queue.list('pending', { limit: 1_000 });
    const one = jobs.filter(({ id }) => /^\d-/.test(id));
    expect(new Set(one.map(({ payload }) => payload))).toEqual(new Set(TEXTS));
    for (const { payload, name, group, metadata } of one) {
      expect({ name, group, metadata }).toEqual({ name: payload, group: payload, metadata: { a: payload } });
    }
    expect(jobs).toHaveLength(3 * TEXTS.length);

    await begin((transaction) => t.enqueue(transaction, 1));
    await root.query(`UPDATE job_outbox SET queue = ?`, [`a*', last_error = (SELECT 'stolen'), failed_at = 1 -- `]);
    await t.outbox.ship();
    expect((await t.outbox.list())[0]).toMatchObject({ attempts: 1, isFailed: false });
    expect((await t.outbox.list())[0]!.lastError).toMatch(/^queue name: .*SELECT 'stolen'/);
    await root.query('DELETE FROM job_outbox');

    expect(await unsafeSetting(database)).toEqual(
      mode.includes(ESCAPED) ? expect.objectContaining({ found: expect.stringContaining(ESCAPED) }) : undefined,
    );
    t.close();
    await close();
  });
});

it('refuses a server with NO_BACKSLASH_ESCAPES at boot, by each client', async () => {
  await setMode('STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES');
  for (const open of Object.values(MYSQL_CLIENTS)) {
    const { database, close } = await open(server.url);
    for (const relay of [true, false]) {
      await expect(startApp({ imports: [JobOutboxModule.forRoot({ database, relay })] })).rejects.toThrow(
        /^JobOutboxModule\.database: expected a server without NO_BACKSLASH_ESCAPES in its sql_mode, found ".*STRICT/,
      );
    }
    await close();
  }
  const checked = await cli(['outbox', 'check'], { DATABASE_URL: server.url });
  expect(checked).toMatchObject({ code: EXIT.failed, stdout: expect.stringContaining(ESCAPED) });
  expect(checked.stdout).toContain('next:  Take it out');
  await setMode('STRICT_TRANS_TABLES');
  const { database, close } = await MYSQL_CLIENTS['mysql2']!(server.url);
  await startApp({ imports: [JobOutboxModule.forRoot({ database, relay: false })] });
  await close();
});
