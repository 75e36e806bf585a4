// Relays and producers that die and stall many times. OUTBOX_DEATHS and OUTBOX_ROWS set how often, and over how many rows.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startPostgres, type Postgres } from '../../../scripts/databases/postgres-server.mjs';
import { KillLoop } from '../../support/outbox-kills/kill-loop.js';

const DEATHS = Number(process.env.OUTBOX_DEATHS ?? 20);
const ROWS = Number(process.env.OUTBOX_ROWS ?? 2_000);
const LIMIT_MS = 120_000 + DEATHS * 10_000 + ROWS * 40;
let server: Postgres;

beforeAll(async () => {
  server = await startPostgres();
}, 60_000);

afterAll(() => server.stop());

it(
  'loses no job, adds none twice or of a rollback, and keeps the order of each group',
  async () => {
    const { committed, kills, stalls, ...faults } = await new KillLoop(server).run(DEATHS, ROWS);
    console.log({ committed, kills, stalls, ...faults }); // the figures of this run
    expect(kills + stalls).toBeGreaterThanOrEqual(DEATHS);
    expect(committed).toBeGreaterThanOrEqual(ROWS);
    expect(faults).toEqual({ lost: 0, twice: 0, phantom: 0, disorder: 0 });
  },
  LIMIT_MS,
);
