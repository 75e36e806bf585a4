// The app of each page in docs/recipes, as written, on a server of its own.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { createClient, type Client } from '@libsql/client';
import { Redis } from 'ioredis';
import { JobQueueService, type JobHandle } from 'nest-job-queue';
import { outboxSql } from 'nest-job-queue/outbox';
import { lastValueFrom, toArray, type Observable } from 'rxjs';
import { eventually, gate } from '../../support/faults/wait.js';
import { closeFirst, startOwnRedis } from '../../support/redis/own-redis.js';
import { exampleOf } from '../example.js';
import { startRecipe, type Recipe } from './recipe-app.js';

const LIMIT = { timeoutMs: 20_000 };
const folder = mkdtempSync(join(tmpdir(), 'recipes-'));
const env = { ...process.env };
let app: INestApplication;
let redis: Redis;

beforeAll(async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  redis = new Redis(process.env.REDIS_URL);
  closeFirst(() => redis.quit());
});

afterEach(() => app?.close());

afterAll(() => {
  process.env = env;
  rmSync(folder, { recursive: true });
});

/** Starts the app of a page, and returns its exports and the service of its jobs. */
async function start<Exports = Recipe>(page: string): Promise<Exports & { jobs: JobQueueService; url: string }> {
  const { exports, jobs, url, ...started } = await startRecipe<Exports>(page);
  app = started.app;
  return { ...exports, jobs, url };
}

it('has at most sixty lines of code on a page', () => {
  const pages = readdirSync(new URL('../../../docs/recipes', import.meta.url));
  const lines = pages.map((page) => [page, exampleOf(`recipes/${page}`, 'recipe').trimEnd().split('\n').length]);
  expect(lines.filter(([, count]) => Number(count) > 60)).toEqual([]);
});

it('rate-limited-api: rests the queue after a 429, and makes a dead letter of a 404', async () => {
  const replies = [429, 200, 404];
  const server = createServer(
    (_, reply) => void reply.writeHead(replies.shift()!, { 'retry-after': '3600' }).end(),
  );
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  process.env.CRM_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { jobs } = await start('rate-limited-api');
  const job = await jobs.enqueue('sync-contact', { id: 'ada' });
  await eventually(async () => (await job.get())!.rateLimited === 1);
  expect(await job.get()).toMatchObject({ status: 'pending', attempts: 0 });
  await jobs.queue('sync-contact').limits.clear();
  await job.result(LIMIT);
  const refused = await jobs.enqueue('sync-contact', { id: 'nobody' });
  await expect(refused.result(LIMIT)).rejects.toThrow('the CRM refused the contact: 404');
  server.closeAllConnections();
  server.close();
});

it('digest-mail: sends one mail of many events, and misses none that comes meanwhile', async () => {
  const { Digests, Mailer, jobs } = await start('digest-mail');
  const [digests, mailer] = [app.get(Digests!), app.get(Mailer!)];
  const send = jest.spyOn(mailer, 'send');
  const [reached, goesOn] = [gate(), gate()];
  send.mockImplementationOnce(async () => {
    reached.open();
    await goesOn.promise;
  });
  const first: JobHandle = await digests.note('ada', 'one');
  expect((await digests.note('ada', 'two')).id).toBe(first.id);
  await jobs.queue('digest').promote(first.id);
  await reached.promise;
  const next: JobHandle = await digests.note('ada', 'three');
  expect(next.outcome).toBe('new');
  goesOn.open();
  await first.result(LIMIT);
  await jobs.queue('digest').promote(next.id);
  await next.result(LIMIT);
  expect(send.mock.calls.map(([mail]) => (mail as { lines: string[] }).lines)).toEqual([['one', 'two'], ['three']]);
});

it('tenant-fairness: serves the small tenant among the first, and refuses the flood of one', async () => {
  const { Exports, ExportHandler, jobs } = await start('tenant-fairness');
  const [exports, handler] = [app.get(Exports!), app.get(ExportHandler!)];
  const handle = jest.spyOn(handler, 'handle');
  await jobs.pause('export');
  await jobs.queue('export').limits.set({ groups: { maxRunning: 2, maxPending: 20 } });
  for (let i = 0; i < 20; i++) await exports.request('big', `r${i}`);
  await expect(exports.request('big', 'one more')).rejects.toThrow('big has too many exports that wait');
  const small: JobHandle = await exports.request('small', 'r');
  await jobs.resume('export');
  expect(await small.result(LIMIT)).toBe('small/r.csv');
  const order = handle.mock.calls.map(([job]) => (job as { group: string }).group);
  expect(order.indexOf('small')).toBeLessThan(3);
});

it('import-with-progress: goes on at its checkpoint, and its page follows', async () => {
  const { Table, ImportsController, jobs } = await start('import-with-progress');
  const upsert = jest.spyOn(app.get(Table!), 'upsert');
  const controller = app.get(ImportsController!);
  upsert.mockImplementation(async (...args: unknown[]) => {
    if (args[1] === 150) throw new Error('the disk is full');
  });
  const { id } = await controller.start('rows.csv');
  await eventually(async () => (await jobs.get('import', id))!.status === 'scheduled');
  const seen = lastValueFrom((controller.watch(id) as Observable<{ data: unknown }>).pipe(toArray()));
  upsert.mockClear();
  upsert.mockImplementation(async () => {});
  await eventually(async () => Number((await redis.pubsub('NUMSUB', 'queue:import:events'))[1]) > 0);
  await jobs.queue('import').promote(id);
  expect(await jobs.result('import', id, LIMIT)).toEqual({ imported: 250 });
  expect(upsert.mock.calls[0]).toEqual(['rows.csv', 100]);
  expect(upsert).toHaveBeenCalledTimes(150);
  expect((await jobs.get('import', id))!.progress).toEqual({ done: 250, of: 250 });
  expect((await seen).at(-1)).toEqual({ data: { status: 'completed', progress: undefined } });
});

it('webhooks: takes each event once, refuses a wrong signature, and signs its own events', async () => {
  process.env.WEBHOOK_SECRET = 'secret';
  const { Webhooks, ReceivedHandler, jobs, url } = await start('webhooks');
  const handle = jest.spyOn(app.get(ReceivedHandler!), 'handle');
  const webhooks = app.get(Webhooks!);
  const sent: JobHandle[] = [];
  for (let i = 0; i < 2; i++) sent.push(await webhooks.send(`${url}/webhooks`, { id: 'event-1' }));
  await Promise.all(sent.map((job) => job.result(LIMIT)));
  expect(await jobs.result('webhook-in', 'event-1', LIMIT)).toBe('event-1');
  expect(handle).toHaveBeenCalledTimes(1);
  const forged = await fetch(`${url}/webhooks`, { method: 'POST', body: '{}', headers: { 'x-signature': 'no' } });
  expect(forged.status).toBe(401);
});

it('pdf-fan-out: binds all pages, or says how many failed', async () => {
  const { Reports, jobs } = await start('pdf-fan-out');
  const reports = app.get(Reports!);
  await Promise.all([reports.print('march', ['a', 'b', 'c']), reports.print('april', ['a', ''])]);
  await eventually(async () => (await jobs.queue('bind-report').list('completed')).length === 2);
  const results = (await jobs.queue('bind-report').list('completed')).map(({ result }) => result);
  expect(results).toContainEqual({ file: 'march.pdf', files: ['march/0.pdf', 'march/1.pdf', 'march/2.pdf'] });
  expect(results).toContainEqual('april: 1 pages failed');
});

it('llm-calls: holds a call that the budget has no tokens for, and asks once for an answer', async () => {
  const { Questions, Model, Answers } = await start('llm-calls');
  const ask = jest.spyOn(app.get(Model!), 'ask').mockResolvedValue({ text: 'blue', retryAfterMs: 0 });
  const save = jest.spyOn(app.get(Answers!), 'save').mockRejectedValueOnce(new Error('the database is away'));
  const first: JobHandle = await app.get(Questions!).ask({ prompt: 'Which colour?', maxTokens: 29_000 });
  const second: JobHandle = await app.get(Questions!).ask({ prompt: 'And now?', maxTokens: 29_000 });
  await eventually(async () => (await first.get())!.status === 'scheduled');
  expect(ask).toHaveBeenCalledTimes(1);
  expect((await second.get())!.status).toBe('pending');
  await app.get(JobQueueService).queue('ask').limits.set({}); // a larger budget
  await app.get(JobQueueService).queue('ask').promote(first.id);
  await Promise.all([first.result(LIMIT), second.result(LIMIT)]);
  expect(ask).toHaveBeenCalledTimes(2);
  expect(save).toHaveBeenCalledWith(first.id, 'blue');
});

it('chain-across-queues: each step gets the result of the one before, also when it is added again', async () => {
  const { Videos } = await start('chain-across-queues');
  const last: JobHandle = await app.get(Videos!).add('v1', 'https://example.com/cat.mp4');
  expect(await last.result(LIMIT)).toBe('published /videos/cat.webm');
  expect((await app.get(Videos!).add('v1', 'https://example.com/cat.mp4')).outcome).toBe('existing');
});

it('outbox: a job of a transaction runs after its commit, and never after a rollback', async () => {
  process.env.DATABASE_URL = `file:${join(folder, 'app.db')}`;
  const database = createClient({ url: process.env.DATABASE_URL });
  await database.executeMultiple(
    `${outboxSql('sqlite').join(';')}; CREATE TABLE orders (name text); CREATE TABLE receipts (name text);`,
  );
  database.close();
  const recipe = await start<Recipe & { database: Client }>('outbox');
  const orders = app.get(recipe.Orders!);
  await expect(orders.place('refused', false)).rejects.toThrow('the card was refused');
  await orders.place('paid', true);
  const receipts = async () =>
    (await recipe.database.execute('SELECT name FROM receipts')).rows.map(({ name }) => name);
  expect(await eventually(async () => (await receipts()).length > 0 && receipts())).toEqual(['paid']);
  expect(await recipe.jobs.queue('receipt').stats()).toMatchObject({ totals: { enqueued: 1 } });
  await app.close();
  recipe.database.close();
});

it('latest-state: runs one sync at a time, and the last text arrives', async () => {
  const { Documents, SearchIndex } = await start('latest-state');
  const [reached, goesOn] = [gate(), gate()];
  const put = jest.spyOn(app.get(SearchIndex!), 'put').mockImplementationOnce(async () => {
    reached.open();
    await goesOn.promise;
  });
  const documents = app.get(Documents!);
  await documents.save('a', '1');
  await reached.promise;
  const next: JobHandle = await documents.save('a', '2');
  expect((await documents.save('a', '3')).outcome).toBe('kept');
  await (await documents.save('b', 'other')).result(LIMIT);
  expect(put).toHaveBeenCalledTimes(2);
  goesOn.open();
  await next.result(LIMIT);
  expect(put.mock.calls.map((call) => call.join(' '))).toEqual(['a 1', 'b other', 'a 3']);
});

it('read-only-admin: shows a failed job without its address, and refuses each action', async () => {
  process.env.SUPPORT_TOKEN = 'of the support';
  const { jobs, url } = await start('read-only-admin');
  const job = await jobs.enqueue('letter', { order: '17', address: '1 High Street' });
  await expect(job.result(LIMIT)).rejects.toThrow('no printer for 17');
  const headers = { authorization: 'Bearer of the support' };
  const read = await fetch(`${url}/support/queues/api/job?queue=letter&id=${job.id}`, { headers });
  const text = await read.text();
  expect([read.status, text.includes('no printer'), text.includes('High Street')]).toEqual([200, true, false]);
  const act = await fetch(`${url}/support/queues/api/jobs/act`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'x-job-queue-dashboard': '1' },
    body: JSON.stringify({ action: 'redrive', queue: 'letter', state: 'failed', ids: [job.id] }),
  });
  expect(act.status).toBe(403);
  expect((await fetch(`${url}/support/queues`)).status).toBe(403);
});
