// Each list of a queue goes on where its last page ended, and refuses a place that is none. A new list needs a row here.
import { expect, it } from '@jest/globals';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import { JobQueue } from '#queue/job-queue.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';

const COUNT = 5;

/** Returns a queue with five of everything, each made a second after the last one. */
async function filledQueue(): Promise<JobQueue> {
  const clock = new VirtualClock();
  const store = new ScriptStore(clock, { server: new ScriptServer(() => clock.now()) });
  const queue = new JobQueue(store, 'mail', { maxAttempts: 1, auditTrail: {}, groups: {} });
  for (let i = 0; i < COUNT; i++) {
    await queue.enqueue({ i }, { id: `dead${i}` });
    await queue.fail((await queue.claim())!, new Error('no'));
    await clock.advance(1_000);
  }
  for (let i = 0; i < COUNT; i++) {
    await queue.enqueue({ i }, { id: `job${i}`, group: `g${i}`, metadata: { kind: 'x' } });
    const batch = queue.batch({ id: `b${i}` });
    await batch.add('page', { i });
    await queue.schedules.upsert(`s${i}`, { everyMs: 3_600_000 }, {});
    await clock.advance(1_000);
  }
  return queue;
}

type Page = readonly string[];

/** Reads a page of a list at an offset. */
const BY_OFFSET: Record<string, (queue: JobQueue, offset: number, limit: number) => Promise<Page>> = {
  jobs: async (queue, offset, limit) => (await queue.list('pending', { offset, limit })).map(({ id }) => id),
  'filtered jobs': async (queue, offset, limit) =>
    (await queue.list('pending', { offset, limit, metadata: { kind: 'x' } })).map(({ id }) => id),
  batches: async (queue, offset, limit) => (await queue.listBatches({ offset, limit })).map(({ id }) => id),
  groups: async (queue, offset, limit) =>
    (await queue.groups.list({ offset, limit, by: 'age' })).map(({ name }) => name),
  schedules: async (queue, offset, limit) => (await queue.schedules.list({ offset, limit })).map(({ id }) => id),
};

it.each(Object.entries(BY_OFFSET))('pages of %s by an offset are parts of the whole list', async (_, read) => {
  const queue = await filledQueue();
  const all = await read(queue, 0, 1_000);
  expect(all.length).toBeGreaterThanOrEqual(COUNT);
  expect(new Set(all).size).toBe(all.length);
  for (const offset of [1, 3]) expect(await read(queue, offset, 2)).toEqual(all.slice(offset, offset + 2));
  expect(await read(queue, all.length, 2)).toEqual([]);
  for (const offset of [-1, 0.5])
    await expect(read(queue, offset, 2)).rejects.toMatchObject({ name: 'InvalidOptionError' });
  for (const limit of [0, 1_001])
    await expect(read(queue, 0, limit)).rejects.toMatchObject({ name: 'InvalidOptionError' });
});

/** Reads a page of two behind another one. The first page has no `after`. */
const BEHIND: Record<
  string,
  (queue: JobQueue, after?: string) => Promise<{ page: Page; next: string | undefined }>
> = {
  'dead letters': async (queue, cursor) => {
    const { jobs, cursor: next } = await queue.deadLetters.list({ limit: 2, cursor });
    return { page: jobs.map(({ id }) => id), next: next ?? undefined };
  },
  'the audit trail': async (queue, after) => {
    const entries = await queue.auditTrail.read({ limit: 2, after });
    return { page: entries.map(({ entryId }) => entryId), next: entries.at(-1)?.entryId };
  },
};

it.each(Object.entries(BEHIND))('pages of %s go on behind the last one', async (_, read) => {
  const queue = await filledQueue();
  const seen: string[] = [];
  for (let next: string | undefined; seen.length < 100;) {
    const page = await read(queue, next);
    seen.push(...page.page);
    next = page.next;
    if (next === undefined) break;
  }
  expect(seen.length).toBeGreaterThanOrEqual(COUNT);
  expect(seen.length).toBeLessThan(100);
  expect(new Set(seen).size).toBe(seen.length);
});
