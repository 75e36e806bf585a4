// Adds an option to a copy of src, as a maintainer would, and sends it through the copy. Four files are enough.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

/** The lines to add, below a line of each file. */
const EDITS: Record<string, [below: string, added: string]> = {
  'queue/model/job-options.ts': [
    'export const JOB_OPTIONS = {',
    `colour: {
      schema: z.enum(['red', 'blue'], { error: "expected 'red' or 'blue'" }),
      places: ['enqueue', 'definition', 'follow-up', 'schedule'],
      worker: { field: 'colour', stored: z.string() },
    },`,
  ],
  'queue/model/job.ts': ['export interface ClaimedJobOptions {', '/** The colour. */ colour?: string;'],
  'queue/enqueue/enqueue-options.ts': [
    'export interface JobRules {',
    "/** The colour. */ colour?: 'red' | 'blue';",
  ],
  'worker/handlers/job.ts': [
    'export class Job<Payload = unknown, Signals extends object = Readonly<Record<string, unknown>>, Chunk = unknown> {',
    'get colour(): string | undefined { return this.claim.options.colour; }',
  ],
};

const root = fileURLToPath(new URL('../../..', import.meta.url));
const copy = mkdtempSync(join(tmpdir(), 'src-with-an-option-'));
afterAll(() => rmSync(copy, { recursive: true }));

/** The matcher of the copy, whose options have one more than ours. */
interface Enqueued {
  toHaveEnqueued(name: string, payload: unknown, options: object): void;
  not: Enqueued;
}

/** Copies src, adds the option, and loads the entry points of the copy. */
async function loadEdited() {
  cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
  for (const [file, [below, added]] of Object.entries(EDITS)) {
    const path = join(copy, 'src', file);
    const text = readFileSync(path, 'utf8');
    expect([file, text.split(below).length]).toEqual([file, 2]);
    writeFileSync(path, text.replace(below, `${below}\n${added}`));
  }
  // One after another: the loader of Jest links no module twice at once.
  const core = await import(join(copy, 'src/core.ts'));
  const memory = await import(join(copy, 'src/memory/script-store.ts'));
  const server = await import(join(copy, 'src/memory/server/observed-server.ts'));
  const log = await import(join(copy, 'src/testing/module/test-log.ts'));
  const matchers = await import(join(copy, 'src/testing/matchers.ts'));
  return { ...core, ...memory, ...server, ...log, ...matchers };
}

it('a new option touches four files of src, and works in all its places and in both stores', async () => {
  expect(Object.keys(EDITS)).toHaveLength(4);
  const { JobQueue, Worker, defineJob, ScriptStore, ObservedServer, TestLog, jobQueueMatchers } =
    await loadEdited();
  expect.extend(jobQueueMatchers);
  const log = new TestLog();
  const memory = new ScriptStore(undefined, { server: new ObservedServer(() => Date.now(), log) });
  const Paint = defineJob('paint', { payload: z.unknown(), colour: 'blue' });
  for (const store of [memory, connect()]) {
    const queue = new JobQueue(store, uniqueQueueName());
    await queue.enqueue(1, { name: 'paint', colour: 'red' });
    await queue.enqueue(Paint, 2);
    await queue.schedules.upsert('daily', { everyMs: 86_400_000 }, { name: 'paint', payload: 3, colour: 'red' });
    await queue.schedules.runNow('daily');
    const batch = queue.batch({ then: { name: 'paint', payload: 4, colour: 'blue' } });
    await batch.seal();
    const seen = new Map<number, string>();
    let handle: (job: { payload: number; colour: string }) => void;
    const allSeen = new Promise<void>((resolve) => {
      handle = ({ payload, colour }) => void (seen.set(payload, colour).size === 4 && resolve());
    });
    const worker = new Worker([{ queue, handlers: { paint: handle! } }]);
    await worker.start();
    await allSeen;
    await worker.stop();
    expect(Object.fromEntries(seen)).toEqual({ 1: 'red', 2: 'blue', 3: 'red', 4: 'blue' });
    await expect(queue.enqueue(1, { colour: 'green' })).rejects.toThrow("colour: expected 'red' or 'blue'");
    await expect(queue.enqueue(1, { color: 'red' })).rejects.toThrow('Did you mean colour?');
    queue.close();
  }
  const enqueued = expect({ enqueued: () => log.jobs }) as unknown as Enqueued;
  enqueued.toHaveEnqueued('paint', 1, { colour: 'red' });
  enqueued.toHaveEnqueued('paint', 2, { colour: 'blue' });
  enqueued.not.toHaveEnqueued('paint', 1, { colour: 'blue' });
});
