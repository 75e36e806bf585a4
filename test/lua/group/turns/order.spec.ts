// The order within a group that runs one job at a time, through all that can become of its head.
import { describe, expect, it } from '@jest/globals';
import type { GroupsOptions } from '#queue/model/limits.js';
import { testQueue, type TestQueue } from '../../../support/queue/queue-state.js';

const HOUR = 3_600_000;
const error = { name: 'Error', message: 'no' };

async function ordered(options: GroupsOptions = {}): Promise<TestQueue> {
  const q = testQueue();
  await q.run(q.scripts.limits.set({ groups: { maxRunning: 1, ...options } }));
  for (const id of ['a', 'b', 'c']) await q.add(id, { group: 'g', max_attempts: 2 });
  return q;
}

const ids = async (q: TestQueue) => (await q.claim(5)).map(({ id }) => id);

describe('a group with maxRunning 1 keeps its order', () => {
  it('through a retry without a delay', async () => {
    const q = await ordered();
    const [a] = await q.claim(5);
    await q.fail(a!, { begun: true });
    expect(await ids(q)).toEqual(['a']);
  });

  it('through backoff: the head that waits for its retry blocks the group', async () => {
    const q = await ordered();
    const [a] = await q.claim(5);
    await q.fail(a!, { backoffMs: HOUR, begun: true });
    expect(await ids(q)).toEqual([]);
    expect(await q.run(q.scripts.groups.named({ names: ['g'] }))).toMatchObject([
      { heldBy: 'a', pending: 2, running: 0 },
    ]);
    await q.makeDue('a');
    expect(await ids(q)).toEqual(['a']);
  });

  it('through a snooze', async () => {
    const q = await ordered();
    const [a] = await q.claim(5);
    await q.run(q.scripts.release([{ ...a!, reason: 'snooze', delayMs: HOUR }]));
    expect(await ids(q)).toEqual([]);
    await q.makeDue('a');
    await q.run(q.scripts.sweep.promote({ limit: 10 }));
    expect(await ids(q)).toEqual(['a']);
  });

  it('through a release and a crash', async () => {
    const q = await ordered();
    const [a] = await q.claim(5);
    await q.run(q.scripts.release([{ ...a!, reason: 'interruption', delayMs: 0 }]));
    expect(await ids(q)).toEqual(['a']);
    await q.expireClaims('a');
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: HOUR, waitMs: 0 }));
    expect(await ids(q)).toEqual(['a']);
  });

  it('through a redrive: the dead letter runs before those that came after it', async () => {
    const q = await ordered();
    const [a] = await q.claim(5);
    await q.fail(a!, { final: true, begun: true });
    await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
    expect(await ids(q)).toEqual(['a']);
  });

  it('continues when the head that blocked it is cancelled, removed or rescheduled', async () => {
    const ends: ((q: TestQueue) => Promise<unknown>)[] = [
      (q) => q.run(q.scripts.cancel({ id: 'a' })),
      (q) => q.run(q.scripts.remove({ id: 'a' })),
      (q) => q.run(q.scripts.reschedule({ id: 'a', delayMs: HOUR })),
    ];
    for (const end of ends) {
      const q = await ordered();
      const [a] = await q.claim(5);
      await q.fail(a!, { backoffMs: HOUR, begun: true });
      await end(q);
      expect(await ids(q)).toEqual(['b']);
    }
  });

  it("onDeadHead 'skip': continues behind a dead letter", async () => {
    const q = await ordered();
    const [a] = await q.claim(5);
    await q.fail(a!, { final: true, begun: true });
    expect(await ids(q)).toEqual(['b']);
  });

  it("onDeadHead 'hold': waits until the dead letter is redriven, removed, discarded or cleaned", async () => {
    const ends: [(q: TestQueue) => Promise<unknown>, string][] = [
      [(q) => q.run(q.scripts.deadLetters.redrive({ ids: ['a'] })), 'a'],
      [(q) => q.run(q.scripts.remove({ id: 'a' })), 'b'],
      [(q) => q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'a' }] })), 'b'],
      [(q) => q.run(q.scripts.clean({ place: 'failed', olderThanMs: 0, limit: 10, passed: 0 })), 'b'],
      [(q) => q.run(q.scripts.groups.clear({ name: 'g' })), 'b'],
    ];
    for (const [end, next] of ends) {
      const q = await ordered({ onDeadHead: 'hold' });
      const [a] = await q.claim(5);
      await q.fail(a!, { final: true, begun: true });
      expect(await ids(q)).toEqual([]);
      await end(q);
      expect(await ids(q)).toEqual([next]);
    }
  });

  it('a job that runs again goes to the back, as new', async () => {
    const q = await ordered();
    const [a] = await q.claim(5);
    await q.complete(a!);
    await q.run(q.scripts.runAgain({ id: 'a', request: 'request' }));
    const line: string[] = [];
    for (let i = 0; i < 3; i++) {
      const [job] = await q.claim(1);
      line.push(job!.id);
      await q.complete(job!);
    }
    expect(line).toEqual(['b', 'c', 'a']);
  });

  it('a settle, a release and a reclaim that are repeated change nothing', async () => {
    const q = await ordered();
    const [a] = await q.claim(5);
    const failure = q.scripts.fail([{ ...a!, error, final: false, backoffMs: 0, begun: true }]);
    expect([await q.run(failure), await q.run(failure)]).toEqual([['retry'], ['retry']]);
    const [again] = await q.claim(5);
    const release = q.scripts.release([{ ...again!, reason: 'interruption', delayMs: 0 }]);
    expect([await q.run(release), await q.run(release)]).toEqual([['released'], ['released']]);
    const [third] = await q.claim(5);
    const completion = q.scripts.complete([{ ...third!, result: '' }]);
    expect([(await q.run(completion)).lost, (await q.run(completion)).lost]).toEqual([[], []]);
    expect(await ids(q)).toEqual(['b']);
  });

  it('through a repeated claim with fewer bytes: what it does not bring is first in line again', async () => {
    const q = testQueue();
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 2 } }));
    const payload = JSON.stringify('x'.repeat(400));
    for (const id of ['a', 'b', 'c']) await q.add(id, { group: 'g' }, payload);
    expect(await q.claim(3, { token: 't', mostBytes: 2_000 })).toHaveLength(2);
    expect(await q.claim(3, { token: 't', mostBytes: 500 })).toMatchObject([{ id: 'a' }]);
    expect(await q.ranked(`${q.keys.groupsPrefix}running:g`)).toEqual(['a']);
    expect(await q.claim(3)).toMatchObject([{ id: 'b', attempt: 1 }]);
    expect(await q.ranked(`${q.keys.groupsPrefix}waiting:g`)).toEqual(['c']);
  });
});
