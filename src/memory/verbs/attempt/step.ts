// Records the steps of a job; see lua/attempt/step.lua.
import type { ClaimRef } from '../../../queue/model/job.js';
import { MOST_BYTES_OF_STEPS, MOST_STEPS, type StepOutcome, type StoredStep } from '../../../queue/model/step.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';

/** Returns the recorded steps; with a step records it, and returns the outcome. */
export function recordStep(
  queue: MemoryQueue,
  { id, token }: Pick<ClaimRef, 'id' | 'token'>,
  step?: { name: string; result: string },
): StepOutcome | StoredStep[] {
  const job = queue.job(id);
  if (token === '' || job?.claim_token !== token) {
    return 'lost';
  }
  const steps = job.steps ?? '';
  const known = stepsOf(job);
  if (!step) {
    return known;
  }
  if (known.some(({ name }) => name === step.name)) {
    return 'recorded';
  }
  const all = `${steps}${[step.name, queue.now, job.attempts ?? '0', step.result].join('\t')}\n`;
  if (known.length >= MOST_STEPS) {
    return 'steps';
  }
  if (Buffer.byteLength(all) > MOST_BYTES_OF_STEPS) {
    return 'bytes';
  }
  job.steps = all;
  return 'recorded';
}

/** Returns the recorded steps of a job. */
export function stepsOf({ steps = '' }: Hash): StoredStep[] {
  const lines = steps.split('\n').filter(Boolean);
  return lines.map((line) => {
    const [name, at, attempt, result] = line.split('\t') as [string, string, string, string];
    return { name, at: new Date(Number(at)), attempt: Number(attempt), result };
  });
}
