import { createHmac } from 'node:crypto';
import { createConnection } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from 'nest-job-queue';
import sharp from 'sharp';
import { expectAwayAnswers } from '../../support/faults/away-answers.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { buildShop, shopData, startProcess, type ShopProcess } from '../../support/browser/shop.js';
import { patiently } from '../../support/faults/wait.js';
import { startReceiver } from '../../support/browser/webhook-receiver.js';

const SECRET = 'secret of the test';
/** The shop's shutdownTimeoutMs is 5,000; npm and the closing of the app take the rest. */
const SHUTDOWN_MS = 8_000;

// Whole apps are started, on a machine that also runs the other tests.
jest.setTimeout(60_000);

let env: Record<string, string>;
let redis: Redis;
let jobs: JobQueue;

/** Starts a server of its own, because the shop's queue is always called `jobs`. */
async function freshRedis() {
  const server = await startOwnRedis();
  env = { REDIS_URL: server.url, SHOP_DATA: shopData(), WEBHOOK_SECRET: SECRET, PORT: '0' };
  redis = connect({}, server.url);
  jobs = new JobQueue(redis, 'jobs');
}

async function startWorker(command: string, ...args: string[]) {
  const worker = startProcess(command, args, env);
  await worker.prints(/Worker \S+ serves jobs/);
  return worker;
}

async function expectNothingClaimed() {
  expect(await redis.llen('queue:jobs:processing')).toBe(0);
  expect(await redis.zcard('queue:jobs:claims')).toBe(0);
}

async function timed(action: () => Promise<unknown>) {
  const startedAt = performance.now();
  return { value: await action(), ms: performance.now() - startedAt };
}

beforeAll(() => buildShop(), 180_000);

describe('the shop over HTTP', () => {
  let shop: ShopProcess;
  let url: string;

  beforeAll(async () => {
    await freshRedis();
    // What `npm start` runs once all is built.
    shop = startProcess('node', ['scripts/redis/with-redis.mjs', 'npm', 'run', 'start:shop'], env);
    url = (await shop.prints(/The shop is open: (\S+)\/\?token=/))[1]!;
  });

  afterAll(() => jobs.close());

  /** POSTs as `curl -d` does, and waits for the job. */
  async function post(path: string, body: Record<string, string>, queue = jobs) {
    const response = await fetch(url + path, { method: 'POST', body: new URLSearchParams(body) });
    expect(response.status).toBe(202);
    const { id, job, output } = (await response.json()) as { id: string; job: string; output: string };
    expect(job).toBe(`/jobs/${id}`);
    const result = await queue.result(id, { timeoutMs: 15_000 });
    const view = await getJson(job);
    expect(view).toMatchObject({ id, status: 'completed', result });
    return { id, output, view, result };
  }

  async function configure(form: Record<string, string>) {
    const response = await fetch(`${url}/workers/configure`, { method: 'POST', body: new URLSearchParams(form) });
    expect(response.status).toBe(200);
  }

  async function getJson(path: string): Promise<Record<string, unknown>> {
    const response = await fetch(url + path);
    expect(response.status).toBe(200);
    return (await response.json()) as Record<string, unknown>;
  }

  it('runs a job of each kind at once', async () => {
    await shop.prints(/EmailHandler.*sent "Welcome" to ada@example\.com/);
    await shop.prints(/WebhookHandler.*shop\.opened, attempt 1, answered 204/);
    await shop.prints(/ThumbnailHandler.*mug, 200 × 150/);
    await shop.prints(/InvoiceHandler.*for Ada Lovelace/);
    await shop.prints(/ReportHandler.*2025/);
    // What follows needs no time to be seen.
    await configure({ work_latency_ms: '0' });
  });

  it('sends a mail that arrives', async () => {
    const mail = { to: 'grace@example.com', subject: 'Ünïcode', text: 'Hello\nGrace' };
    const { id, output, result } = await post('/mails', mail);
    expect(result).toMatchObject({ messageId: `<${id}@shop.example>` });
    const arrived = { ...mail, id, text: 'Hello\nGrace\n', from: 'shop@shop.example' };
    expect(await getJson(output)).toMatchObject(arrived);
    expect(await getJson('/mails')).toContainEqual(expect.objectContaining(arrived));
  });

  it('delivers a webhook whose signature the receiver verified', async () => {
    const { id, output, view } = await post('/webhooks', { event: 'order.paid' });
    expect(view).toMatchObject({ attempts: 1, errors: [], result: { status: 204 } });
    expect(await getJson(output)).toMatchObject({
      id,
      event: 'order.paid',
      attempt: 1,
      signature: expect.stringMatching(/^t=/),
    });
  });

  it('refuses a webhook that is not signed, or not by the shop, or long ago', async () => {
    const body = JSON.stringify({ id: 'forged', event: 'order.paid', data: {}, attempt: 1, failTimes: 0 });
    const now = Date.now();
    const signatures = {
      none: undefined,
      nonsense: 'v1=zz',
      'of another secret': signature(body, now, 'another'),
      'of another body': signature(`${body} `, now),
      'of yesterday': signature(body, now - 86_400_000),
    };
    for (const [which, header] of Object.entries(signatures)) {
      const headers = { 'content-type': 'application/json', ...(header && { 'x-shop-signature': header }) };
      const response = await fetch(`${url}/webhooks/receiver`, { method: 'POST', body, headers });
      expect([which, response.status]).toEqual([which, 401]);
    }
    expect((await fetch(`${url}/webhooks/forged`)).status).toBe(404);
  });

  it('tries a failing webhook again, with backoff', async () => {
    const { output, view } = await post('/webhooks', { event: 'order.paid', failTimes: '2' });
    const message = 'the receiver answered 503';
    expect(view).toMatchObject({
      attempts: 3,
      errors: [
        { attempt: 1, outcome: 'error', message },
        { attempt: 2, outcome: 'error', message },
      ],
    });
    // 250 ms and 500 ms, less the jitter of a fifth.
    const took = Date.parse(String(view.completedAt)) - Date.parse(String(view.enqueuedAt));
    expect(took).toBeGreaterThanOrEqual(600);
    expect(await getJson(output)).toMatchObject({ attempt: 3 });
  });

  it('makes a thumbnail of the size asked for', async () => {
    const { output, result } = await post('/thumbnails', { product: 'poster', width: '320' });
    expect(result).toMatchObject({ width: 320, height: 240 });
    const response = await fetch(url + output);
    expect(response.headers.get('content-type')).toBe('image/webp');
    const { width, height, format } = await sharp(await response.arrayBuffer()).metadata();
    expect({ width, height, format }).toEqual({ width: 320, height: 240, format: 'webp' });
  });

  it('draws an invoice as a PDF', async () => {
    const { output, result } = await post('/invoices', { customer: 'Grace' });
    const response = await fetch(url + output);
    expect(response.headers.get('content-type')).toBe('application/pdf');
    const pdf = Buffer.from(await response.arrayBuffer());
    expect(pdf.subarray(0, 4).toString()).toBe('%PDF');
    expect(result).toEqual({ totalCents: 1_250, bytes: pdf.length });
  });

  it('makes a report in a queue of its own', async () => {
    const { output, view } = await post('/reports', { year: '2024' }, new JobQueue(redis, 'report'));
    expect(view).toMatchObject({ queue: 'report', progress: { month: 12, of: 12 } });
    const lines = (await (await fetch(url + output)).text()).trim().split('\n');
    expect(lines).toHaveLength(13);
    expect(lines[1]).toMatch(/^2024-01,\d+,\d+$/);
    const events = await (await fetch(`${url}${output}/lines`)).text();
    expect([...events.matchAll(/^data: (\d.*)$/gm)].map(([, line]) => line)).toEqual(lines.slice(1));
    expect(events).toMatch(/^event: result\n/m);
  });

  it('refuses a bad body before anything is enqueued', async () => {
    const before = (await jobs.stats()).totals.enqueued;
    const bodies = [
      ['/mails', 'to=nobody', /^to: /],
      ['/webhooks', 'event=<b>', /^event: /],
      ['/thumbnails', 'width=100000', /^width: /],
      ['/invoices', '', /^customer: /],
      ['/reports', 'colour=red', /^body: .*"colour"/],
    ] as const;
    for (const [path, body, complaint] of bodies) {
      const response = await fetch(url + path, { method: 'POST', body: new URLSearchParams(body) });
      expect([path, response.status]).toEqual([path, 400]);
      expect(await response.json()).toMatchObject({ message: [expect.stringMatching(complaint)] });
    }
    expect((await jobs.stats()).totals.enqueued).toBe(before);
  });

  it('answers 404 for an unknown id, however odd', async () => {
    for (const path of ['/jobs/none', '/mails/none', '/invoices/..%2f..%2fetc%2fpasswd', '/thumbnails/%00']) {
      expect([path, (await fetch(url + path)).status]).toEqual([path, 404]);
    }
  });

  it('is healthy', async () => {
    expect(await getJson('/health')).toMatchObject({ status: 'ok', info: { jobs: { status: 'up' } } });
  });

  it('takes a free port where the wanted one is taken', async () => {
    const { port } = new URL(url);
    const second = startProcess('node', ['examples/shop/dist/main.js'], { ...env, PORT: port });
    const [, url2] = await second.prints(/The shop is open: (\S+)\/\?token=/);
    expect(second.output).toContain(`Port ${port} is taken`);
    expect(url2).not.toBe(url);
    expect((await fetch(`${url2}/health`)).status).toBe(200);
    expect(await second.kill('SIGTERM')).toBe(0);
  });

  it('exits with 0 at SIGTERM, in time, in the middle of work, with nothing left claimed', async () => {
    await configure({ work_latency_ms: '400' });
    const receiver = await startReceiver();
    const held = await jobs.enqueue(webhookTo(receiver.url), { name: 'webhook' });
    const delivery = await receiver.next();
    await jobs.enqueueMany(
      Array.from({ length: 100 }, () => ({ payload: { product: 'mug', width: 50 }, name: 'thumbnail' })),
    );
    const { value, ms } = await timed(() => shop.kill('SIGTERM'));
    expect(value).toBe(0);
    expect(ms).toBeLessThan(SHUTDOWN_MS);
    await expectNothingClaimed();
    // The receiver never answered: the attempt was cut off, and is not counted.
    await delivery.aborted;
    expect(await held.get()).toMatchObject({ status: 'pending', attempts: 0, interruptions: 1 });
    expect((await jobs.stats()).failed).toBe(0);
  });
});

describe('the shop', () => {
  const main = ['examples/shop/dist/main.js'];

  it('starts without Redis, serves, and enqueues its first jobs when Redis is there', async () => {
    const server = await startOwnRedis();
    await server.kill('SIGKILL');
    const away = { REDIS_URL: server.url, SHOP_DATA: shopData(), PORT: '0' };
    const shop = startProcess('node', [...main, '--first-jobs'], away);
    const [, url] = await shop.prints(/The shop is open: (\S+)\/\?token=/);
    await shop.prints(/the first jobs are enqueued when it is there/);
    // One of them takes as long as an enqueue is tried.
    await expectAwayAnswers(url!);
    await server.restart();
    const queue = new JobQueue(connect({}, server.url), 'jobs');
    // The workers that were asked for meanwhile may have run them already.
    await patiently(async () => (await queue.stats()).totals.enqueued === 4, { timeoutMs: 20_000 });
    expect(await shop.kill('SIGTERM')).toBe(0);
  });

  it('listens on loopback alone, whatever HOST the shell exports', async () => {
    await freshRedis();
    const shop = startProcess('node', main, { ...env, HOST: '0.0.0.0' });
    const [, port] = await shop.prints(/The shop is open: http:\/\/127\.0\.0\.1:(\d+)/);
    // The other names of this machine, where one that listens everywhere answers.
    for (const address of ['127.0.0.2', ...outsideAddresses()]) {
      expect([address, await reaches(address, Number(port))]).toEqual([address, 'ECONNREFUSED']);
    }
    expect(await reaches('127.0.0.1', Number(port))).toBe('connected');
  });

  it('is governed, and delivers its webhooks, wherever it listens', async () => {
    // Only Linux has all of 127.0.0.0/8.
    const second = process.platform === 'linux' ? ['127.0.0.2'] : [];
    await Promise.all(['::1', ...second, ...outsideAddresses().slice(0, 1)].map(delivers));
  });

  it('puts its workers under conditions that are set while they still boot', async () => {
    await freshRedis();
    const shop = startProcess('node', main, env);
    const [, url] = await shop.prints(/The shop is open: (\S+)\/\?token=/);
    const post = (path: string, form: Record<string, string>) =>
      fetch(url + path, { method: 'POST', body: new URLSearchParams(form) });
    await post('/workers/start', { size: '1', work_latency_ms: '0' });
    // The process exists but does not listen yet, so Node keeps the message until it does.
    await post('/workers/configure', { fail_rate: '1' });
    await shop.prints(/All 1 worker processes run/);
    const payload = { product: 'mug', width: 50 };
    const job = await jobs.enqueue(payload, { name: 'thumbnail', maxAttempts: 1 });
    await expect(job.result({ timeoutMs: 15_000 })).rejects.toThrow('the failure rate of the control page');
    jobs.close();
  });

  async function delivers(host: string) {
    const server = await startOwnRedis();
    const ours = { REDIS_URL: server.url, SHOP_DATA: shopData(), PORT: '0' };
    const shop = startProcess('node', [...main, '--host', host, '--first-jobs'], ours);
    const [, url] = await shop.prints(/The shop is open: (\S+)\/\?token=/);
    const post = async (path: string, form: Record<string, string>) => {
      // As a browser sends it from the shop's own page.
      const request = { method: 'POST', body: new URLSearchParams(form), headers: { origin: url! } };
      return [path, (await fetch(url + path, request)).status];
    };
    expect(await post('/workers/start', { size: '1', work_latency_ms: '0' })).toEqual(['/workers/start', 200]);
    await shop.prints(/WebhookHandler.*shop\.opened, attempt 1, answered 204/);
    expect(await post('/enqueue', { kind: 'webhook' })).toEqual(['/enqueue', 200]);
    await shop.prints(/WebhookHandler.*order\.paid, attempt 1, answered 204/);
    expect(await post('/webhooks', { event: 'order.sent' })).toEqual(['/webhooks', 202]);
    await shop.prints(/WebhookHandler.*order\.sent, attempt 1, answered 204/);
    await shop.kill('SIGKILL');
  }
});

/** Returns the addresses of this machine that others can reach. */
function outsideAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address);
}

function reaches(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port });
    socket.once('connect', () => resolve('connected'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(String(code)));
    socket.once('connect', () => socket.destroy());
  });
}

describe('a worker process', () => {
  beforeAll(freshRedis);
  afterAll(() => jobs.close());

  it('takes over the job of a killed one, and finishes its own at a stop', async () => {
    const receiver = await startReceiver();
    const first = await startWorker('npm', 'run', 'start:worker');
    const job = await jobs.enqueue(webhookTo(receiver.url), { name: 'webhook' });
    const begun = await receiver.next();
    expect(begun.headers['x-shop-signature']).toBe(
      signature(begun.body, Number(/^t=(\d+)/.exec(String(begun.headers['x-shop-signature']))![1])),
    );

    await first.kill('SIGKILL');
    await begun.aborted;
    // As if the visibility timeout had passed.
    expect(await redis.zadd('queue:jobs:claims', 'XX', 'CH', 1, job.id)).toBe(1);

    const second = await startWorker('node', 'examples/shop/dist/worker.js');
    const again = await receiver.next();
    expect(JSON.parse(again.body)).toMatchObject({ id: job.id, attempt: 2 });
    const stopped = timed(() => second.kill('SIGTERM'));
    again.answer(204);
    expect(await job.result({ timeoutMs: 10_000 })).toEqual({ status: 204 });
    const { value, ms } = await stopped;
    expect(value).toBe(0);
    expect(ms).toBeLessThan(SHUTDOWN_MS);

    expect(await job.get()).toMatchObject({ status: 'completed', attempts: 2, crashes: 1 });
    expect((await jobs.stats()).totals).toMatchObject({ completed: 1, reclaimed: 1 });
    await expectNothingClaimed();
  }, 120_000); // two workers are started, one after the other
});

function webhookTo(url: string) {
  return { url, event: 'order.paid', data: {}, failTimes: 0 };
}

function signature(body: string, time: number, secret = SECRET): string {
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
}
