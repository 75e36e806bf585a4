// The tables of docs/jobs.md are the parameters: each cell says what happens, and a job here tells the same of itself.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError } from '../src/queue/errors.js';
import type { ClaimedJob } from '../src/queue/job.js';
import type { JobQueue } from '../src/queue/job-queue.js';
import type { EnqueueOptions } from '../src/queue/new-job.js';
import { coreQueue } from './support/core-queue.js';
import type { TestQueue } from './support/queue-state.js';

const HOUR = 3_600_000;

/** A table of the docs, after its mark: cells by row and column. */
function tableOf(mark: string): [row: string, column: string, cell: string][] {
  const text = readFileSync(new URL('../docs/jobs.md', import.meta.url), 'utf8');
  const lines = text.split(`<!-- table: ${mark} -->`)[1]!.trimStart().split('\n');
  const rows = lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const [[, ...columns] = [], , ...body] = rows;
  return body.flatMap(([row, ...cells]) =>
    columns.map((column, i) => [row!, column, cells[i]!] as [string, string, string]),
  );
}

const ROWS: Record<string, EnqueueOptions> = {
  'a plain job': {},
  '`priority`': { priority: 5 },
  '`delayMs`, `runAt`': { delayMs: HOUR },
  '`expiresInMs`': { expiresInMs: HOUR },
  '`maxAttempts`': { maxAttempts: 5 },
  "`unique` for `'pending'`": { unique: { key: 'k', for: 'pending' } },
  "`unique` for `'unfinished'`": { unique: { key: 'k', for: 'unfinished' } },
  '`unique` for `{ ms }`': { unique: { key: 'k', for: { ms: HOUR } } },
};

interface Scene {
  queue: JobQueue;
  state: TestQueue;
  options: EnqueueOptions;
}

async function scene(options: EnqueueOptions): Promise<Scene> {
  const { queue, state } = coreQueue({ maxAttempts: 3 });
  await queue.enqueue('subject', { ...options, id: 'subject' });
  return { queue, state, options };
}

async function becomeDue({ state, options }: Scene): Promise<void> {
  if (options.delayMs) {
    await state.makeDue('subject');
  }
}

/** The job is claimed, and a peer of the same priority waits. */
async function claimed(options: EnqueueOptions): Promise<Scene & { job: ClaimedJob }> {
  const made = await scene(options);
  await becomeDue(made);
  const job = (await made.queue.claim())!;
  await made.queue.enqueue('peer', { id: 'peer', priority: options.priority });
  return { ...made, job };
}

/** What the job is now, in the words of the docs. */
async function seen({ queue, state, options }: Scene): Promise<string> {
  const job = await queue.get('subject');
  const words = [job ? await placeOf(state, job.status) : 'gone'];
  const alive = job?.status === 'pending' || job?.status === 'scheduled';
  if (alive && options.expiresInMs) {
    words.push(job.expiresAt ? 'goes on to expire' : 'expires no more');
  }
  if (alive && options.maxAttempts) {
    words.push(
      job.maxAttempts === options.maxAttempts && job.attempts < 5
        ? `attempts ${job.attempts} of its 5`
        : 'limit lost',
    );
  }
  if (options.unique) {
    const { outcome } = await queue.enqueue('rival', { unique: options.unique });
    words.push(outcome === 'kept' ? 'key held' : 'key free');
  }
  return words.join('; ');
}

async function placeOf(state: TestQueue, status: string): Promise<string> {
  if (status !== 'pending') {
    return status;
  }
  const line = await state.pending();
  const ranked = await state.ranked(state.keys.prioritized);
  const [ids, name] = ranked.includes('subject') ? [ranked, 'its priority'] : [line, 'the line'];
  expect(ids).toContain('subject');
  return ids.includes('peer') ? `${ids[0] === 'subject' ? 'front' : 'back'} of ${name}` : `in ${name}`;
}

const COLUMNS: Record<string, (options: EnqueueOptions) => Promise<string>> = {
  'an attempt fails': async (options) => {
    const at = await claimed(options);
    expect(await at.queue.fail(at.job, new Error('no'))).toBe('retry');
    return seen(at);
  },
  'its worker dies': async (options) => {
    const at = await claimed(options);
    await at.state.expireClaims('subject');
    expect((await at.queue.reclaim()).reclaimed).toEqual([{ id: 'subject', status: 'pending' }]);
    return seen(at);
  },
  'a shutdown gives it back': async (options) => {
    const at = await claimed(options);
    expect(await at.queue.release(at.job)).toBe('released');
    return seen(at);
  },
  'a snooze': async (options) => {
    const at = await claimed(options);
    expect(await at.queue.release(at.job, { delayMs: HOUR })).toBe('released');
    return seen(at);
  },
  'a pause of the queue': async (options) => {
    const at = await scene(options);
    await at.queue.pause();
    await becomeDue(at);
    expect(await at.queue.claim()).toBeNull();
    const paused = await seen(at);
    await at.queue.resume();
    expect((await at.queue.claim())!.id).toBe('subject');
    return paused;
  },
  'cancelled while it waits': async (options) => {
    const at = await scene(options);
    expect(await at.queue.cancel('subject')).toBe('cancelled');
    return seen(at);
  },
  'cancelled while it runs': async (options) => {
    const at = await claimed(options);
    expect(await at.queue.cancel('subject')).toBe('requested');
    expect(await at.queue.extend(at.job)).toBe('cancel-requested');
    expect(await at.queue.fail(at.job, new Error('aborted'))).toBe('cancelled');
    return seen(at);
  },
  rescheduled: async (options) => {
    const at = await scene(options);
    expect(await at.queue.reschedule('subject', { delayMs: HOUR })).toBe('scheduled');
    return seen(at);
  },
  'promoted now': async (options) => {
    const at = await scene(options);
    expect(await at.queue.reschedule('subject', { delayMs: 0 })).toBe('pending');
    return seen(at);
  },
  completes: async (options) => {
    const at = await claimed(options);
    expect(await at.queue.complete(at.job, 1)).toBe(true);
    return seen(at);
  },
  'fails for good': async (options) => {
    const at = await claimed(options);
    expect(await at.queue.fail(at.job, new Error('no'), { final: true })).toBe('failed');
    return seen(at);
  },
  redriven: async (options) => {
    const at = await claimed(options);
    await at.queue.fail(at.job, new Error('no'), { final: true });
    expect(await at.queue.deadLetters.redrive('subject')).toBe(true);
    return seen(at);
  },
  removed: async (options) => {
    const at = await scene(options);
    expect(await at.queue.remove('subject')).toBe('removed');
    return seen(at);
  },
};

describe('a job with', () => {
  const cells = tableOf('what happens');

  it.each(cells)('%s, when %s: %s', async (row, column, cell) => {
    expect(ROWS).toHaveProperty([row]);
    expect(COLUMNS).toHaveProperty([column]);
    expect(await COLUMNS[column]!(ROWS[row]!)).toBe(cell);
  });

  it('has a cell for everything that can happen to it', () => {
    expect(cells.map(([row, column]) => `${row} × ${column}`)).toEqual(
      Object.keys(ROWS).flatMap((row) => Object.keys(COLUMNS).map((column) => `${row} × ${column}`)),
    );
  });
});

const OPTIONS: Record<string, EnqueueOptions> = {
  '`delayMs`': { delayMs: HOUR },
  '`runAt`': { runAt: Date.now() + HOUR },
  '`priority`': { priority: 5 },
  '`expiresInMs`': { expiresInMs: 2 * HOUR },
  '`unique`': { unique: { key: 'k', for: 'unfinished' } },
  '`unique`, replaced': { unique: { key: 'k', for: 'unfinished', onConflict: 'replace' } },
};

/** What becomes of an enqueue with both: where it waits, where it is claimed from, what stands in its way. */
async function together(first: EnqueueOptions, second: EnqueueOptions): Promise<string> {
  const { queue, state } = coreQueue();
  const options = { ...first, ...second };
  if (options.unique?.onConflict) {
    await queue.enqueue('older', { id: 'subject', unique: options.unique });
  }
  const made = await queue
    .enqueue('subject', { ...options, ...(options.unique?.onConflict ? {} : { id: 'subject' }) })
    .catch((error: unknown) => error);
  if (made instanceof InvalidOptionError) {
    return 'refused';
  }
  const at = { queue, state, options: { ...options, unique: undefined, expiresInMs: undefined } };
  const words = [await seen(at)];
  if (words[0] === 'scheduled') {
    await state.makeDue('subject');
    await state.run(state.scripts.promote(10));
    words.push(`then ${await seen(at)}`);
  }
  const job = (await queue.get('subject'))!;
  expect(job.payload).toBe('subject');
  if (options.expiresInMs) {
    expect(job.expiresAt!.getTime() - job.enqueuedAt.getTime()).toBeGreaterThanOrEqual(2 * HOUR);
    await state.redis.hset(state.keys.job('subject'), 'expires_at_ms', 1);
    expect(await queue.claim()).toBeNull();
    words.push(`${(await queue.get('subject'))!.status} once expired`);
  } else if (options.unique) {
    const { outcome } = await queue.enqueue('rival', { unique: { key: 'k', for: 'unfinished' } });
    words.push(outcome === 'kept' ? 'key held' : 'key free');
  }
  return words.join(', ');
}

describe('one enqueue with', () => {
  const cells = tableOf('options together').filter(([row, column, cell]) => row !== column || cell !== '');

  it.each(cells.filter(([, , cell]) => cell !== ''))('%s and %s: %s', async (row, column, cell) => {
    expect(OPTIONS).toHaveProperty([row]);
    expect(OPTIONS).toHaveProperty([column]);
    expect(await together(OPTIONS[row]!, OPTIONS[column]!)).toBe(cell);
  });

  it('has a cell for each pair of options', () => {
    const names = Object.keys(OPTIONS);
    const pairs = names.flatMap((row, i) => names.slice(i + 1).map((column) => `${row} × ${column}`));
    const said = cells.filter(([, , cell]) => cell !== '').map(([row, column]) => `${row} × ${column}`);
    // Both kinds of unique are one option.
    expect(said).toEqual(pairs.filter((pair) => pair !== '`unique` × `unique`, replaced'));
  });
});
