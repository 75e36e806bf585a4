// The relay on SQLite: it holds no lock while Redis answers.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { fromBetterSqlite3, fromLibsql, type OutboxDatabase } from 'nest-job-queue/outbox';
import type { JobQueue } from 'nest-job-queue/core';
import { LikeBetterSqlite3 } from '../support/databases/better-sqlite3.js';
import { makeTables, TestOutbox } from '../support/databases/outbox.js';
import type { Job } from '#worker/handlers/job.js';
import { connect } from '../support/redis/redis.js';
import { startWorker } from '../support/worker/workers.js';

const folder = mkdtempSync(join(tmpdir(), 'outbox-'));
const client = createClient({ url: `file:${join(folder, 'app.db')}` });
let database: OutboxDatabase;

beforeAll(async () => {
  database = fromLibsql(client);
  await makeTables(database);
});

afterAll(() => {
  client.close();
  rmSync(folder, { recursive: true });
});

it('lets others write while it waits for Redis, and adds nothing when it comes back after another', async () => {
  const [t, stalling] = [new TestOutbox(database), new TestOutbox(database)];
  const add = (payload: unknown) => database.begin((transaction) => t.enqueue(transaction as object, payload));
  await add(1);
  const { reached, goOn } = stalling.stallAt(t.queue);
  const stalled = stalling.outbox.ship();
  await reached;
  await add(2);
  await t.outbox.ship();
  expect(await t.pending()).toEqual([1, 2]);
  await t.purge();
  goOn();
  await stalled;
  expect(stalling.outbox.trouble).toBeUndefined();
  expect(stalling.warnings).toEqual([]);
  expect(await t.pending()).toEqual([]);
  expect(await connect().zcard(`queue:${t.queue.name}:once`)).toBe(0);
  [t, stalling].forEach((each) => each.close());
});

it('gives a handle whose stream begins once the job is in its queue', async () => {
  const t = new TestOutbox(database);
  const job = await database.begin((transaction) => t.enqueue(transaction as object, 1));
  const items = job.stream()[Symbol.asyncIterator]();
  const first = items.next();
  await startWorker(t.queue, (each: Job) => each.stream.write('a'));
  await t.outbox.ship();
  expect(await first).toMatchObject({ value: { type: 'chunk', data: 'a' } });
  expect(await items.next()).toMatchObject({ value: { type: 'result', data: null } });
  t.close();
});

it('deletes no row, and forgets no mark, after another relay has drawn its fence', async () => {
  const [t, late] = [new TestOutbox(database), new TestOutbox(database)];
  await database.begin((transaction) => t.enqueue(transaction as object, 1));
  const exec = t.queue.exec.bind(t.queue);
  t.queue.exec = () => Promise.reject(new Error('Redis is away'));
  late.queueOf(t.queue.name).exec = async (...asked: Parameters<JobQueue['exec']>) => {
    const reply = await exec(...asked);
    await t.outbox.ship(); // draws a fence, and sends nothing
    return reply as never;
  };
  await late.outbox.ship();
  expect(await t.rows()).toBe(1);
  t.queue.exec = exec;
  expect(await t.pending()).toEqual([1]);
  await t.purge();
  const last = new TestOutbox(database);
  await last.outbox.ship();
  expect(await t.rows()).toBe(0);
  expect(await t.pending()).toEqual([]);
  [t, late, last].forEach((each) => each.close());
});

it('closes the connection that it has opened for the relay of better-sqlite3, and opens it again', async () => {
  const opened: Counted[] = [];
  class Counted extends LikeBetterSqlite3 {
    constructor(...asked: ConstructorParameters<typeof LikeBetterSqlite3>) {
      super(...asked);
      opened.push(this);
    }
  }
  const app = new Counted(join(folder, 'app.db'));
  const t = new TestOutbox(fromBetterSqlite3(app));
  await t.outbox.ship();
  expect(opened.map(({ open }) => open)).toEqual([true, true]);
  await t.outbox.stop();
  expect(opened.map(({ open }) => open)).toEqual([true, false]);
  expect(await t.rows()).toBe(0);
  await t.outbox.stop();
  expect(opened.map(({ open }) => open)).toEqual([true, false, false]);
  app.close();
  t.close();
});
