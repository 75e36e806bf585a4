// Relays and producers that die and stall many times. OUTBOX_DEATHS and OUTBOX_ROWS set how often, and over how many rows.
import { expect, it } from '@jest/globals';
import { startPostgres } from '../../../scripts/databases/postgres-server.mjs';
import { startMariadb } from '../../support/databases/mariadb.js';
import { KillLoop } from '../../support/outbox-kills/kill-loop.js';

const DEATHS = Number(process.env.OUTBOX_DEATHS ?? 20);
const ROWS = Number(process.env.OUTBOX_ROWS ?? 2_000);
const LIMIT_MS = 120_000 + DEATHS * 10_000 + ROWS * 40;

it.each([
  ['PostgreSQL', 'postgres', startPostgres],
  ['MariaDB', 'mysql', startMariadb],
] as const)(
  'on %s loses no job, adds none twice or of a rollback, and keeps the order of each group',
  async (product, dialect, start) => {
    const server = await start();
    try {
      const { committed, kills, stalls, ...faults } = await new KillLoop({ dialect, url: server.url }).run(
        DEATHS,
        ROWS,
      );
      console.log(product, { committed, kills, stalls, ...faults }); // the figures of this run
      expect(kills + stalls).toBeGreaterThanOrEqual(DEATHS);
      expect(committed).toBeGreaterThanOrEqual(ROWS);
      expect(faults).toEqual({ lost: 0, twice: 0, phantom: 0, disorder: 0 });
    } finally {
      await server.stop();
    }
  },
  LIMIT_MS,
);
