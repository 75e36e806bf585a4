// A script written for the demo server of the Redis documentation's job-queue pattern, run against the shop.
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { OwnRedis } from '../../support/redis/own-redis.js';
import { startPatternDemo } from '../../support/queue/pattern-demo.js';
import { connect } from '../../support/redis/redis.js';
import { startProcess } from '../../support/browser/shop.js';
import { patiently } from '../../support/faults/wait.js';
import { ID, STATS, type Jobs, type Stats } from './pattern-shapes.js';

// Worker processes are started, on a machine that also runs the other tests.
jest.setTimeout(120_000);

let redis: OwnRedis;
let url: string;
let token: string;

beforeAll(async () => {
  ({ url, token, redis } = await startPatternDemo());
}, 180_000);

async function get<Reply>(path: string): Promise<Reply> {
  const response = await fetch(url + path);
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.json()) as Reply;
}

async function post<Reply>(path: string, form: Record<string, string> = {}): Promise<Reply> {
  const response = await fetch(url + path, { method: 'POST', body: new URLSearchParams(form) });
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.json()) as Reply;
}

/** Returns the status of the response to a form, or to a text as JSON. */
async function answerTo(path: string, body: URLSearchParams | string): Promise<number> {
  const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : undefined;
  const response = await fetch(url + path, { method: 'POST', body, headers });
  await response.text();
  return response.status;
}

/** Returns the text of the first two events of the stream: the current state, and the latest events. */
async function liveText(): Promise<string> {
  const abort = new AbortController();
  const { body } = await fetch(`${url}/live`, { signal: abort.signal });
  let text = '';
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.split('\n\n').length > 2) break;
  }
  abort.abort();
  return text;
}

describe('the demo of the pattern', () => {
  it('serves a page', async () => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    expect(response.headers.get('content-type')).toMatch(/^text\/html/);
  });

  it('counts from zero, with no workers', async () => {
    const stats = await get<Stats>('/stats');
    expect(stats).toEqual(STATS);
    expect(stats).toMatchObject({
      enqueued_total: 0,
      pending_depth: 0,
      workers_running: 0,
      worker_processed_total: 0,
    });
    expect(await get<Jobs>('/jobs')).toEqual({ pending: [], processing: [], completed: [], failed: [] });
  });

  it('enqueues 1 to 50 jobs of a kind, and lists them with exactly these fields', async () => {
    const kinds = ['email', 'webhook', 'thumbnail', 'invoice'];
    for (const kind of kinds) {
      const { enqueued, stats } = await post<{ enqueued: string[]; stats: Stats }>('/enqueue', {
        kind,
        recipient: 'alice@example.com',
        count: '2',
      });
      expect(enqueued).toEqual([ID, ID]);
      expect(stats).toEqual(STATS);
    }
    const jobs = await get<Jobs>('/jobs');
    expect(Object.keys(jobs)).toEqual(['pending', 'processing', 'completed', 'failed']);
    expect(jobs.pending).toHaveLength(8);
    expect(jobs.pending[0]).toEqual({
      id: ID,
      status: 'pending',
      attempts: 0,
      payload: expect.objectContaining({ kind: 'email', recipient: 'alice@example.com', n: 1 }),
      result: null,
      last_error: null,
    });
    expect((await post<{ enqueued: string[] }>('/enqueue')).enqueued).toHaveLength(1);
    expect((await post<{ enqueued: string[] }>('/enqueue', { count: '1000' })).enqueued).toHaveLength(50);
    await post('/reset');
  });

  it.each([
    ['count=x', 1],
    ['count=', 1],
    ['count=-3', 1],
    ['count=2.9', 2],
    ['count=%2B3', 3],
    ['count=%204', 4],
    ['count=3x', 3],
    ['count=1e1', 1],
    ['count=0x10', 1],
    ['count=3&count=5', 3],
    ['count=99999999999999999999', 50],
    [`count=${'9'.repeat(400)}`, 1],
    ['recipient=a&recipient=b', 1],
  ])('reads %s as its server for Node does', async (form, expected) => {
    const body = new URLSearchParams(form);
    const { enqueued } = (await (await fetch(`${url}/enqueue`, { method: 'POST', body })).json()) as {
      enqueued: string[];
    };
    expect(enqueued).toHaveLength(expected);
    await post('/reset');
  });

  it('starts workers, which complete the jobs', async () => {
    await post('/enqueue', { kind: 'thumbnail', recipient: 'alice@example.com', count: '3' });
    const started = await post<Stats>('/workers/start', { work_latency_ms: '0' });
    expect(started).toEqual(STATS);
    expect(started).toMatchObject({ workers_running: 2, work_latency_ms: 0, fail_rate: 0, hang_rate: 0 });
    await patiently(async () => (await get<Stats>('/stats')).worker_processed_total === 3, { timeoutMs: 40_000 });
    const { completed } = await get<Jobs>('/jobs');
    expect(completed[0]).toMatchObject({
      status: 'completed',
      attempts: 1,
      result: { width: 240 },
      last_error: null,
    });
  });

  it('takes any text as the recipient and as the kind, and completes the job', async () => {
    const { completed_total: before } = await get<Stats>('/stats');
    await post('/enqueue', { recipient: 'alice' });
    await post('/enqueue', { kind: 'fax', recipient: '+44 20 <7946> "0000"' });
    await post('/enqueue', { kind: '', recipient: '' });
    await patiently(async () => (await get<Stats>('/stats')).completed_total === before + 3, {
      timeoutMs: 40_000,
    });
    const payloads = (await get<Jobs>('/jobs')).completed.map(({ payload }) => payload);
    expect(payloads).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'email', recipient: 'alice', to: 'alice@example.com', n: 1 }),
        { kind: 'fax', recipient: '+44 20 <7946> "0000"', n: 1 },
        expect.objectContaining({ kind: 'email', recipient: 'user@example.com', n: 1 }),
      ]),
    );
  });

  it('configures workers while they run, within the bounds', async () => {
    expect(await post<Stats>('/workers/configure', { fail_rate: '1' })).toMatchObject({
      fail_rate: 1,
      hang_rate: 0,
    });
    const { enqueued } = await post<{ enqueued: string[] }>('/enqueue');
    await patiently(async () => (await get<Stats>('/stats')).failed_total === 1, { timeoutMs: 40_000 });
    const { failed } = await get<Jobs>('/jobs');
    expect(failed).toMatchObject([
      { id: enqueued[0], status: 'failed', attempts: 3, last_error: expect.any(String) },
    ]);
    expect(await post<Stats>('/workers/configure', { fail_rate: '7', hang_rate: '-1' })).toMatchObject({
      fail_rate: 1,
      hang_rate: 0,
    });
    await post('/workers/configure', { fail_rate: '0' });
  });

  it('reclaims the job of a hanging worker, once its claim has run out', async () => {
    await post('/workers/start', { size: '1', hang_rate: '1' });
    const { enqueued } = await post<{ enqueued: string[] }>('/enqueue');
    // One that has claimed it does not hang yet.
    const hangs = /hangs in the middle of Mail to user@…, order \d+/;
    await patiently(async () => hangs.test(await liveText()), { timeoutMs: 40_000 });
    // The worker that hangs is replaced; its replacement must not hang with the same job.
    await post('/workers/configure', { hang_rate: '0' });
    const { reclaimed, stats } = await patiently(
      async () => {
        const answer = await post<{ reclaimed: string[]; stats: Stats }>('/reclaim');
        return answer.reclaimed.length > 0 && answer;
      },
      { timeoutMs: 40_000 },
    );
    expect(reclaimed).toEqual(enqueued);
    expect(stats).toEqual(STATS);
    expect(stats.reclaimed_total).toBe(1);
    await patiently(async () => (await get<Stats>('/stats')).completed_total === 7, { timeoutMs: 40_000 });
  });

  it('stops workers, and resets: no jobs, no files of theirs, zero totals', async () => {
    expect(await get('/mails')).not.toEqual([]);
    expect(await post<Stats>('/workers/stop')).toMatchObject({ workers_running: 0 });
    // A worker that does not know of the stop yet may begin a job: the reset waits for it.
    await post('/enqueue', { count: '2' });
    const { stats } = await post<{ stats: Stats }>('/reset');
    expect(stats).toEqual(STATS);
    const { visibility_ms: _, work_latency_ms, fail_rate, hang_rate, ...counted } = stats;
    expect(Object.values(counted).every((count) => count === 0)).toBe(true);
    expect({ work_latency_ms, fail_rate, hang_rate }).toEqual({ work_latency_ms: 400, fail_rate: 0, hang_rate: 0 });
    expect(await get<Jobs>('/jobs')).toEqual({ pending: [], processing: [], completed: [], failed: [] });
    expect(await get('/mails')).toEqual([]);
  });

  it('releases the unfinished job of a stopped worker, and shows the release', async () => {
    await post('/workers/start', { size: '1', work_latency_ms: '60000' });
    const { enqueued } = await post<{ enqueued: string[] }>('/enqueue');
    const begun = `"job":{"id":"${enqueued[0]}"`;
    await patiently(async () => (await liveText()).includes(begun), { timeoutMs: 40_000 });
    await post('/workers/stop');
    const told = /worker-1 has stopped, and gave Mail to user@…, order 1 back unfinished\./;
    await patiently(async () => told.test(await liveText()), { timeoutMs: 40_000 });
    expect((await get<Jobs>('/jobs')).pending).toMatchObject([{ id: enqueued[0], attempts: 0 }]);
    await post('/reset');
  });

  it('counts from zero where Redis has lost its data', async () => {
    await post('/enqueue', { count: '3' });
    await post('/reset');
    const client = connect({}, redis.url);
    await client.flushall();
    for (const total of [1, 2, 3, 4]) {
      await post('/enqueue', { count: '1' });
      // The /stats in between see the totals pass what they were at the reset.
      expect(await get<Stats>('/stats')).toMatchObject({ enqueued_total: total, pending_depth: total });
    }
  });

  it('refuses a request that is too large or of a wrong type, and continues', async () => {
    const { enqueued_total: before } = await get<Stats>('/stats');
    const [large, huge] = [200_000, 10_000_000].map((length) => 'x'.repeat(length));
    const forms = ['/enqueue', '/workers/start', '/workers/kill', '/mails', '/webhooks', '/invoices', '/reports'];
    for (const path of forms) {
      expect([path, await answerTo(path, new URLSearchParams({ kind: large! }))]).toEqual([path, 413]);
      expect([path, await answerTo(path, JSON.stringify({ kind: large }))]).toEqual([path, 413]);
    }
    expect(await answerTo('/webhooks/receiver', JSON.stringify({ data: large }))).toBe(413);
    expect(await answerTo('/enqueue', new URLSearchParams({ kind: huge! }))).toBe(413);
    expect(await answerTo('/enqueue', JSON.stringify({ kind: huge }))).toBe(413);
    const bodies = [
      '{"kind":5}',
      '{"kind":null}',
      '{"recipient":{"a":1}}',
      '[]',
      '[{"kind":"email"}]',
      '"text"',
      '{"kind":',
      '{"count":{"a":1}}',
      '{"count":[2]}',
      '{"count":["2"]}',
      '{"count":true}',
      '{"count":null}',
    ];
    for (const body of bodies) expect([body, await answerTo('/enqueue', body)]).toEqual([body, 400]);
    const headers = { 'content-type': 'application/json' };
    const refused = await fetch(`${url}/enqueue`, { method: 'POST', headers, body: '{"count":{"a":1}}' });
    expect(await refused.json()).toMatchObject({ message: ['count: expected a number'] });
    for (const form of ['kind[a]=b', 'count[a]=2', 'count[]=2', 'recipient[]=a']) {
      expect([form, await answerTo('/enqueue', new URLSearchParams(form))]).toEqual([form, 400]);
    }
    for (const form of ['size[a]=1', 'fail_rate[]=1', 'work_latency_ms[a][b]=1']) {
      expect([form, await answerTo('/workers/start', new URLSearchParams(form))]).toEqual([form, 400]);
      expect([form, await answerTo('/workers/configure', new URLSearchParams(form))]).toEqual([form, 400]);
    }
    expect(await answerTo('/enqueue', new URLSearchParams({ recipient: 'x'.repeat(1_001) }))).toBe(400);
    for (const query of ['offset=-1', 'offset=x', 'offset=1.5', 'offset=1e30', 'limit=0', 'limit=1001']) {
      expect([query, (await fetch(`${url}/jobs?${query}`)).status]).toEqual([query, 400]);
    }
    expect((await fetch(`${url}/live?pending=-1`)).status).toBe(400);
    expect((await fetch(`${url}/jobs/${'x'.repeat(8_000)}`)).status).toBe(404);
    expect((await get<Stats>('/stats')).enqueued_total).toBe(before);
  });

  it('refuses a flag that makes no sense, and names the expected value', async () => {
    const shop = startProcess('node', ['examples/shop/dist/main.js', '--workers', '9'], {});
    expect(await shop.exited).toBe(2);
    expect(shop.output).toContain('--workers: expected a whole number from 0 to 8, found "9"');
  });
});
