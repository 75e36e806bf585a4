// A newer job of a unique key stops the running one, and starts after its end, however that comes.
import { afterEach, describe, expect, it } from '@jest/globals';
import { JobCancelledError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';

const STOP = { key: 'k', for: 'unfinished', onConflict: 'cancel-running' } as const;

const clock = new VirtualClock();
const workers: Worker[] = [];

afterEach(async () => {
  const stopping = Promise.all(workers.splice(0).map((worker) => worker.stop({ timeoutMs: 0 })));
  await clock.advance(1_000);
  await stopping;
});

/** Ends a handler in a way of its own, once its signal aborts. */
type End = (reason: unknown, resolve: (value: unknown) => void, reject: (error: unknown) => void) => void;

const ENDS: Record<string, End> = {
  'throws the reason': (reason, _resolve, reject) => reject(reason),
  'throws an error of its own': (_reason, _resolve, reject) => reject(new Error('broken')),
  'completes all the same': (_reason, resolve) => resolve('done'),
};

async function started(end: End) {
  const queue = new JobQueue(new ScriptStore(clock), 'search');
  const seen: string[] = [];
  const reasons: unknown[] = [];
  const handle = ({ id, signal }: Job) =>
    new Promise((resolve, reject) => {
      seen.push(id);
      signal.addEventListener('abort', () => {
        reasons.push(signal.reason);
        end(signal.reason, resolve, reject);
      });
    });
  const worker = new Worker([{ queue, handlers: { search: handle } }]);
  workers.push(worker);
  const starting = worker.start();
  await clock.advance(100);
  await starting;
  const enqueue = async (id: string, options = {}) => {
    const enqueued = queue.enqueue({ id }, { id, unique: STOP, ...options });
    await clock.advance(1_000);
    return enqueued;
  };
  return { queue, seen, reasons, enqueue };
}

describe.each(Object.entries(ENDS))('a running job that %s', (how, end) => {
  it('is stopped by the newer one, which then starts', async () => {
    const { queue, seen, reasons, enqueue } = await started(end);
    await enqueue('a');
    expect((await enqueue('b')).outcome).toBe('new');
    expect(reasons).toEqual([new JobCancelledError('a', 'b')]);
    expect(reasons[0]).toMatchObject({ supersededBy: 'b', message: expect.stringContaining('the newer job b') });
    expect(seen).toEqual(['a', 'b']);
    const a = (await queue.get('a'))!;
    expect([a.status, a.supersededBy]).toEqual([how.startsWith('completes') ? 'completed' : 'cancelled', 'b']);
    expect((await queue.get('b'))!.status).toBe('processing');
  });
});

it('of several newer jobs only the last one starts, after its delay', async () => {
  const ends: (() => void)[] = [];
  const { queue, seen, enqueue } = await started((reason, _resolve, reject) => ends.push(() => reject(reason)));
  await enqueue('a');
  await enqueue('b');
  await enqueue('c', { delayMs: 5_000 });
  expect((await queue.get('b'))!).toMatchObject({ status: 'cancelled', supersededBy: 'c' });
  await expect(queue.result('b')).rejects.toMatchObject({ supersededBy: 'c' });
  expect(seen).toEqual(['a']);
  ends[0]!();
  await clock.advance(2_000);
  expect([(await queue.get('a'))!.status, seen]).toEqual(['cancelled', ['a']]);
  await clock.advance(5_000);
  expect(seen).toEqual(['a', 'c']);
});

it('a stopped job that runs again is cancelled for no newer one', async () => {
  const { queue, reasons, enqueue } = await started((reason, _resolve, reject) => reject(reason));
  await enqueue('a');
  const newer = await enqueue('b');
  await newer.cancel();
  await clock.advance(12_000);
  await queue.runAgain('a');
  await clock.advance(1_000);
  expect((await queue.get('a'))!).toMatchObject({ status: 'processing' });
  expect((await queue.get('a'))!.supersededBy).toBeUndefined();
  await queue.cancel('a');
  await clock.advance(12_000);
  expect(reasons).toEqual([
    new JobCancelledError('a', 'b'),
    new JobCancelledError('b'),
    new JobCancelledError('a'),
  ]);
  expect(reasons.at(-1)).toMatchObject({ supersededBy: undefined });
});

it("keep: 'oldest' leaves the job that waits for the end of the stopped one", async () => {
  const { enqueue } = await started(() => undefined);
  await enqueue('a');
  await enqueue('b');
  expect(await enqueue('c', { unique: { ...STOP, keep: 'oldest' } })).toMatchObject({ id: 'b', outcome: 'kept' });
  expect(await enqueue('d', { unique: { ...STOP, onConflict: 'replace' } })).toMatchObject({
    id: 'b',
    outcome: 'replaced',
  });
});

it.each(['cancel', 'remove'] as const)(
  'the key goes back to the running job by a %s of the newer one',
  async (verb) => {
    const ends: (() => void)[] = [];
    const { queue, seen, enqueue } = await started((reason, _resolve, reject) => ends.push(() => reject(reason)));
    await enqueue('a');
    await enqueue('b');
    await queue[verb]('b');
    await enqueue('c');
    expect(seen).toEqual(['a']);
    ends[0]!();
    await clock.advance(2_000);
    expect(seen).toEqual(['a', 'c']);
  },
);
