import { describe, expect, it } from '@jest/globals';
import type { AskedOptions } from '#queue/store/asked-options.js';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const MINUTE = 60_000;

/** Adds one job with options as a store takes them. */
async function add(q: TestQueue, id: string, options?: AskedOptions, payload = '{}') {
  const job = { id, name: q.name, payload, ...(options && { options }) };
  const [answer] = await q.run(q.scripts.enqueue([job]));
  return answer!;
}

async function startOf(q: TestQueue, id: string): Promise<number> {
  return Number(await q.redis.zscore(q.keys.scheduled, id));
}

/** Makes the job look as if its enqueue was so long ago. */
async function age(q: TestQueue, id: string, ms: number): Promise<void> {
  await q.redis.hset(q.keys.job(id), 'enqueued_at_ms', (await q.now()) - ms);
}

describe('job/enqueue-newest.lua: a debounce with a longest wait', () => {
  const debounce: AskedOptions = {
    unique: { key: 'k', for: 'pending', onConflict: 'replace', maxDelayMs: 3 * MINUTE },
    delayMs: MINUTE,
  };

  it('starts the delay again, while the bound is further away', async () => {
    const q = testQueue();
    expect(await add(q, 'a', debounce)).toEqual({ id: 'a', outcome: 'new' });
    await age(q, 'a', MINUTE);
    expect(await add(q, 'b', debounce, '"new"')).toEqual({ id: 'a', outcome: 'replaced' });
    expect(Math.abs((await startOf(q, 'a')) - (await q.now()) - MINUTE)).toBeLessThan(5_000);
    expect(await q.field('a', 'payload')).toBe('"new"');
  });

  it('starts no later than the bound behind the first enqueue', async () => {
    const q = testQueue();
    await add(q, 'a', debounce);
    await age(q, 'a', 2.5 * MINUTE);
    for (const id of ['b', 'c']) {
      expect(await add(q, id, debounce, `"${id}"`)).toEqual({ id: 'a', outcome: 'replaced' });
      expect(await startOf(q, 'a')).toBe(Number(await q.field('a', 'enqueued_at_ms')) + 3 * MINUTE);
    }
    expect(await q.field('a', 'payload')).toBe('"c"');
  });

  it('starts at once if the bound has passed', async () => {
    const q = testQueue();
    await add(q, 'a', debounce);
    await age(q, 'a', 5 * MINUTE);
    expect(await add(q, 'b', debounce)).toEqual({ id: 'a', outcome: 'replaced' });
    expect(await q.status('a')).toBe('pending');
    expect(await q.pending()).toEqual(['a']);
    expect(await q.takeWake()).toBe(true);
  });

  it('begins a new wait for a job that waits for a retry', async () => {
    const q = testQueue();
    const first = await add(q, 'a', { ...debounce, delayMs: 0 });
    expect(first.outcome).toBe('new');
    const [job] = await q.claim(1);
    await q.fail(job!, { backoffMs: 10 * MINUTE });
    await age(q, 'a', 10 * MINUTE);
    expect((await add(q, 'b', debounce)).outcome).toBe('replaced');
    expect(Math.abs((await startOf(q, 'a')) - (await q.now()) - MINUTE)).toBeLessThan(5_000);
    const [since, fence] = (await q.field('a', 'debounce'))!.split(' ');
    expect(fence).toBe(await q.field('a', 'fence'));
    await q.redis.hset(q.keys.job('a'), 'debounce', `${Number(since) - 2.5 * MINUTE} ${fence}`);
    await add(q, 'c', debounce);
    expect(await startOf(q, 'a')).toBe(Number(since) + MINUTE / 2);
  });

  it('I3: repeated after a lost reply changes nothing', async () => {
    const q = testQueue();
    await add(q, 'a', debounce);
    const first = await add(q, 'b', debounce, '"b"');
    expect(await expectUnchanged(q, () => add(q, 'b', debounce, '"b"'))).toEqual(first);
  });

  it('bounds each job of one call, beside plain ones', async () => {
    const q = testQueue();
    await add(q, 'a', debounce);
    await age(q, 'a', 2.5 * MINUTE);
    const jobs = ['b', 'plain', 'c'].map((id) => ({
      id,
      name: q.name,
      payload: `"${id}"`,
      ...(id !== 'plain' && { options: debounce }),
    }));
    const answers = await q.run(q.scripts.enqueue(jobs));
    expect(answers.map(({ outcome }) => outcome)).toEqual(['replaced', 'new', 'replaced']);
    expect(await startOf(q, 'a')).toBe(Number(await q.field('a', 'enqueued_at_ms')) + 3 * MINUTE);
    expect(await q.pending()).toEqual(['plain']);
  });
});
