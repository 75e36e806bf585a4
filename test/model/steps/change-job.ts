// Operators' changes to one job.
import fc from 'fast-check';
import { promote, runAgain, setPriority, update } from '../rules/change-job.js';
import { oneOf, type Step } from '../step.js';
import { onJob, whichJob } from './on-job.js';

const promotes = whichJob.map((number) => onJob('promote', number, (real, id) => real.queue.promote(id), promote));

const updates = fc.tuple(whichJob, fc.constantFrom('changed', 7)).map(([number, payload]) =>
  onJob(
    `update(${payload})`,
    number,
    (real, id) => real.queue.update(id, payload),
    (model, id) => update(model, id, payload),
  ),
);

const priorities = fc.tuple(whichJob, fc.constantFrom(0, 1, 9)).map(([number, priority]) =>
  onJob(
    `setPriority(${priority})`,
    number,
    (real, id) => real.queue.setPriority(id, priority),
    (model, id) => setPriority(model, id, priority),
  ),
);

const reruns = whichJob.map((number) => onJob('runAgain', number, (real, id) => real.queue.runAgain(id), runAgain));

export const changes: fc.Arbitrary<Step> = oneOf([1, promotes], [1, updates], [1, priorities], [2, reruns]);
