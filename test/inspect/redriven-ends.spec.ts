import { expect, it } from '@jest/globals';
import { endsOf, type RedrivenEnds } from '#inspect/redriven-ends.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { JobStatus } from '#queue/model/job.js';

/** Returns a queue whose jobs have these states at the first look, the second and so on. `null` is a job that is gone. */
function queueOf(looks: Readonly<Record<string, readonly (JobStatus | null)[]>>) {
  const asked: string[] = [];
  const get = async (id: string) => {
    const states = looks[id]!;
    const status = states[Math.min(asked.filter((each) => each === id).length, states.length - 1)];
    asked.push(id);
    return status === null ? null : { id, status };
  };
  const queue = { get } as unknown as JobQueue;
  return { jobs: Object.keys(looks).map((id) => ({ queue, id })), asked };
}

function figuresOf({ completed, failed, gone, open }: RedrivenEnds) {
  return { completed, failed: failed.map(({ id }) => id), gone, open };
}

it('counts each end of a redriven job once, and looks no more at those that have ended', async () => {
  const { jobs, asked } = queueOf({
    done: ['completed'],
    also: ['completed'],
    again: ['failed'],
    stopped: ['cancelled'],
    gone: [null],
  });
  const seen = [];
  for await (const ends of endsOf(jobs)) seen.push(figuresOf(ends));
  expect(seen).toEqual([{ completed: 2, failed: ['again'], gone: 1, open: 0 }]);
  expect(asked).toHaveLength(5);
});

it('adds up the ends of several looks', async () => {
  const { jobs } = queueOf({
    first: ['completed'],
    later: ['pending', 'completed'],
    running: ['processing', 'failed'],
    kept: ['scheduled', null],
  });
  const seen = [];
  for await (const ends of endsOf(jobs)) seen.push(figuresOf(ends));
  expect(seen).toEqual([
    { completed: 1, failed: [], gone: 0, open: 3 },
    { completed: 2, failed: ['running'], gone: 1, open: 0 },
  ]);
});

it('ends with the signal of the caller', async () => {
  const { jobs } = queueOf({ long: ['processing'] });
  const ending = new AbortController();
  let looks = 0;
  for await (const { open } of endsOf(jobs, ending.signal)) {
    expect(open).toBe(1);
    looks++;
    ending.abort();
  }
  expect(looks).toBe(1);
});
