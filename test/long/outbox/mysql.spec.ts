// The outbox on MySQL itself, by mysql2: transactions, its tables, and relays and producers that die and stall.
import { describe, it } from '@jest/globals';
import { startMysql } from '../../support/databases/mysql.js';
import { describeMysql } from '../../support/databases/mysql-cases.js';
import { expectNoLoss, LIMIT_MS } from '../../support/outbox-kills/expect-no-loss.js';

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

const server = await startIfFetched();

(server ? describe : describe.skip)('the outbox on MySQL', () => {
  const scene = describeMysql(async () => server!);

  it(
    'loses no job among deaths and stalls, adds none twice or of a rollback, and keeps the order of each group',
    async () => {
      await scene.pool.query('CREATE DATABASE kills');
      await expectNoLoss({ dialect: 'mysql', url: server!.url.replace(/app$/, 'kills') });
    },
    LIMIT_MS,
  );
});
