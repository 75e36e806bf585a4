// Relays and producers that die and stall: each committed row becomes one job.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startPostgres, type Postgres } from '../../scripts/databases/postgres-server.mjs';
import { KillLoop } from '../support/outbox-kills/kill-loop.js';

const DEATHS = 4;
let server: Postgres;

beforeAll(async () => {
  server = await startPostgres();
}, 60_000);

afterAll(() => server.stop());

it('loses no job, adds none twice or of a rollback, and keeps the order of each group', async () => {
  const { committed, kills, stalls, ...faults } = await new KillLoop({ dialect: 'postgres', url: server.url }).run(
    DEATHS,
  );
  expect(kills + stalls).toBeGreaterThanOrEqual(DEATHS);
  expect(committed).toBeGreaterThan(10);
  expect(faults).toEqual({ lost: 0, twice: 0, phantom: 0, disorder: 0 });
}, 120_000);
