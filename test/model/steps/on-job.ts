// Steps on one job, in any state.
import fc from 'fast-check';
import { pick, step, type Step } from '../step.js';
import type { RealQueue } from '../real-queue.js';
import type { QueueModel } from '../rules/queue-model.js';

/** Counts from the newest. */
export const whichJob = fc.nat(12);

export function onJob<Reply>(
  text: string,
  number: number,
  does: (real: RealQueue, id: string, model: QueueModel) => Promise<Reply>,
  says: (model: QueueModel, id: string) => unknown,
): Step {
  return step(`${text} of job -${number + 1}`, {
    when: (model) => model.ids.length > 0,
    does: (real, model) => does(real, pick(model.ids, number), model),
    says: (model) => says(model, pick(model.ids, number)),
  });
}
