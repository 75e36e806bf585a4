// Two versions of an app on one queue, as in a deploy, whose handlers have different limits. No job is lost, and one
// limit applies.
import { expect, it } from '@jest/globals';
import { JobFailedError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { HandlerOptions } from '#worker/handlers/handler.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

type Version = 'old' | 'new';

function handle(): never {
  throw new Error('no');
}

/** Makes a queue that two versions served: `last` announced last, and only `runs` still runs. */
async function deploy(options: Record<Version, HandlerOptions>, last: Version, runs: Version): Promise<JobQueue> {
  const queue = newQueue();
  const start = (version: Version) =>
    startWorker([{ queue, handlers: { [queue.name]: { handle, ...options[version] } } }]);
  const first = await start(last === 'old' ? 'new' : 'old');
  const second = await start(last);
  await (runs === last ? first : second).worker.stop();
  return queue;
}

it.each<[last: Version, runs: Version, attempts: number]>([
  ['old', 'old', 3],
  ['new', 'old', 1],
  ['old', 'new', 1],
  ['new', 'new', 1],
])(
  'a failure is judged as the %s version said last, a claim as the %s one that makes it: %i attempts, then a dead letter',
  async (last, runs, attempts) => {
    const queue = await deploy({ old: { maxAttempts: 3 }, new: { maxAttempts: 1 } }, last, runs);
    const job = await queue.enqueue(1);
    await expect(job.result()).rejects.toThrow(JobFailedError);
    const { jobs } = await queue.deadLetters.list();
    expect(jobs).toMatchObject([{ id: job.id, attempts, status: 'failed' }]);
  },
);
