/** @jest-environment ./test/support/own-environment.mjs */
// Plants faults in the encoders and decoders of the store on Redis, one at a time. The store in memory has neither, so the
// comparison of both stores finds each fault. A fault is an edit of a copy of its file, which replaces the file here.
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, jest } from '@jest/globals';

/** A fault: an expression of a file, and the one that takes its place. */
type Fault = [breaks: string, good: string, bad: string];

/** The faults by their files. Each file comes after the files that it imports. */
const FAULTS: Record<string, Fault[]> = {
  'model/job-options.ts': [
    ['the time of a unique key is not sent', "typeof lasts === 'object' ? lasts.ms : lasts", "'unfinished'"],
  ],
  'replies/decode-attempt-log.ts': [
    ['the completed attempt is left out of the log', '[...logged, last]', 'logged'],
    ['an attempt loses its worker', '(hash.worker ?? null)', 'null'],
  ],
  'replies/decode-schedule.ts': [['a schedule has no ticks', "Number(hash.get('ticks') ?? 0)", '0']],
  'replies/decode-claim.ts': [
    ['the jobs of a claim come in the reverse order', 'decoded.jobs.push(job)', 'decoded.jobs.unshift(job)'],
    ['a claim has the attempt before', 'Number(details[0])', 'Number(details[0]) - 1'],
  ],
  'replies/decode-job.ts': [
    ['the errors of a job are its crashes', 'Number(hash.errors ?? 0)', 'Number(hash.crashes ?? 0)'],
    ['a job is due when it was enqueued', 'dateOf(hash.due_at_ms)', 'dateOf(hash.enqueued_at_ms)'],
  ],
  'scripts/encode-job-options.ts': [
    [
      'the priority is not sent',
      'script[option.script] = value',
      "name !== 'priority' && (script[option.script] = value)",
    ],
    [
      'the worker does not get the lifetime of a result',
      'worker[option.worker.field] = value',
      "name !== 'resultTtlMs' && (worker[option.worker.field] = value)",
    ],
  ],
};

const src = fileURLToPath(new URL('../../../src/queue', import.meta.url));
const copies = mkdtempSync(join(tmpdir(), 'planted-'));
symlinkSync(join(src, '../../node_modules'), join(copies, 'node_modules'), 'junction');
afterAll(() => rmSync(copies, { recursive: true }));
const chosen = globalThis as { plantedFault?: string };

/** Copies a file with its faults, each of which waits to be chosen. Its imports lead back to src. */
function copyOf(file: string, faults: readonly Fault[]): string {
  const path = join(src, file);
  const absolute = (_: string, name: string) => `'${join(dirname(path), name).replace(/\.js$/, '.ts')}'`;
  let text = readFileSync(path, 'utf8').replace(/'(\.\.?\/[^']*\.js)'/g, absolute);
  for (const [breaks, good, bad] of faults) {
    expect([breaks, text.split(good).length - 1]).toEqual([breaks, 1]);
    text = text.replace(good, `(globalThis.plantedFault === ${JSON.stringify(breaks)} ? ${bad} : ${good})`);
  }
  const copy = join(copies, basename(file));
  writeFileSync(copy, text);
  return copy;
}

for (const [file, faults] of Object.entries(FAULTS)) {
  const planted = (await import(copyOf(file, faults))) as object;
  jest.unstable_mockModule(`#queue/${file.replace(/\.ts$/, '.js')}`, () => planted);
}
const { compareStores } = await import('../../model/compare-stores.js');

// The sequences that both-stores.spec draws.
const DRAWN = { seed: 1, isPlanted: true };

describe('the comparison of both stores finds that', () => {
  it.each(Object.values(FAULTS).flat())('%s', async (breaks) => {
    chosen.plantedFault = breaks;
    const error: unknown = await compareStores({ ...DRAWN, runs: 30 }).catch((each: unknown) => each);
    expect(error).toMatchObject({ cause: { message: expect.stringContaining('not as on Redis') } });
  });
});

it('finds nothing in the copies without a chosen fault', async () => {
  delete chosen.plantedFault;
  await compareStores({ ...DRAWN, runs: 2 });
});
