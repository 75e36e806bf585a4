import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

describe('queue/resume.lua', () => {
  it('ends a pause and wakes a worker', async () => {
    const q = testQueue();
    await q.addAll('a');
    await q.run(q.scripts.pause());
    await q.takeWake();
    expect(await q.run(q.scripts.resume())).toBe(true);
    expect(await q.takeWake()).toBe(true);
    expect((await q.claim(1)).map((job) => job.id)).toEqual(['a']);
  });

  it('I3: repeated it says no and changes nothing', async () => {
    const q = testQueue();
    await q.run(q.scripts.pause());
    await q.run(q.scripts.resume());
    expect(await expectUnchanged(q, () => q.run(q.scripts.resume()))).toBe(false);
  });
});
