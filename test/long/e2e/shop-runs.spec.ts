// What a run of the shop leaves behind, prints, and costs.
import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { buildShop, startProcess, type ShopProcess } from '../../support/browser/shop.js';
import { patiently, sleep } from '../../support/faults/wait.js';

// Whole apps are started, on a machine that also runs the other tests.
jest.setTimeout(60_000);

const MAIN = ['examples/shop/dist/main.js'];
let tmp: string;
let redis: Redis;
let url: string;

beforeAll(async () => {
  buildShop();
  tmp = mkdtempSync(join(tmpdir(), 'shop-runs-'));
  const server = await startOwnRedis();
  redis = connect({}, server.url);
  url = server.url;
}, 180_000);

afterAll(() => rm(tmp, { recursive: true, force: true }));

const env = () => ({ REDIS_URL: url, TMPDIR: tmp, PORT: '0' });

async function opened(shop: ShopProcess): Promise<string> {
  return (await shop.prints(/The shop is open: (\S+)\/\?token=/))[1]!;
}

async function post(shop: string, path: string, form: Record<string, string>): Promise<void> {
  const { status } = await fetch(shop + path, { method: 'POST', body: new URLSearchParams(form) });
  expect([path, status]).toEqual([path, path === '/mails' ? 202 : 200]);
}

const mails = async (shop: string) => (await (await fetch(`${shop}/mails`)).json()) as { subject: string }[];

describe('a run', () => {
  it('has a folder of its own, which two runs do not share, and removes it at its end', async () => {
    const [one, two] = ['one', 'two'].map((queue) => startProcess('node', [...MAIN, '--queue-name', queue], env()));
    const [first, second] = [await opened(one!), await opened(two!)];
    expect(readdirSync(tmp)).toHaveLength(2);
    await post(first, '/workers/start', { size: '1', work_latency_ms: '0' });
    await post(first, '/mails', { to: 'ada@example.com', subject: 'Only here' });
    await patiently(async () => (await mails(first)).length === 1, { timeoutMs: 20_000 });
    expect(await mails(second)).toEqual([]);
    expect([await one!.kill('SIGTERM'), await two!.kill('SIGTERM')]).toEqual([0, 0]);
    expect(readdirSync(tmp)).toEqual([]);
  });

  it('takes an empty PORT as none', async () => {
    const shop = startProcess('node', [...MAIN, '--queue-name', 'no-port'], { ...env(), PORT: '' });
    expect(await opened(shop)).toMatch(/^http:/);
    expect(await shop.kill('SIGTERM')).toBe(0);
  });

  it('answers 503 while Redis is full, and says that nothing was written', async () => {
    const full = await startOwnRedis();
    const shop = startProcess('node', [...MAIN, '--queue-name', 'full'], { ...env(), REDIS_URL: full.url });
    const address = await opened(shop);
    await connect({}, full.url).config('SET', 'maxmemory', '1');
    const body = new URLSearchParams({ to: 'ada@example.com', subject: 'No room' });
    const answer = await fetch(`${address}/mails`, { method: 'POST', body });
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('Redis is out of memory (maxmemory). Nothing was written.');
    await shop.kill('SIGKILL');
  });

  it('leaves alone the folder that SHOP_DATA names', async () => {
    const folder = mkdtempSync(join(tmp, 'data-'));
    const shop = startProcess('node', MAIN, { ...env(), SHOP_DATA: folder });
    await opened(shop);
    expect(await shop.kill('SIGTERM')).toBe(0);
    expect(existsSync(folder)).toBe(true);
    await rm(folder, { recursive: true });
  });

  it('by hand: a worker started by the printed command makes files that the shop shows', async () => {
    const shop = startProcess('node', [...MAIN, '--queue-name', 'by-hand'], env());
    const address = await opened(shop);
    const [, folder] = await shop.prints(/SHOP_DATA=(\S+) npm run start:worker/);
    await post(address, '/mails', { to: 'ada@example.com', subject: 'By hand' });
    const more = { ...env(), SHOP_QUEUE: 'by-hand', SHOP_DATA: folder! };
    const worker = startProcess('node', ['examples/shop/dist/worker.js'], more);
    await patiently(async () => (await mails(address))[0]?.subject === 'By hand', { timeoutMs: 20_000 });
    expect(await worker.kill('SIGTERM')).toBe(0);
    expect(await shop.kill('SIGTERM')).toBe(0);
  });
});

describe('the output', () => {
  it('at --help is how to use it, and no server starts', async () => {
    for (const flag of ['--help', '-h']) {
      const shop = startProcess('node', [...MAIN, flag], env());
      expect(await shop.exited).toBe(0);
      expect(shop.output).toMatch(/^Usage: main\.js \[flags\]\n {2}--host HOST/);
      expect(shop.output).not.toContain('The shop is open');
    }
  });

  it('warns of the persistence of a Redis of yours, and not of one that was started for the run alone', async () => {
    expect(await outputOfStart(env())).toContain('persistence: expected appendonly yes');
    expect(await outputOfStart({ TMPDIR: tmp, PORT: '0' })).not.toMatch(/WARN|ERROR/);
  });

  it('of a job is a line, whatever a visitor wrote into it', async () => {
    const shop = startProcess('node', [...MAIN, '--queue-name', 'log'], env());
    const address = await opened(shop);
    await post(address, '/workers/start', { size: '1', work_latency_ms: '0' });
    const subject = `a\u001b[2Jb\r\nc\u202e${'x'.repeat(180)}`;
    await post(address, '/mails', { to: 'ada@example.com', subject });
    await shop.prints(/sent "a\\u001b\[2Jb\\u000d\\u000ac\\u202ex+" to ada@example\.com/);
    expect(await shop.kill('SIGTERM')).toBe(0);
  });
});

describe('the seeded dashboard of npm start', () => {
  const token = 'seeded-dashboard-of-a-test';
  const SEEDED = ['backup', 'export', 'newsletter', 'payment', 'search-index'];
  const variables = { TMPDIR: '', PORT: '0', JOB_QUEUE_LINK_TOKEN: token };

  async function queuesOf(shop: string) {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${shop}/queues/api/overview`, { headers });
    const { overview } = (await answer.json()) as {
      overview: { queues: { name: string; verdict: { sentence: string } }[] };
    };
    return new Map(overview.queues.map(({ name, verdict }) => [name, verdict.sentence]));
  }

  it('has five queues in trouble or not, which the shop itself does not report', async () => {
    const shop = startWithRedis({ ...variables, TMPDIR: tmp }, '--workers', '1', '--seeds');
    const address = await opened(shop);
    // Nothing but the link and how to use it.
    expect(shop.output.slice(0, shop.output.indexOf('The shop is open')).trim()).toBe('');
    const said = async (name: string) => (await queuesOf(address)).get(name);
    await patiently(async () => /failing/.test((await said('payment'))!), { timeoutMs: 30_000 });
    expect([...(await queuesOf(address)).keys()].toSorted()).toEqual(['jobs', 'report', ...SEEDED].toSorted());
    expect(await said('newsletter')).toMatch(/is stuck: 240 waiting for 1[89] min, no worker/);
    expect(await said('export')).toMatch(/paused by grace/);
    const [health, jobs, stats] = await Promise.all(
      ['/health', '/jobs', '/stats'].map(async (path) => (await fetch(address + path)).json()),
    );
    expect(health).toMatchObject({ status: 'ok' });
    expect(jobs).toEqual({ pending: [], processing: [], completed: [], failed: [] });
    expect(stats).toMatchObject({ enqueued_total: 0, failed_total: 0 });
    await shop.prints(/All 1 worker processes run/);
    await post(address, '/reset', {});
    expect(await said('newsletter')).toMatch(/stuck: 240 waiting/);
    expect(await shop.kill('SIGTERM')).toBe(0);
    expect(shop.output).not.toMatch(/WARN|ERROR|newsletter|payment/);
  });

  it('is not made on a Redis of yours', async () => {
    const shop = startProcess('node', [...MAIN, '--seeds', '--queue-name', 'mine'], {
      ...env(),
      ...variables,
      TMPDIR: tmp,
    });
    const address = await opened(shop);
    const names = [...(await queuesOf(address)).keys()];
    expect(names).toEqual(expect.arrayContaining(['mine', 'report']));
    expect(names).not.toContain('newsletter'); // a seeded one
    expect(await shop.kill('SIGTERM')).toBe(0);
  });
});

describe('the live stream', () => {
  const watchers = new AbortController();
  afterAll(() => watchers.abort());

  it('asks Redis no more often for a hundred pages than for one', async () => {
    const shop = startProcess('node', [...MAIN, '--queue-name', 'watched'], env());
    const address = await opened(shop);
    await watch(address, watchers.signal);
    const one = await commands();
    await Promise.all(Array.from({ length: 99 }, () => watch(address, watchers.signal)));
    const hundred = await commands();
    expect(hundred).toBeLessThan(one * 1.5);
    expect(await shop.kill('SIGTERM')).toBe(0);
  });
});

/** Counts the commands that Redis runs within two seconds. */
async function commands(): Promise<number> {
  const before = await commandsSoFar();
  await sleep(2_000);
  return (await commandsSoFar()) - before;
}

async function commandsSoFar(): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))![1]);
}

/** Opens a stream and reads it to nowhere. */
async function watch(shop: string, signal: AbortSignal): Promise<void> {
  const { body } = await fetch(`${shop}/live`, { signal });
  const drain = async () => {
    for await (const _ of body!) continue;
  };
  drain().catch(() => {});
}

/** Returns the output of a start as by `npm start`, with these variables and without REDIS_URL. */
async function outputOfStart(variables: Record<string, string>): Promise<string> {
  const shop = startWithRedis(variables);
  await opened(shop);
  expect(await shop.kill('SIGTERM')).toBe(0);
  return shop.output;
}

/** Starts the shop as `npm start` does, with these variables and without REDIS_URL. */
function startWithRedis(variables: Record<string, string>, ...flags: string[]): ShopProcess {
  const { REDIS_URL: _, ...inherited } = process.env as Record<string, string>;
  const all = Object.entries({ ...inherited, ...variables }).map(([name, value]) => `${name}=${value}`);
  const command = ['scripts/redis/with-redis.mjs', '--quiet', 'node', ...MAIN, ...flags];
  return startProcess('env', ['-i', ...all, 'node', ...command], {});
}
