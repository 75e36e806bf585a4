// Relays and producers that die and stall many times. OUTBOX_DEATHS and OUTBOX_ROWS set how often, and over how many rows.
import { it } from '@jest/globals';
import { startPostgres } from '../../../scripts/databases/postgres-server.mjs';
import { startMariadb } from '../../support/databases/mariadb.js';
import { expectNoLoss, LIMIT_MS } from '../../support/outbox-kills/expect-no-loss.js';

it.each([
  ['PostgreSQL', 'postgres', startPostgres],
  ['MariaDB', 'mysql', startMariadb],
] as const)(
  'the outbox on %s loses no job, adds none twice or of a rollback, and keeps the order of each group',
  async (_product, dialect, start) => {
    const server = await start();
    try {
      await expectNoLoss({ dialect, url: server.url });
    } finally {
      await server.stop();
    }
  },
  LIMIT_MS,
);
