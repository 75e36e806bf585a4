// The rows of the outbox in the dashboard, and what a viewer may do with them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { fromLibsql } from 'nest-job-queue/outbox';
import type { DashboardAction } from 'nest-job-queue/dashboard';
import type { OutboxRowsView } from '#dashboard/views/views.js';
import { QueueRegistry } from '#nest/connection/queue-registry.js';
import { makeTables, TestOutbox } from '../support/databases/outbox.js';
import { startDashboard } from './dashboard-app.js';

const folder = mkdtempSync(join(tmpdir(), 'outbox-'));
const client = createClient({ url: `file:${join(folder, 'app.db')}` });
const database = fromLibsql(client);
const t = new TestOutbox(database);
const queue = t.queue.name;

const run = (sql: string) => database.begin((transaction) => database.run(transaction, sql, []));
const add = (payload: unknown) => database.begin((transaction) => t.enqueue(transaction as object, payload));

beforeAll(() => makeTables(database));

/** Writes a row that waits, one that was refused, one that failed, and one of another connection. */
beforeEach(async () => {
  await run('DELETE FROM job_outbox');
  for (const payload of ['waits', 'refused', 'failed', 'elsewhere']) await add(payload);
  await run(`UPDATE job_outbox SET connection = 'other' WHERE payload = '"elsewhere"'`);
  await run(
    `UPDATE job_outbox SET attempts = 2, last_error = 'no JSON', not_before = '9999-01-01' WHERE payload = '"refused"'`,
  );
  await run(
    `UPDATE job_outbox SET attempts = 20, last_error = 'no JSON', failed_at = created_at WHERE payload = '"failed"'`,
  );
});

afterAll(() => {
  t.close();
  client.close();
  rmSync(folder, { recursive: true });
});

async function start(can: (action: DashboardAction, queue?: string) => boolean = () => true) {
  const app = await startDashboard({
    jobs: { queues: { [queue]: {} }, worker: false, maintenance: false },
    dashboard: { can: (action, _request, subject) => can(action, subject.queue), user: () => 'ada' },
  });
  app.app.get(QueueRegistry, { strict: false }).outbox = t.outbox.writerFor('default');
  const rows = async () => (await app.get<OutboxRowsView>('/api/outbox')).body.rows;
  return { ...app, rows };
}

it('shows the rows of its connection, the failed and refused ones first', async () => {
  const { rows } = await start();
  expect(await rows()).toMatchObject([
    { queue, isFailed: true, attempts: 20, error: 'no JSON', canBeSteered: true },
    { queue, isFailed: false, attempts: 2, error: 'no JSON' },
    { queue, isFailed: false, attempts: 0, error: null },
  ]);
});

it('sends chosen rows again and discards failed ones, with an entry in the action log each', async () => {
  const { rows, post, queue: queueOf } = await start();
  const [failed, refused, waiting] = (await rows()).map(({ seq }) => seq) as [string, string, string];
  const act = (action: string, ...chosen: string[]) => post('/api/outbox/act', { action, queue, rows: chosen });
  expect((await act('discard', refused, waiting)).body).toEqual({ done: 0, spared: 2 });
  expect((await act('retry', refused)).body).toEqual({ done: 1, spared: 0 });
  expect((await rows()).map(({ attempts }) => attempts)).toEqual([20, 0, 0]);
  expect((await act('discard', failed)).body).toEqual({ done: 1, spared: 0 });
  expect((await rows()).map(({ seq }) => seq)).toEqual([waiting, refused]);
  const log = await queueOf(queue).actionLog.latest();
  expect(log.map(({ action, subject, by, count }) => [action, subject, by, count])).toEqual([
    ['discard-rows', `row ${failed} of the outbox`, 'ada', 1],
    ['send-again', `row ${refused} of the outbox`, 'ada', 1],
    ['discard-rows', `rows ${refused}, ${waiting} of the outbox`, 'ada', 0],
  ]);
});

it('changes no row of a queue or a connection that is not meant', async () => {
  const { post } = await start();
  const all = await t.outbox.list();
  const seqs = all.map(({ seq }) => seq);
  const other = { action: 'discard', queue, rows: seqs };
  await run(`UPDATE job_outbox SET queue = 'another' WHERE payload = '"failed"'`);
  expect((await post('/api/outbox/act', other)).body).toEqual({ done: 0, spared: 4 });
  await run(`UPDATE job_outbox SET failed_at = created_at WHERE connection = 'other'`);
  expect((await post('/api/outbox/act', other)).body).toEqual({ done: 0, spared: 4 });
  expect(await t.outbox.list()).toHaveLength(4);
});

it('shows and changes what the viewer may', async () => {
  const hidden = await start((_action, of) => of !== queue);
  expect(await hidden.rows()).toEqual([]);
  const { rows, post } = await start((action) => action === 'view');
  const [failed] = await rows();
  for (const action of ['retry', 'discard']) {
    expect((await post('/api/outbox/act', { action, queue, rows: [failed!.seq] })).status).toBe(403);
  }
});

it('says so in an app without an outbox', async () => {
  const { get } = await startDashboard({ jobs: { worker: false, maintenance: false } });
  expect(await get('/api/outbox')).toMatchObject({
    status: 404,
    body: { error: { message: expect.stringContaining('no outbox') } },
  });
});
