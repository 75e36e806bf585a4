// Each bullet under "What happens when it fails" of each recipe, driven by the bad luck that it names.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createClient, type Client } from '@libsql/client';
import { Redis } from 'ioredis';
import { NonRetryableError, type JobHandle, type JobQueueService } from 'nest-job-queue';
import { outboxSql } from 'nest-job-queue/outbox';
import { eventually, gate } from '../../support/faults/wait.js';
import { closeFirst, startOwnRedis } from '../../support/redis/own-redis.js';
import { startRecipe, type Recipe, type RecipeApp } from './recipe-app.js';

const LIMIT = { timeoutMs: 30_000 };
const PAGES = new URL('../../../docs/recipes/', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'recipe-failures-'));
const env = { ...process.env };
const open: (() => unknown)[] = [];
let redis: Redis;

beforeAll(async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  redis = new Redis(process.env.REDIS_URL);
  closeFirst(() => redis.quit());
});

afterEach(async () => {
  jest.restoreAllMocks();
  for (const close of open.splice(0).toReversed()) await close();
  await redis.flushall();
});

afterAll(() => {
  process.env = env;
  rmSync(folder, { recursive: true });
});

async function start<Exports = Recipe>(page: string): Promise<RecipeApp<Exports>> {
  const started = await startRecipe<Exports>(page);
  open.push(() => started.app.close());
  return started;
}

/** Starts a server of a partner. Each request gets the next answer, the last one again and again. */
async function partner(
  ...answers: (number | ((reply: ServerResponse) => unknown))[]
): Promise<{ url: string; seen: (IncomingMessage & { body?: string })[] }> {
  const seen: IncomingMessage[] = [];
  const server: Server = createServer((request, reply) => {
    const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
    seen.push(request);
    request.resume();
    void (typeof answer === 'number' ? reply.writeHead(answer, { 'retry-after': '3600' }).end() : answer(reply));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  open.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const statusOf = async (job: JobHandle) => (await job.get())?.status;
const until = (job: JobHandle, status: string) => eventually(async () => (await statusOf(job)) === status);

/** Ends the claim of a job as if its worker had died. Its handler may still run, as that of a frozen one. */
async function loseClaim(jobs: JobQueueService, name: string, id: string): Promise<void> {
  const queue = jobs.queue(name);
  await redis.zadd(`queue:${name}:claims`, 'XX', 1, id);
  await eventually(async () => {
    await queue.reclaim();
    return (await queue.get(id))!.crashes > 0;
  });
}

/** Lets a worker that dies claim the job before the app does. */
async function dieWith(jobs: JobQueueService, name: string, enqueue: () => Promise<JobHandle>): Promise<JobHandle> {
  jobs.pauseWorker(name);
  const job = await enqueue();
  await eventually(async () => (await jobs.queue(name).claim({ worker: 'that-dies' })) !== null);
  await loseClaim(jobs, name, job.id);
  jobs.resumeWorker(name);
  return job;
}

/** Runs a waiting job now, instead of after its delay. */
async function runNow(jobs: JobQueueService, name: string, job: JobHandle): Promise<void> {
  await until(job, 'scheduled');
  await jobs.queue(name).promote(job.id);
}

type Bullet = () => Promise<void>;

const rateLimitedApi: Record<string, Bullet> = {
  async '429'() {
    const { url, seen } = await partner(429, 200);
    process.env.CRM_URL = url;
    const { jobs } = await start('rate-limited-api');
    jobs.setConcurrency('sync-contact', 1);
    const first = await jobs.enqueue('sync-contact', { id: 'first' });
    const second = await jobs.enqueue('sync-contact', { id: 'second' });
    await eventually(async () => (await first.get())!.rateLimited === 1);
    expect(await first.get()).toMatchObject({ status: 'pending', attempts: 0 });
    expect((await jobs.queue('sync-contact').list('pending')).map(({ id }) => id)).toEqual([first.id, second.id]);
    expect(seen).toHaveLength(1);
    await jobs.queue('sync-contact').limits.clear();
    await second.result(LIMIT);
    expect(seen.map(({ url: path }) => path)).toEqual(['/contacts/first', '/contacts/first', '/contacts/second']);
  },
  async '5xx, a timeout, no connection'() {
    const { url } = await partner(503, (reply) => reply.destroy(), 500);
    process.env.CRM_URL = url;
    const { jobs } = await start('rate-limited-api');
    await jobs.queue('sync-contact').limits.set({});
    const job = await jobs.enqueue('sync-contact', { id: 'ada' });
    for (let attempt = 1; attempt < 10; attempt++) await runNow(jobs, 'sync-contact', job);
    await until(job, 'failed');
    expect(await job.get()).toMatchObject({ attempts: 10 });
  },
  async 'Another 4xx'() {
    const { url } = await partner(404);
    process.env.CRM_URL = url;
    const { jobs } = await start('rate-limited-api');
    const job = await jobs.enqueue('sync-contact', { id: 'nobody' });
    await expect(job.result(LIMIT)).rejects.toThrow('404');
    expect(await job.get()).toMatchObject({ status: 'failed', attempts: 1 });
  },
  async 'A worker dies'() {
    const { url, seen } = await partner(200);
    process.env.CRM_URL = url;
    const { jobs } = await start('rate-limited-api');
    const job = await dieWith(jobs, 'sync-contact', () => jobs.enqueue('sync-contact', { id: 'ada' }));
    await job.result(LIMIT);
    expect(seen.map(({ method }) => method)).toEqual(['PUT']);
  },
};

/** Replaces the mail service by a mock that drops a second mail under a known key. Returns the lines that were sent. */
function mailService(mailer: object): string[] {
  const [keys, lines] = [new Set<string>(), [] as string[]];
  jest.spyOn(mailer as { send(mail: unknown): unknown }, 'send').mockImplementation((mail) => {
    const { lines: of, idempotencyKey } = mail as { lines: string[]; idempotencyKey: string };
    if (!keys.has(idempotencyKey)) lines.push(...of);
    keys.add(idempotencyKey);
  });
  return lines;
}

const digestMail: Record<string, Bullet> = {
  async 'An event comes while the mail is sent'() {
    const { jobs, get } = await start('digest-mail');
    const lines = mailService(get('Mailer'));
    const [reached, goesOn] = [gate(), gate()];
    const send = get('Mailer').send as (mail: unknown) => unknown;
    jest.spyOn(get('Mailer'), 'send').mockImplementationOnce(async (mail: unknown) => {
      reached.open();
      await goesOn.promise;
      return send(mail);
    });
    const first: JobHandle = await get('Digests').note('ada', 'one');
    await runNow(jobs, 'digest', first);
    await reached.promise;
    const next: JobHandle = await get('Digests').note('ada', 'two');
    expect(next.outcome).toBe('new');
    goesOn.open();
    await first.result(LIMIT);
    await runNow(jobs, 'digest', next);
    await next.result(LIMIT);
    expect(lines).toEqual(['one', 'two']);
  },
  async 'The mail fails'() {
    const { jobs, get } = await start('digest-mail');
    const lines = mailService(get('Mailer'));
    jest.spyOn(get('Mailer'), 'send').mockRejectedValueOnce(new Error('the service is away'));
    const first: JobHandle = await get('Digests').note('ada', 'one');
    await runNow(jobs, 'digest', first);
    await eventually(async () => (await first.get())!.errors === 1);
    const kept: JobHandle = await get('Digests').note('ada', 'two'); // the retry holds the key
    expect([kept.outcome, kept.id]).toEqual(['kept', first.id]);
    await runNow(jobs, 'digest', first);
    await first.result(LIMIT);
    expect(lines).toEqual(['one']); // the same content under the same key
    const [next] = await jobs.queue('digest').list('scheduled');
    await jobs.queue('digest').promote(next!.id);
    await jobs.result('digest', next!.id, LIMIT);
    expect(lines).toEqual(['one', 'two']);
  },
  async 'The worker dies after the mail'() {
    const { jobs, get } = await start('digest-mail');
    const lines = mailService(get('Mailer'));
    const service = get('Mailer').send as (mail: unknown) => unknown;
    const [sent, isFrozen] = [gate(), gate()];
    jest.spyOn(get('Mailer'), 'send').mockImplementationOnce(async (mail: unknown) => {
      await service(mail);
      sent.open();
      await isFrozen.promise;
      throw new Error('the process is gone'); // it marks no row
    });
    const first: JobHandle = await get('Digests').note('ada', 'one');
    await runNow(jobs, 'digest', first);
    await sent.promise;
    const next: JobHandle = await get('Digests').note('ada', 'two');
    await loseClaim(jobs, 'digest', first.id);
    isFrozen.open();
    await first.result(LIMIT);
    await runNow(jobs, 'digest', next);
    await next.result(LIMIT);
    expect(lines).toEqual(['one', 'two']); // no row was dropped under the key of another content
    expect(get('Events').rows).toMatchObject([{ sent: true }, { sent: true }]);
  },
  async 'All attempts fail'() {
    const { jobs, get } = await start('digest-mail');
    const lines = mailService(get('Mailer'));
    jest.spyOn(get('Mailer'), 'send').mockRejectedValueOnce(new NonRetryableError('no such user'));
    const first: JobHandle = await get('Digests').note('ada', 'one');
    await runNow(jobs, 'digest', first);
    await until(first, 'failed');
    const next: JobHandle = await get('Digests').note('ada', 'two');
    await runNow(jobs, 'digest', next);
    await next.result(LIMIT);
    expect(await jobs.queue('digest').deadLetters.redrive(first.id)).toBe(true);
    await first.result(LIMIT);
    expect(lines).toEqual(['one', 'two']);
  },
  async 'The app dies between row and job'() {
    const { jobs, get } = await start('digest-mail');
    const lines = mailService(get('Mailer'));
    get('Events').rows.push({ id: 0, user: 'ada', text: 'one', sent: false });
    const next: JobHandle = await get('Digests').note('ada', 'two');
    await runNow(jobs, 'digest', next);
    await next.result(LIMIT);
    expect(lines).toEqual(['one', 'two']);
  },
};

/** Notes what the index has. */
function indexOf(get: RecipeApp['get']): Map<string, string> {
  const index = new Map<string, string>();
  jest.spyOn(get('SearchIndex'), 'put').mockImplementation((...args: unknown[]) => {
    index.set(args[0] as string, args[1] as string);
    return Promise.resolve();
  });
  return index;
}

const latestState: Record<string, Bullet> = {
  async 'A sync fails while a newer one waits'() {
    const { jobs, get } = await start('latest-state');
    const index = indexOf(get);
    const [reached, fails] = [gate(), gate()];
    const put = jest.spyOn(get('SearchIndex'), 'put').mockImplementationOnce((async () => {
      reached.open();
      await fails.promise;
      throw new Error('the index is away');
    }) as never);
    const first: JobHandle = await get('Documents').save('a', 'old');
    await reached.promise;
    const next: JobHandle = await get('Documents').save('a', 'new');
    expect(next.outcome).toBe('new');
    fails.open();
    await runNow(jobs, 'sync', first);
    await next.result(LIMIT);
    expect(await statusOf(first)).toBe('completed');
    expect([put.mock.calls.length, index.get('a')]).toEqual([3, 'new']);
  },
  async 'A save comes while a failed sync waits for its retry'() {
    const { jobs, get } = await start('latest-state');
    const index = indexOf(get);
    jest.spyOn(get('SearchIndex'), 'put').mockRejectedValueOnce(new Error('the index is away'));
    const first: JobHandle = await get('Documents').save('a', 'old');
    await eventually(async () => (await first.get())!.errors === 1);
    expect((await get('Documents').save('a', 'new')).outcome).toBe('kept');
    await runNow(jobs, 'sync', first);
    await first.result(LIMIT);
    expect([index.get('a'), (await jobs.queue('sync').stats()).scheduled]).toEqual(['new', 0]);
  },
  async 'A sync is a dead letter'() {
    const { jobs, get } = await start('latest-state');
    const index = indexOf(get);
    jest.spyOn(get('SearchIndex'), 'put').mockRejectedValueOnce(new NonRetryableError('refused'));
    const first: JobHandle = await get('Documents').save('a', 'old');
    await until(first, 'failed');
    const next: JobHandle = await get('Documents').save('a', 'new');
    expect(next.outcome).toBe('new');
    await next.result(LIMIT);
    expect(await jobs.queue('sync').deadLetters.redrive(first.id)).toBe(true);
    await first.result(LIMIT);
    expect(index.get('a')).toBe('new'); // the old text does not come back
  },
  async 'The worker dies'() {
    const { jobs, get } = await start('latest-state');
    const index = indexOf(get);
    const put = get('SearchIndex').put as (...args: unknown[]) => unknown;
    const first = await dieWith(jobs, 'sync', async () => get('Documents').save('a', 'old'));
    const next: JobHandle = await get('Documents').save('a', 'new');
    await Promise.all([first.result(LIMIT), next.result(LIMIT)]);
    expect([index.get('a'), (put as jest.Mock).mock.calls.length <= 2]).toEqual(['new', true]);
  },
  async 'The app dies between row and job'() {
    const { get } = await start('latest-state');
    const index = indexOf(get);
    get('Texts').rows.set('a', 'lost');
    await (await get('Documents').save('a', 'new')).result(LIMIT);
    expect(index.get('a')).toBe('new');
  },
};

function post(url: string, body: string, signature: string): Promise<Response> {
  return fetch(`${url}/webhooks`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-signature': signature },
  });
}

/** Returns the signature that the recipe expects. */
async function signatureOf(body: string): Promise<string> {
  const { createHmac } = await import('node:crypto');
  return createHmac('sha256', process.env.WEBHOOK_SECRET!).update(body).digest('hex');
}

const webhooks: Record<string, Bullet> = {
  async 'Redis is away'() {
    process.env.WEBHOOK_SECRET = 'secret';
    const shared = process.env.REDIS_URL;
    const own = await startOwnRedis();
    process.env.REDIS_URL = own.url;
    open.push(() => (process.env.REDIS_URL = shared));
    const { url, jobs } = await start('webhooks');
    const body = JSON.stringify({ id: 'event-1' });
    await own.kill();
    expect((await post(url, body, await signatureOf(body))).status).toBeGreaterThanOrEqual(500);
    await own.restart();
    await eventually(async () => (await post(url, body, await signatureOf(body))).status === 202);
    expect(await jobs.result('webhook-in', 'event-1', LIMIT)).toBe('event-1');
  },
  async 'The partner calls twice'() {
    process.env.WEBHOOK_SECRET = 'secret';
    const { url, jobs, get } = await start('webhooks');
    const handle = jest.spyOn(get('ReceivedHandler'), 'handle');
    const body = JSON.stringify({ id: 'event-1' });
    await post(url, body, await signatureOf(body));
    await jobs.result('webhook-in', 'event-1', LIMIT);
    const others = await jobs.enqueueMany(
      'webhook-in',
      Array.from({ length: 1_500 }, (_, i) => ({ payload: { id: `other-${i}` }, id: `other-${i}` })),
    );
    await eventually(async () => (await jobs.queue('webhook-in').stats()).totals.completed! > others.length);
    expect((await post(url, body, await signatureOf(body))).status).toBe(202);
    await (await jobs.enqueue('webhook-in', { id: 'last' })).result(LIMIT);
    const runs = handle.mock.calls.filter(([job]) => (job as { id: string }).id === 'event-1');
    expect(runs).toHaveLength(1);
  },
  async 'A customer is down'() {
    process.env.WEBHOOK_SECRET = 'secret';
    const [slow, quick] = [await partner(() => undefined), await partner(503, 200)];
    const { jobs, get } = await start('webhooks');
    const group = new URL(slow.url).host;
    const sender = get('Webhooks');
    for (let i = 0; i < 4; i++) await sender.send(`${slow.url}/`, { id: `s${i}` });
    const job: JobHandle = await sender.send(`${quick.url}/`, { id: 'q' });
    await eventually(async () => (await job.get())!.errors === 1);
    expect((await job.get())!.dueAt!.getTime()).toBeGreaterThan(Date.now() + 1_000);
    await runNow(jobs, 'webhook-out', job);
    await job.result(LIMIT);
    expect((await jobs.queue('webhook-out').groups.get(group)).running).toBe(2);
    expect(slow.seen.length).toBeLessThanOrEqual(2);
    await jobs.queue('webhook-out').groups.pause(group);
    for (const { id } of await jobs.queue('webhook-out').list('processing')) await jobs.cancel('webhook-out', id);
  },
  async 'A customer is down for longer'() {
    process.env.WEBHOOK_SECRET = 'secret';
    const answers = Array.from({ length: 12 }, () => 503);
    const customer = await partner(...answers, 200);
    const { jobs, get } = await start('webhooks');
    const job: JobHandle = await get('Webhooks').send(`${customer.url}/`, { id: 'e' });
    for (let attempt = 1; attempt < 12; attempt++) await runNow(jobs, 'webhook-out', job);
    await until(job, 'failed');
    expect(await jobs.queue('webhook-out').deadLetters.redrive(job.id)).toBe(true);
    await job.result(LIMIT);
    expect(customer.seen).toHaveLength(13);
  },
  async 'A customer receives an event twice'() {
    process.env.WEBHOOK_SECRET = 'secret';
    const bodies: string[] = [];
    const [arrived, goesOn] = [gate(), gate()];
    const { url } = await partner(async (reply) => {
      const body: string[] = [];
      for await (const part of reply.req) body.push(String(part));
      bodies.push(body.join(''));
      arrived.open();
      await goesOn.promise;
      reply.writeHead(200).end();
    });
    const { jobs, get } = await start('webhooks');
    const job: JobHandle = await get('Webhooks').send(`${url}/`, { id: 'e' });
    await arrived.promise;
    await loseClaim(jobs, 'webhook-out', job.id);
    goesOn.open();
    await job.result(LIMIT);
    await eventually(async () => bodies.length === 2);
    expect(bodies.map((body) => (JSON.parse(body) as { id: string }).id)).toEqual(['e', 'e']);
  },
};

const URL_OF_CAT = 'https://example.com/cat.mp4';

const chain: Record<string, Bullet> = {
  async 'A step fails for good'() {
    const { jobs, get } = await start('chain-across-queues');
    const convert = jest.spyOn(get('ConvertHandler'), 'handle');
    const fails = gate();
    jest.spyOn(get('DownloadHandler'), 'handle').mockImplementationOnce((async () => {
      await fails.promise;
      throw new NonRetryableError('gone');
    }) as never);
    const last: JobHandle = await get('Videos').add('v', URL_OF_CAT);
    fails.open();
    await expect(last.result(LIMIT)).rejects.toThrow('v:convert');
    expect((await jobs.get('convert', 'v:convert'))!.lastError).toContain('v:download');
    expect(convert).not.toHaveBeenCalled();
    for (const [name, id] of [
      ['download', 'v:download'],
      ['convert', 'v:convert'],
      ['publish', 'v:publish'],
    ] as const) {
      expect(await jobs.queue(name).deadLetters.redrive(id)).toBe(true);
      await jobs.result(name, id, LIMIT);
    }
    expect(await last.result(LIMIT)).toBe('published /videos/cat.webm');
  },
  async 'A step fails before the next one is added'() {
    const { jobs, get } = await start('chain-across-queues');
    jest.spyOn(get('DownloadHandler'), 'handle').mockRejectedValueOnce(new NonRetryableError('gone'));
    const { enqueue } = jobs;
    jest.spyOn(jobs, 'enqueue').mockImplementationOnce(async (...args: unknown[]) => {
      const job = (await Reflect.apply(enqueue, jobs, args)) as JobHandle;
      await until(job, 'failed');
      return job;
    });
    await expect(get('Videos').add('v', URL_OF_CAT)).rejects.toThrow('Redrive it first');
    expect(await jobs.queue('download').deadLetters.redrive('v:download')).toBe(true);
    expect(await (await get('Videos').add('v', URL_OF_CAT)).result(LIMIT)).toBe('published /videos/cat.webm');
  },
  async 'The app dies between two enqueues'() {
    const { jobs, get } = await start('chain-across-queues');
    const download = jest.spyOn(get('DownloadHandler'), 'handle');
    const { enqueue } = jobs;
    jest.spyOn(jobs, 'enqueue').mockImplementation((async (name: string, ...rest: never[]) => {
      if (name === 'convert') throw new Error('the process is gone');
      return Reflect.apply(enqueue, jobs, [name, ...rest]);
    }) as never);
    await expect(get('Videos').add('v', URL_OF_CAT)).rejects.toThrow('the process is gone');
    jest.mocked(jobs.enqueue).mockRestore();
    const last: JobHandle = await get('Videos').add('v', URL_OF_CAT);
    expect(await last.result(LIMIT)).toBe('published /videos/cat.webm');
    expect(download).toHaveBeenCalledTimes(1);
  },
  async 'A worker dies'() {
    const { jobs, get } = await start('chain-across-queues');
    let last!: JobHandle;
    await dieWith(jobs, 'download', async () => {
      last = await get('Videos').add('v', URL_OF_CAT);
      return jobs.enqueue('download', {}, { id: 'v:download' }); // the handle of the first step
    });
    expect(await last.result(LIMIT)).toBe('published /videos/cat.webm');
  },
};

const importWithProgress: Record<string, Bullet> = {
  async 'A row fails'() {
    const { jobs, get } = await start('import-with-progress');
    const rows: number[] = [];
    let fails = true;
    jest.spyOn(get('Table'), 'upsert').mockImplementation(async (...args: unknown[]) => {
      if (args[1] === 150 && fails) throw new Error('the disk is full');
      rows.push(args[1] as number);
    });
    const { id } = await get('ImportsController').start('rows.csv');
    await eventually(async () => (await jobs.get('import', id))!.status === 'scheduled');
    fails = false;
    await jobs.queue('import').promote(id);
    await jobs.result('import', id, LIMIT);
    expect([rows.length, rows[150], new Set(rows).size]).toEqual([300, 100, 250]);
  },
  async 'A deploy or a crash'() {
    const { jobs, get, app } = await start('import-with-progress');
    const reached = gate();
    jest.spyOn(get('Table'), 'upsert').mockImplementation(async (...args: unknown[]) => {
      if (args[1] === 150) {
        reached.open();
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    });
    const { id } = await get('ImportsController').start('rows.csv');
    await reached.promise;
    await loseClaim(jobs, 'import', id); // a crash
    await eventually(async () => (await jobs.get('import', id))!.status === 'completed');
    expect((await jobs.get('import', id))!.result).toEqual({ imported: 250 });
    const again = await get('ImportsController').start('other.csv');
    await eventually(async () => (await jobs.get('import', again.id))!.status === 'processing');
    await app.close(); // a deploy: the handler ends at its next row
    const next = await start('import-with-progress');
    const rows: number[] = [];
    jest.spyOn(next.get('Table'), 'upsert').mockImplementation((...args: unknown[]) => {
      rows.push(args[1] as number);
      return Promise.resolve();
    });
    const record = async () => (await next.jobs.get('import', again.id))!;
    await eventually(async () => (await record()).status === 'completed');
    expect((await record()).attempts).toBe(1);
  },
  async 'The user cancels'() {
    const { jobs, get } = await start('import-with-progress');
    const [reached, goesOn] = [gate(), gate()];
    const upsert = jest.spyOn(get('Table'), 'upsert').mockImplementation(async (...args: unknown[]) => {
      if (args[1] === 5) {
        reached.open();
        await goesOn.promise;
      }
    });
    const { id } = await get('ImportsController').start('rows.csv');
    await reached.promise;
    await jobs.cancel('import', id);
    goesOn.open();
    await eventually(async () => (await jobs.get('import', id))!.status === 'cancelled');
    expect(upsert).toHaveBeenCalledTimes(6);
  },
  async 'The page misses an event'() {
    const { jobs, get } = await start('import-with-progress');
    const { id } = await get('ImportsController').start('rows.csv');
    await jobs.result('import', id, LIMIT);
    await eventually(async () => {
      const { progress } = (await jobs.get('import', id))!;
      return JSON.stringify(progress) === JSON.stringify({ done: 250, of: 250 });
    });
  },
};

const llmCalls: Record<string, Bullet> = {
  async 'The answer cannot be saved'() {
    const { jobs, get } = await start('llm-calls');
    const ask = jest.spyOn(get('Model'), 'ask').mockResolvedValue({ text: 'blue', retryAfterMs: 0 });
    const save = jest.spyOn(get('Answers'), 'save').mockRejectedValueOnce(new Error('away'));
    const job: JobHandle = await get('Questions').ask({ prompt: 'Which?', maxTokens: 10 });
    await runNow(jobs, 'ask', job);
    await job.result(LIMIT);
    expect([ask.mock.calls.length, save.mock.calls.at(-1)]).toEqual([1, [job.id, 'blue']]);
  },
  async 'The worker dies during the call'() {
    const { jobs, get } = await start('llm-calls');
    const [reached, goesOn] = [gate(), gate()];
    const ask = jest.spyOn(get('Model'), 'ask').mockImplementation((async () => {
      reached.open();
      await goesOn.promise;
      return { text: 'blue', retryAfterMs: 0 };
    }) as never);
    const job: JobHandle = await get('Questions').ask({ prompt: 'Which?', maxTokens: 10 });
    await reached.promise;
    await loseClaim(jobs, 'ask', job.id);
    goesOn.open();
    await job.result(LIMIT);
    expect(ask).toHaveBeenCalledTimes(2);
  },
  async 'The model answers 429'() {
    const { get } = await start('llm-calls');
    jest.spyOn(get('Model'), 'ask').mockResolvedValue({ text: '', retryAfterMs: 3_600_000 });
    const job: JobHandle = await get('Questions').ask({ prompt: 'Which?', maxTokens: 10 });
    await eventually(async () => (await job.get())!.rateLimited === 1);
    expect(await job.get()).toMatchObject({ status: 'pending', attempts: 0 });
    expect(Number(await redis.hget('queue:ask:settings', 'rests_until_ms'))).toBeGreaterThan(
      Date.now() + 3_000_000,
    );
  },
  async 'The answer is long'() {
    const { get } = await start('llm-calls');
    const text = 'x'.repeat(65_537);
    jest.spyOn(get('Model'), 'ask').mockResolvedValue({ text, retryAfterMs: 0 });
    const job: JobHandle = await get('Questions').ask({ prompt: 'Which?', maxTokens: 10 });
    await eventually(async () => (await job.get())!.errors > 0 || (await statusOf(job)) === 'failed');
    expect((await job.get())!.lastError).toContain('65536');
  },
};

/** Resolves once the job waits for a signal. */
const waits = (job: JobHandle) =>
  eventually(async () => (await job.get())!.status === 'scheduled' && (await job.get())!.waits !== undefined);

/** Starts the recipe of the link, with an order that waits for its answer. */
async function startOrder() {
  process.env.LINK_SECRET = 'secret';
  const started = await start<Recipe & { tokenOf(id: string, answer: string): string }>('approval-link');
  const { jobs, get, url, exports } = started;
  const [ask, buy] = [jest.spyOn(get('Mailer'), 'ask'), jest.spyOn(get('Shop'), 'buy')];
  const answer = async (job: JobHandle, word: string, token = exports.tokenOf(job.id, word)) => {
    const reply = await fetch(`${url}/orders/${encodeURIComponent(job.id)}/${word}/${token}`, { method: 'POST' });
    return reply.text();
  };
  const enqueue = (): Promise<JobHandle> => jobs.enqueue('order', { item: 'a desk', boss: 'b' });
  return { jobs, ask, buy, answer, enqueue };
}

const approvalLink: Record<string, Bullet> = {
  async 'The link is opened twice, or both links are'() {
    const { buy, answer, enqueue } = await startOrder();
    const job = await enqueue();
    await waits(job);
    expect(await answer(job, 'yes')).toBe('Thank you.');
    expect(['This order was answered before.', 'This order is closed.']).toContain(await answer(job, 'no'));
    expect([await job.result(LIMIT), buy.mock.calls.length]).toEqual(['bought', 1]);
    expect(await answer(job, 'yes')).toBe('This order was answered before.');
  },
  async 'The answer comes before the job waits'() {
    const { jobs, answer, enqueue } = await startOrder();
    jobs.pauseWorker('order');
    const job = await enqueue();
    expect(await answer(job, 'no')).toBe('Thank you.');
    jobs.resumeWorker('order');
    expect(await job.result(LIMIT)).toBe('refused');
  },
  async 'Nobody answers'() {
    const { jobs, answer, enqueue, buy } = await startOrder();
    const job = await enqueue();
    await waits(job);
    const stored = (await redis.hget(`queue:order:job:${job.id}`, 'waits'))!;
    await redis.hset(`queue:order:job:${job.id}`, 'waits', stored.replace(/\t\d+\t\n/, '\t1\t\n'));
    expect(await answer(job, 'yes')).toBe('This order is closed.');
    for (const part of ['scheduled', 'awaiting_signals']) await redis.zadd(`queue:order:${part}`, 'XX', 1, job.id);
    expect([await job.result(LIMIT), buy.mock.calls.length]).toEqual(['refused', 0]);
    await jobs.queue('order').remove(job.id); // as its lifetime does after a day
    expect(await answer(job, 'yes')).toBe('This order is closed.');
  },
  async 'The worker dies after the answer'() {
    const { jobs, ask, buy, answer, enqueue } = await startOrder();
    const job = await enqueue();
    await waits(job);
    jobs.pauseWorker('order');
    await answer(job, 'yes');
    await eventually(async () => (await jobs.queue('order').claim({ worker: 'that-dies' })) !== null);
    await loseClaim(jobs, 'order', job.id);
    jobs.resumeWorker('order');
    expect(await job.result(LIMIT)).toBe('bought');
    expect([ask.mock.calls.length, buy.mock.calls]).toEqual([1, [['a desk', `order:${job.id}:buy`]]]);
  },
  async 'Somebody makes a link'() {
    const { answer, enqueue } = await startOrder();
    const job = await enqueue();
    await waits(job);
    expect(await answer(job, 'yes', 'made-up')).toContain('This link is not valid.');
    expect((await job.get())!.signals).toBeUndefined();
  },
};

/** Starts the recipe of the outbox with tables of its own. */
async function startOutbox() {
  process.env.DATABASE_URL = `file:${join(folder, `${Math.random()}.db`)}`;
  const database = createClient({ url: process.env.DATABASE_URL });
  await database.executeMultiple(
    `${outboxSql('sqlite').join(';')}; CREATE TABLE orders (name text); CREATE TABLE receipts (name text);`,
  );
  database.close();
  const started = await start<Recipe & { database: Client }>('outbox');
  open.unshift(() => started.exports.database.close());
  const names = async (table: string) =>
    (await started.exports.database.execute(`SELECT name FROM ${table}`)).rows.map(({ name }) => name);
  return { ...started, names };
}

const outbox: Record<string, Bullet> = {
  async 'The transaction rolls back'() {
    const { get, jobs, names } = await startOutbox();
    await expect(get('Orders').place('refused', false)).rejects.toThrow('the card was refused');
    await get('Orders').place('paid', true);
    await eventually(async () => (await names('receipts')).length === 1);
    expect([await names('orders'), await names('receipts')]).toEqual([['paid'], ['paid']]);
    expect((await jobs.queue('receipt').stats()).totals.enqueued).toBe(1);
  },
  async 'The app dies after the commit'() {
    const { get, app } = await startOutbox();
    const database = process.env.DATABASE_URL;
    await get('Orders').place('paid', true);
    await app.close(); // whether its relay has sent the row or not
    process.env.DATABASE_URL = database;
    const next = await start<Recipe & { database: Client }>('outbox');
    open.unshift(() => next.exports.database.close());
    await eventually(async () => (await next.jobs.queue('receipt').stats()).totals.completed === 1);
    expect((await next.jobs.queue('receipt').stats()).totals.enqueued).toBe(1);
  },
  async 'Redis is away'() {
    const shared = process.env.REDIS_URL;
    const own = await startOwnRedis();
    process.env.REDIS_URL = own.url;
    open.push(() => (process.env.REDIS_URL = shared));
    const { get, names } = await startOutbox();
    await own.kill();
    await get('Orders').place('paid', true);
    expect(await names('orders')).toEqual(['paid']);
    await own.restart();
    await eventually(async () => (await names('receipts')).length === 1, { timeoutMs: 60_000 });
  },
  async 'The receipt runs twice'() {
    const { get, jobs, names } = await startOutbox();
    const { handle } = get('ReceiptHandler') as { handle(job: unknown): Promise<void> };
    const [done, goesOn] = [gate(), gate()];
    jest.spyOn(get('ReceiptHandler'), 'handle').mockImplementationOnce((async (job: unknown) => {
      await handle.call(get('ReceiptHandler'), job);
      done.open();
      await goesOn.promise;
    }) as never);
    await get('Orders').place('paid', true);
    await done.promise;
    const id = (await jobs.queue('receipt').list('processing'))[0]!.id;
    await loseClaim(jobs, 'receipt', id);
    goesOn.open();
    await jobs.result('receipt', id, LIMIT);
    expect(await names('receipts')).toEqual(['paid']);
  },
};

const pdfFanOut: Record<string, Bullet> = {
  async 'A page fails for good'() {
    const { jobs, get } = await start('pdf-fan-out');
    const render = jest.spyOn(get('PageHandler'), 'handle');
    const batch = await get('Reports').print('april', ['a', '', 'c']);
    expect(await batch.wait(LIMIT)).toMatchObject({ completed: 2, failed: 1 });
    expect(await jobs.result('bind-report', '@batch:april:on_failure', LIMIT)).toBe('april: 1 pages failed');
    expect(await jobs.get('bind-report', '@batch:april:then')).toBeNull();
    expect(render).toHaveBeenCalledTimes(3);
  },
  async 'A worker dies'() {
    const { jobs, get } = await start('pdf-fan-out');
    jobs.pauseWorker('render-page');
    const batch = await get('Reports').print('march', ['a', 'b']);
    await eventually(async () => (await jobs.queue('render-page').claim({ worker: 'that-dies' })) !== null);
    const id = (await jobs.queue('render-page').list('processing'))[0]!.id;
    await loseClaim(jobs, 'render-page', id);
    jobs.resumeWorker('render-page');
    expect(await batch.wait(LIMIT)).toMatchObject({ completed: 2, total: 2 });
  },
  async 'The app dies before `seal()`'() {
    const { jobs, get } = await start('pdf-fan-out');
    const render = jest.spyOn(get('PageHandler'), 'handle');
    const { batch: make } = jobs;
    jest.spyOn(jobs, 'batch').mockImplementationOnce(((options: never) => {
      const batch = make.call(jobs, options);
      jest.spyOn(batch, 'seal').mockRejectedValue(new Error('the process is gone'));
      return batch;
    }) as never);
    await expect(get('Reports').print('march', ['a', 'b'])).rejects.toThrow('the process is gone');
    await eventually(async () => (await jobs.findBatch('bind-report', 'march').status()).completed === 2);
    const batch = await get('Reports').print('march', ['a', 'b']);
    expect(await batch.wait(LIMIT)).toMatchObject({ total: 2, completed: 2 });
    expect(await jobs.result('bind-report', '@batch:march:then', LIMIT)).toEqual({
      file: 'march.pdf',
      files: ['march/0.pdf', 'march/1.pdf'],
    });
    expect(render).toHaveBeenCalledTimes(2);
  },
  async 'The user prints twice'() {
    const { jobs, get } = await start('pdf-fan-out');
    const render = jest.spyOn(get('PageHandler'), 'handle');
    await (await get('Reports').print('march', ['a', 'b'])).wait(LIMIT);
    await jobs.result('bind-report', '@batch:march:then', LIMIT);
    await (await get('Reports').print('march', ['a', 'b'])).wait(LIMIT);
    await (await get('Reports').print('march-2', ['a'])).wait(LIMIT);
    expect(render).toHaveBeenCalledTimes(3);
  },
  async 'The user gives up'() {
    const { jobs, get } = await start('pdf-fan-out');
    const aborted: boolean[] = [];
    const reached = gate();
    jobs.setConcurrency('render-page', 1);
    jest.spyOn(get('PageHandler'), 'handle').mockImplementation((async ({ signal }: { signal: AbortSignal }) => {
      reached.open();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      aborted.push(signal.aborted);
      signal.throwIfAborted();
    }) as never);
    const batch = await get('Reports').print('march', ['a', 'b', 'c']);
    await reached.promise;
    await batch.cancel();
    expect(await batch.wait(LIMIT)).toMatchObject({ open: 0, cancelled: 3 });
    expect(aborted).toEqual([true]);
  },
};

const ADMIN = { authorization: 'Bearer of the support' };

const readOnlyAdmin: Record<string, Bullet> = {
  async 'Somebody sends an action anyway'() {
    process.env.SUPPORT_TOKEN = 'of the support';
    const { jobs, url } = await start('read-only-admin');
    const job = await jobs.enqueue('letter', { order: '17', address: '1 High Street' });
    await expect(job.result(LIMIT)).rejects.toThrow('no printer');
    const { status } = await fetch(`${url}/support/queues/api/jobs/act`, {
      method: 'POST',
      headers: { ...ADMIN, 'content-type': 'application/json', 'x-job-queue-dashboard': '1' },
      body: JSON.stringify({ action: 'redrive', queue: 'letter', state: 'failed', ids: [job.id] }),
    });
    expect([status, await statusOf(job)]).toEqual([403, 'failed']);
  },
  async 'Nobody set `SUPPORT_TOKEN`'() {
    delete process.env.SUPPORT_TOKEN;
    const { url } = await start('read-only-admin');
    for (const authorization of ['Bearer undefined', 'Bearer ', '']) {
      expect((await fetch(`${url}/support/queues`, { headers: { authorization } })).status).toBe(403);
    }
  },
  async 'A field with another name has the address'() {
    process.env.SUPPORT_TOKEN = 'of the support';
    const { jobs, url } = await start('read-only-admin');
    const job = await jobs.enqueue('letter', { order: '17', address: 'hidden', street: 'shown' });
    await expect(job.result(LIMIT)).rejects.toThrow('no printer');
    const read = await fetch(`${url}/support/queues/api/job?queue=letter&id=${job.id}`, { headers: ADMIN });
    const text = await read.text();
    expect([text.includes('hidden'), text.includes('shown')]).toEqual([false, true]);
  },
};

const tenantFairness: Record<string, Bullet> = {
  async 'An export fails'() {
    const { jobs, get } = await start('tenant-fairness');
    await jobs.pause('export');
    const order: string[] = [];
    jest.spyOn(get('ExportHandler'), 'handle').mockImplementation((async (job: {
      payload: { report: string };
      attempt: number;
    }) => {
      order.push(job.payload.report);
      if (job.payload.report === 'fails' && job.attempt === 1) throw new Error('no');
    }) as never);
    jobs.setConcurrency('export', 1);
    const failing: JobHandle = await get('Exports').request('a', 'fails');
    const rest: JobHandle[] = [await get('Exports').request('a', 'a2'), await get('Exports').request('b', 'b1')];
    await jobs.resume('export');
    await Promise.all(rest.map((each) => each.result(LIMIT)));
    await runNow(jobs, 'export', failing);
    await failing.result(LIMIT);
    expect([order[0], order.at(-1), order.length]).toEqual(['fails', 'fails', 4]);
  },
  async 'A tenant floods the queue'() {
    const { jobs, get } = await start('tenant-fairness');
    await jobs.pause('export');
    await jobs.enqueueMany(
      'export',
      Array.from({ length: 1_000 }, () => ({ payload: { report: 'r' }, group: 'tenant-7' })),
    );
    await expect(get('Exports').request('tenant-7', 'one more')).rejects.toMatchObject({ status: 429 });
    expect((await get('Exports').request('tenant-8', 'r')).outcome).toBe('new');
  },
  async 'A tenant causes trouble'() {
    const { jobs, get } = await start('tenant-fairness');
    await jobs.queue('export').groups.pause('tenant-7');
    const held: JobHandle = await get('Exports').request('tenant-7', 'r');
    await (await get('Exports').request('tenant-8', 'r')).result(LIMIT);
    expect(await statusOf(held)).toBe('pending');
    await jobs.queue('export').groups.resume('tenant-7');
    expect(await held.result(LIMIT)).toBe('tenant-7/r.csv');
  },
};

const BULLETS: Record<string, Record<string, Bullet>> = {
  'rate-limited-api': rateLimitedApi,
  'digest-mail': digestMail,
  'latest-state': latestState,
  'approval-link': approvalLink,
  webhooks,
  'chain-across-queues': chain,
  'import-with-progress': importWithProgress,
  'llm-calls': llmCalls,
  outbox,
  'pdf-fan-out': pdfFanOut,
  'read-only-admin': readOnlyAdmin,
  'tenant-fairness': tenantFairness,
};

/** Returns the bullets of a page, by what stands in bold. */
function bulletsOf(page: string): string[] {
  const [, section = ''] = readFileSync(new URL(page, PAGES), 'utf8').split('## What happens when it fails\n');
  return [...section.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, title]) => title!);
}

it('each bullet of each recipe is driven here', () => {
  const pages = readdirSync(PAGES);
  const said = pages.map((page) => [page.replace('.md', ''), bulletsOf(page)]);
  expect(Object.fromEntries(said)).toEqual(
    Object.fromEntries(Object.entries(BULLETS).map(([page, bullets]) => [page, Object.keys(bullets)])),
  );
});

describe.each(Object.entries(BULLETS))('%s', (_page, bullets) => {
  it.each(Object.entries(bullets))('%s', (_title, bullet) => bullet(), 120_000);
});
