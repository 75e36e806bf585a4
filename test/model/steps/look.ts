// Reads of the queue that the comparison after every step leaves out.
import fc from 'fast-check';
import { JobFailedError } from '#queue/errors/errors.js';
import type { RealQueue } from '../real-queue.js';
import { resultOf } from '../rules/ends.js';
import { oneOf, step, type Step } from '../step.js';
import { onJob, whichJob } from './on-job.js';

const results = whichJob.map((number) =>
  onJob(
    'result',
    number,
    // A wait for an unfinished job times out, because the next step comes only after this one.
    (real, id, model) => answered(real, id, resultOf(model, id) === 'JobTimeoutError' ? { timeoutMs: 0 } : {}),
    resultOf,
  ),
);

async function answered(real: RealQueue, id: string, options: { timeoutMs?: number }) {
  try {
    return { result: await real.queue.result(id, options) };
  } catch (error) {
    return error instanceof JobFailedError
      ? { reason: error.reason, attempts: error.attempts }
      : (error as Error).name;
  }
}

const letters = whichJob.map((number) =>
  onJob(
    'deadLetters.get',
    number,
    async (real, id) => {
      const letter = await real.queue.deadLetters.get(id);
      return letter && { id: letter.id, lastError: letter.lastError };
    },
    (model, id) => {
      const job = model.jobs.get(id);
      return job?.status === 'failed' ? { id, lastError: job.lastError } : null;
    },
  ),
);

const audits = fc.constant(step('doctor', { does: (real) => real.audit(), says: () => [] }));

export const looks: fc.Arbitrary<Step> = oneOf([5, results], [2, letters], [1, audits]);
