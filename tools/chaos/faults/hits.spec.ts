// The hits of a fault: each real effect counts, and nothing else.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { coreQueue } from '../../../test/support/queue/core-queue.js';
import { claimsHeld, expired, freezeAtWork } from './claims.js';
import type { Slot } from '../run/fleet.js';
import { growth, hitsOf, inTime, missed } from './hits.js';
import { FAULT_KINDS } from '../plan.js';
import type { KindRecovery } from '../run/recovery.js';
import { countWritten, unanswered } from '../processes/written.js';

const folder = mkdtempSync(join(tmpdir(), 'hits-'));
afterAll(() => rmSync(folder, { recursive: true }));

const recovery = (kind: string, hits: number): KindRecovery => {
  return { kind, count: 2, hits, stallMs: 0, unacknowledgedMs: 0, workersMs: 0, producersMs: 0 };
};

function written(...lines: string[]): string {
  const file = join(folder, `${lines.length}.jsonl`);
  writeFileSync(file, lines.join('\n'));
  return file;
}

it('a kind of fault that never hit anything fails the run, and one that did once does not', () => {
  expect(missed([recovery('cut', 1), recovery('freeze', 0), recovery('block', NaN)])).toEqual([
    'freeze: done 2 times, and nothing was hit: 0 claims expired',
    'block: done 2 times, and nothing was hit: NaN claims expired',
  ]);
});

it.each(Object.keys(FAULT_KINDS))('%s says what it hits', (kind) => {
  expect(hitsOf({ kind, hits: 3 })).toMatch(/^3 (?!hits)\w/);
});

it('waits for a value, and not forever', async () => {
  const answers = [() => undefined, () => Promise.reject(new Error('away')), () => 'here'];
  expect(await inTime(() => answers.shift()!())).toBe('here');
  expect(await inTime(() => undefined, 20)).toBeUndefined();
  expect(await inTime(() => new Promise<never>(() => undefined), 20)).toBeUndefined();
  const counts = [5, 5, 8];
  expect(await growth(5, () => counts.shift()!)).toBe(3);
});

describe('claims', () => {
  it('of one process leave out the claims of others', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    const mine = (await queue.claim({ worker: 'host:17:abc' }))!;
    await queue.claim({ worker: 'host:171:abc' });
    const seen = { queues: [queue], ground: { admin: state.redis } };
    expect(await claimsHeld(seen)).toHaveLength(2);
    expect(await claimsHeld(seen, 17)).toEqual([
      { id: mine.id, fence: `${mine.fence}`, key: state.keys.job(mine.id), claims: state.keys.claims },
    ]);
  });

  it('are asked for again where Redis was away, of a worker that continues meanwhile', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueue(1);
    await queue.claim({ worker: 'host:17:abc' });
    const calls = queue.calls.bind(queue);
    const signals: string[] = [];
    const kill = (signal: string) => {
      signals.push(signal);
      queue.calls = signals.length === 1 ? () => Promise.reject(new Error('away')) : calls;
    };
    const slot = { child: { pid: 17, kill } } as unknown as Slot; // a freeze reads nothing else
    expect(await freezeAtWork({ queues: [queue], ground: { admin: state.redis } }, slot)).toHaveLength(1);
    expect(signals).toEqual(['SIGSTOP', 'SIGCONT', 'SIGSTOP']);
  });

  it('have expired where their time is over, or where they were reclaimed, and not where they were settled', async () => {
    const { queue, state } = coreQueue();
    const { keys, redis } = state;
    await queue.enqueueMany([1, 2, 3, 4].map((payload) => ({ payload })));
    const [settled, back, late, live] = await queue.claimMany(4);
    const ground = { admin: redis };
    const held = await claimsHeld({ queues: [queue], ground });
    await redis.zadd(keys.claims, 1, back!.id);
    await queue.reclaim();
    await queue.complete(settled!);
    await redis.zadd(keys.claims, 1, late!.id);
    const of = (id: string) => held.filter((claim) => claim.id === id);
    expect(await Promise.all([settled, back, late, live].map((job) => expired({ ground }, of(job!.id))))).toEqual([
      0, 1, 1, 0,
    ]);
  });
});

describe('the written entries', () => {
  it('show an enqueue without a reply, until the reply comes', () => {
    const lines = ['["process",1,"producer"]', '["enqueue",0,3]', '["enqueued",0,3]', '["answer",1,"new","x"]'];
    expect(unanswered(written(...lines, ''))).toBe(0);
    expect(unanswered(written(...lines, '["enqueue",3,20]', '["kind",4,"slow",0]', '["time",7]', ''))).toBe(20);
    expect(unanswered(written(...lines, '["enqueue",3,20]', '["answer",3,"not-sent",""]', '["time",7]', ''))).toBe(
      0,
    );
    expect(unanswered(written(...lines, '["enqueue",3,1]', '["enqueu'))).toBe(1);
  });

  it('is counted by its kind', () => {
    const file = written(
      '["time",1]',
      '["start",1,0,1,9]',
      '["ok",1,0,9]',
      '["start",1,1,1,10]',
      '["stopping"]',
      '',
    );
    expect(countWritten(file, 'start', 'ok')).toBe(3);
  });
});
