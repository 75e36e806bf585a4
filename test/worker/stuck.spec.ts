// A handler that ignores its signal keeps its slot: operators are told, again and again, until it ends.
import { describe, expect, it } from '@jest/globals';
import { StuckWatch } from '../../src/worker/stuck.js';
import { eventually, gate } from '../support/wait.js';
import { newQueue, startWorker } from '../support/workers.js';

/** A lane with one handler that goes on after a cancel, and a clock that the test sets. */
function watched() {
  const job = { id: '7', name: 'report', attempt: 2, abortReason: new Error('Job 7 was cancelled.') };
  const attempts = new Set([{ job, begun: true }]);
  const clock = { ms: 1_000_000 };
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const lane = { name: 'reports', attempts, reportStuck: () => say('reported') };
  const watch = new StuckWatch(lane, { log: say, warn: say, error: say }, () => clock.ms);
  const lookAfter = (ms: number) => {
    clock.ms += ms;
    watch.look();
  };
  return { watch, said, attempts, lookAfter };
}

describe('the watch for stuck handlers', () => {
  it('reports one that goes on for five seconds after its abort, and not before', () => {
    const { watch, said, lookAfter } = watched();
    lookAfter(0);
    lookAfter(4_999);
    expect([said, watch.stuck]).toEqual([[], []]);
    lookAfter(1);
    expect(said).toEqual(['reported']);
    const told = { queue: 'reports', id: '7', name: 'report', attempt: 2, reason: 'Job 7 was cancelled.' };
    expect(watch.stuck).toEqual([{ ...told, forMs: 5_000 }]);
  });

  it('warns of it again every minute, and says when it has ended', () => {
    const { watch, said, attempts, lookAfter } = watched();
    [0, 5_000, 59_000, 1_000, 30_000, 30_000].forEach(lookAfter);
    expect(said).toEqual([
      'reported',
      expect.stringMatching(
        /^The handler of job 7 \(report\) of queue "reports" still goes on, 65 s after .*cancelled/,
      ),
      expect.stringMatching(/still goes on, 125 s after/),
    ]);
    attempts.clear();
    expect(watch.stuck).toEqual([]);
    lookAfter(1_000);
    lookAfter(1_000);
    expect(said.slice(3)).toEqual([expect.stringMatching(/job 7 .*was stuck, has ended 126 s after/)]);
  });

  it('says nothing of one that ends in time', () => {
    const { said, attempts, lookAfter } = watched();
    lookAfter(0);
    attempts.clear();
    lookAfter(10_000);
    expect(said).toEqual([]);
  });
});

describe('worker.stuck', () => {
  it('lists the job until its handler ends', async () => {
    const queue = newQueue({ visibilityMs: 300, maxAttempts: 1 });
    const { id } = await queue.enqueue({}, { timeoutMs: 10 });
    const finish = gate();
    const worker = await startWorker(queue, () => finish.promise);
    await worker.event('failed');
    expect(worker.worker.stuck).toEqual([]);
    await worker.event('stuck');
    const [stuck] = worker.worker.stuck;
    expect(stuck).toMatchObject({ queue: queue.name, id, name: queue.name, attempt: 1 });
    expect(stuck!.reason).toContain('ran longer than its timeoutMs of 10 ms');
    expect(stuck!.forMs).toBeGreaterThanOrEqual(5_000);
    finish.open();
    await eventually(() => worker.worker.running === 0);
    expect(worker.worker.stuck).toEqual([]);
  });
});
