// The calls of the page of the pattern's demo server. Each reply must have that server's shape, and match the recorded
// reply of an original (Node, https://github.com/redis/docs at 63f31f69): pattern-recording.json. PATTERN_SERVER runs
// the script on an original, started with --visibility-ms 1000, by its URL. PATTERN_RECORD=1 writes its replies.
import { beforeAll, expect, it, jest } from '@jest/globals';
import { startPatternDemo } from '../../support/queue/pattern-demo.js';
import { patiently } from '../../support/faults/wait.js';
import { readRecording, Recorder, writeRecording } from './pattern-recording.js';
import { ANSWERS, type Replies, type Call, type Stats } from './pattern-shapes.js';

jest.setTimeout(90_000);

const SOON = { timeoutMs: 30_000 };

let url: string;
let token = '';

beforeAll(async () => {
  const original = process.env.PATTERN_SERVER;
  if (original === undefined) ({ url, token } = await startPatternDemo());
  else url = original;
}, 180_000);

/** Makes a call, with a form or with no body at all; its answer has the shape of the original's. */
async function ask<Made extends Call>(made: Made, form?: Record<string, string>): Promise<Replies[Made]> {
  const [method, path] = made.split(' ');
  const response = await fetch(url + path, { method, body: form && new URLSearchParams(form) });
  expect([made, response.status]).toEqual([made, 200]);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  const answer = (await response.json()) as Replies[Made];
  expect(answer).toEqual(ANSWERS[made]);
  return answer;
}

it.each(['/', '/index.html'])('the page is at %s', async (path) => {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
});

it('a script of calls gets the answers of the original, in every state of a job', async () => {
  const recorder = new Recorder();
  const note = <Reply>(made: Call, form: Record<string, string> | undefined, answer: Reply, moving = false) => {
    recorder.note(made, form, answer, moving);
    return answer;
  };
  const call = async <Made extends Call>(made: Made, form?: Record<string, string>) =>
    note(made, form, await ask(made, form));
  /** Calls the demo while its workers run. */
  const callMoving = async <Made extends Call>(made: Made, form?: Record<string, string>) =>
    note(made, form, await ask(made, form), true);
  const until = async (isSo: (stats: Stats) => boolean) => {
    const stats = await patiently(async () => {
      const now = await ask('GET /stats');
      return isSo(now) && now;
    }, SOON);
    note('GET /stats', undefined, stats);
  };

  await call('POST /reset');
  await call('GET /jobs');

  for (const kind of ['email', 'webhook', 'thumbnail', 'invoice']) {
    await call('POST /enqueue', { kind, recipient: 'user@example.com', count: '2' });
  }
  await call('POST /enqueue', { count: '0' });
  await call('POST /enqueue', { kind: '', recipient: '', count: 'many' });
  await call('GET /jobs');

  await callMoving('POST /workers/start', { size: '2', work_latency_ms: '0', fail_rate: '0', hang_rate: '0' });
  await until(
    ({ completed_total, worker_processed_total }) => completed_total === 10 && worker_processed_total === 10,
  );
  await call('GET /jobs');

  await call('POST /workers/configure', { fail_rate: '1' });
  await callMoving('POST /enqueue', { kind: 'email', recipient: '', count: '1' });
  await until(({ failed_total }) => failed_total === 1);
  await call('GET /jobs');

  await call('POST /workers/configure', { fail_rate: '0', hang_rate: '1', work_latency_ms: '100' });
  const { enqueued } = await callMoving('POST /enqueue', { kind: 'email', count: '1' });
  await until(({ processing_depth }) => processing_depth === 1);
  await call('GET /jobs');
  await call('POST /workers/stop');
  const reclaimed = await patiently(async () => {
    const answer = await ask('POST /reclaim');
    return answer.reclaimed.length > 0 && answer;
  }, SOON);
  expect(note('POST /reclaim', undefined, reclaimed).reclaimed).toEqual(enqueued);
  await call('GET /jobs');
  await call('POST /reset');
  await call('GET /stats');

  if (process.env.PATTERN_RECORD) writeRecording(recorder.said);
  expect(recorder.said).toEqual(readRecording());
});

it('no call needs a field', async () => {
  expect((await ask('POST /enqueue')).enqueued).toHaveLength(1);
  expect((await ask('GET /jobs')).pending[0]!.payload).toMatchObject({ kind: 'email', n: 1 });
  expect(await ask('POST /workers/start')).toMatchObject({ work_latency_ms: 400, fail_rate: 0, hang_rate: 0 });
  expect(await ask('POST /workers/configure')).toMatchObject({ work_latency_ms: 400 });
  await ask('POST /workers/stop');
  await ask('POST /reclaim');
  await ask('POST /reset');
});

it('all that waits is listed, oldest first', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push(...(await ask('POST /enqueue', { count: '50' })).enqueued);
  expect((await ask('GET /jobs')).pending.map(({ id }) => id)).toEqual(ids);
  await ask('POST /reset');
});

it('a path that no original has is not found', async () => {
  expect((await fetch(`${url}/nowhere`)).status).toBe(404);
  expect((await fetch(`${url}/stats`, { method: 'POST' })).status).toBe(404);
});
