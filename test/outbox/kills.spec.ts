// Relays and producers that die and stall: each committed row becomes one job.
import { afterAll, beforeAll, it } from '@jest/globals';
import { casesOf } from '../support/run/samples.js';
import { startPostgres, type Postgres } from '../../scripts/databases/postgres-server.mjs';
import { expectNoLoss } from '../support/outbox-kills/expect-no-loss.js';

let server: Postgres;

beforeAll(async () => {
  server = await startPostgres();
}, 60_000);

afterAll(() => server.stop());

it(
  'the outbox loses no job, adds none twice or of a rollback, and keeps the order of each group',
  () =>
    expectNoLoss(
      { dialect: 'postgres', url: server.url },
      { deaths: casesOf(4, 2), jobs: 0, fewest: casesOf(11, 4) },
    ),
  120_000,
);
