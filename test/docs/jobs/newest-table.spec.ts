// The table "the newest wins" of docs/jobs.md: each cell is one enqueue here, on a real Redis and in memory.
import { describe, expect, it } from '@jest/globals';
import type { EnqueueOptions, UniqueOptions } from '#queue/enqueue/enqueue-options.js';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { tableOf } from '../table.js';

const MINUTE = 60_000;

const FOR: Record<string, UniqueOptions['for']> = {
  "`for: 'pending'`": 'pending',
  "`for: 'unfinished'`": 'unfinished',
  '`for: { ms }`': { ms: MINUTE },
};
const CHOICES: Record<string, Partial<UniqueOptions>> = {
  "`keep: 'newest'`": { keep: 'newest' },
  "`keep: 'oldest'`": { keep: 'oldest' },
  "`'replace'`": { onConflict: 'replace' },
  "`'cancel-running'`": { onConflict: 'cancel-running' },
  '`maxDelayMs`': { maxDelayMs: 2 * MINUTE },
};

function choiceOf(row: string): UniqueOptions {
  const [hold, ...choices] = row.split(/, (?=`)/);
  return Object.assign({ key: 'k', for: FOR[hold!]! }, ...choices.map((each) => CHOICES[each]!)) as UniqueOptions;
}

/** Brings the older job into the state of a column. */
async function bring(queue: JobQueue, state: string, unique: UniqueOptions): Promise<void> {
  const delayMs = state === 'delayed' ? MINUTE : 0;
  await queue.enqueue({ of: 'older' }, { id: 'older', unique, delayMs });
  if (state === 'waiting' || state === 'delayed') return;
  const job = (await queue.claim())!;
  if (state === 'just ended') await queue.complete(job);
}

/** Enqueues the newer job. Returns what happened, in the words of the table. */
async function wordsOf(queue: JobQueue, unique: UniqueOptions): Promise<string> {
  const options: EnqueueOptions = { id: 'newer', unique, ...(unique.maxDelayMs && { delayMs: MINUTE }) };
  const before = await queue.get('older');
  const { id, outcome } = await queue.enqueue({ of: 'newer' }, options);
  const [older, newer] = [(await queue.get('older'))!, await queue.get('newer')];
  if (outcome !== 'new') {
    expect([id, newer]).toEqual(['older', null]);
    if (outcome === 'kept') expect(older).toEqual(before);
    else expect(older.payload).toEqual({ of: 'newer' });
    const isInTime = older.dueAt && older.dueAt.getTime() <= older.enqueuedAt.getTime() + 2 * MINUTE;
    return unique.maxDelayMs && isInTime ? `${outcome}, in time` : outcome;
  }
  expect([id, newer!.payload]).toEqual(['newer', { of: 'newer' }]);
  if (older.supersededBy === undefined) {
    expect(older).toEqual(before);
    return 'new';
  }
  expect(older.supersededBy).toBe('newer');
  if (older.status === 'cancelled') {
    expect(newer!.status).toBe('pending');
    return 'older cancelled, new';
  }
  expect([older.status, older.cancelRequestedAt]).toEqual(['processing', expect.any(Date)]);
  expect([newer!.status, newer!.after]).toEqual(['scheduled', [{ queue: queue.name, id: 'older' }]]);
  return 'older stopped, new behind it';
}

const STORES: Record<string, () => JobQueue> = {
  'on Redis': () => coreQueue().queue,
  'in memory': () => new JobQueue(new ScriptStore(new VirtualClock()), 'newest'),
};

const cells = tableOf('the newest wins', 'docs/jobs.md');

it('has a row for each choice and a column for each state', () => {
  expect(cells).toHaveLength(12 * 4);
});

describe.each(Object.entries(STORES))('%s', (_, open) => {
  it.each(cells)('%s, %s: %s', async (row, state, said) => {
    const queue = open();
    const unique = choiceOf(row);
    await bring(queue, state, unique);
    expect(await wordsOf(queue, unique)).toBe(said);
  });
});
