// The clients of test/outbox/clients.spec.ts on MariaDB.
import { afterAll, beforeAll } from '@jest/globals';
import mysql from 'mysql2/promise';
import { fromMysql2 } from 'nest-job-queue/outbox';
import { describeClient } from '../../support/databases/client-cases.js';
import { startMariadb } from '../../support/databases/mariadb.js';
import { MYSQL_CLIENTS } from '../../support/databases/mysql-clients.js';
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

for (const [name, open] of Object.entries(MYSQL_CLIENTS)) {
  describeClient(`${name}, on MariaDB`, () => open(server.url));
}
