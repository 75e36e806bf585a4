// The calls that the page of the pattern's demo server makes, each answer held against that server's shape. With PATTERN_SERVER set
// to the URL of one of the originals, started with --visibility-ms 1000, the same script runs there.
import { beforeAll, expect, it, jest } from '@jest/globals';
import { startPatternDemo } from '../support/pattern-demo.js';
import { patiently } from '../support/wait.js';
import { ANSWERS, type Answers, type Call, type Stats } from './pattern-shapes.js';

jest.setTimeout(90_000);

const SOON = { timeoutMs: 30_000 };

let url: string;

beforeAll(async () => {
  url = process.env.PATTERN_SERVER ?? (await startPatternDemo()).url;
}, 180_000);

/** Makes a call, with a form or with no body at all; its answer has the shape of the original's. */
async function call<Made extends Call>(made: Made, form?: Record<string, string>): Promise<Answers[Made]> {
  const [method, path] = made.split(' ');
  const response = await fetch(url + path, { method, body: form && new URLSearchParams(form) });
  expect([made, response.status]).toEqual([made, 200]);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  const answer = (await response.json()) as Answers[Made];
  expect(answer).toEqual(ANSWERS[made]);
  return answer;
}

const until = (isSo: (stats: Stats) => boolean) => patiently(async () => isSo(await call('GET /stats')), SOON);

it.each(['/', '/index.html'])('the page is at %s', async (path) => {
  const response = await fetch(url + path);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
});

it('a script of calls gets the shapes of the original, in every state of a job', async () => {
  await call('POST /reset');
  expect(await call('GET /jobs')).toEqual({ pending: [], processing: [], completed: [], failed: [] });

  for (const kind of ['email', 'webhook', 'thumbnail', 'invoice']) {
    const form = { kind, recipient: 'user@example.com', count: '2' };
    expect((await call('POST /enqueue', form)).enqueued).toHaveLength(2);
  }
  expect((await call('GET /jobs')).pending).toHaveLength(8);

  const conditions = { work_latency_ms: '0', fail_rate: '0', hang_rate: '0' };
  await call('POST /workers/start', { size: '2', ...conditions });
  await until(({ completed_total }) => completed_total === 8);
  expect((await call('GET /jobs')).completed).toHaveLength(8);

  expect(await call('POST /workers/configure', { fail_rate: '1' })).toMatchObject({ fail_rate: 1, hang_rate: 0 });
  await call('POST /enqueue', { kind: 'email', recipient: '', count: '1' });
  await until(({ failed_total }) => failed_total === 1);
  expect((await call('GET /jobs')).failed).toMatchObject([{ attempts: 3 }]);

  await call('POST /workers/configure', { fail_rate: '0', hang_rate: '1', work_latency_ms: '100' });
  const { enqueued } = await call('POST /enqueue', { kind: 'email', count: '1' });
  await until(({ processing_depth }) => processing_depth === 1);
  expect((await call('GET /jobs')).processing).toMatchObject([{ id: enqueued[0], attempts: 1 }]);
  expect((await call('POST /workers/stop')).workers_running).toBe(0);
  const reclaimed = await patiently(async () => {
    const answer = await call('POST /reclaim');
    return answer.reclaimed.length > 0 && answer;
  }, SOON);
  expect(reclaimed).toMatchObject({ reclaimed: enqueued, stats: { reclaimed_total: 1 } });
  expect((await call('GET /jobs')).pending).toMatchObject([{ id: enqueued[0], attempts: 1 }]);
  await call('POST /reset');
});

it('no call needs a field', async () => {
  expect((await call('POST /enqueue')).enqueued).toHaveLength(1);
  expect((await call('GET /jobs')).pending[0]!.payload).toMatchObject({ kind: 'email', n: 1 });
  expect(await call('POST /workers/start')).toMatchObject({ work_latency_ms: 400, fail_rate: 0, hang_rate: 0 });
  expect(await call('POST /workers/configure')).toMatchObject({ work_latency_ms: 400 });
  await call('POST /workers/stop');
  await call('POST /reclaim');
  await call('POST /reset');
});

it('all that waits is listed, oldest first', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push(...(await call('POST /enqueue', { count: '50' })).enqueued);
  expect((await call('GET /jobs')).pending.map(({ id }) => id)).toEqual(ids);
  await call('POST /reset');
});

it('what no original has is not found', async () => {
  expect((await fetch(`${url}/nowhere`)).status).toBe(404);
  expect((await fetch(`${url}/stats`, { method: 'POST' })).status).toBe(404);
});
