// The steps of the sequences, which both stores take: one verb each, named like its method.
import fc from 'fast-check';
import { announce, claims, report, settle, workElsewhere } from './consume.js';
import { onGroup, onJob, onLimits, operate } from './operate.js';
import { enqueueIn, enqueuesOnce, onBatch } from './produce.js';
import { recurIn } from './recur.js';
import type { FlowStep } from './side.js';

/**
 * Returns the steps of a queue whose jobs are all of one group, or of none. The order of several groups has specs of its
 * own, test/lua/group/turns. Rates and after are not combined, because a job whose after went wrong waits for the rate
 * before its refusal.
 */
export function flowSteps(group: string | undefined, rates: boolean): fc.Arbitrary<FlowStep> {
  return fc.oneof(
    { weight: 14, arbitrary: enqueueIn(group, !rates) },
    { weight: 3, arbitrary: enqueuesOnce(group) },
    { weight: 12, arbitrary: claims },
    { weight: 12, arbitrary: settle },
    { weight: 5, arbitrary: report },
    { weight: 8, arbitrary: onJob },
    { weight: 4, arbitrary: onGroup(group ?? 'a', rates) },
    { weight: 2, arbitrary: onLimits(rates) },
    { weight: 6, arbitrary: onBatch(group) },
    { weight: 1, arbitrary: workElsewhere },
    { weight: 3, arbitrary: announce },
    { weight: 5, arbitrary: operate },
    { weight: 5, arbitrary: recurIn(group) },
  );
}
