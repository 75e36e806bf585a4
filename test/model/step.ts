// A step of a sequence: the same verb on the real queue and by the rules. The replies must be equal, and so must the
// visible state after it.
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { foundState, ruledState } from './observed.js';
import type { RealQueue } from './real-queue.js';
import type { QueueModel } from './rules/queue-model.js';

interface Verb<Reply> {
  /** Acts on the real queue. Picks (a job, a claim) are by the model, which knows what there is. */
  does: (real: RealQueue, model: QueueModel) => Promise<Reply>;
  /** The reply by the rules. It gets the real reply for random values: new ids and tokens. */
  says: (model: QueueModel, found: Reply, real: RealQueue) => unknown;
  /** Returns whether the step makes sense now. */
  when?: (model: QueueModel) => boolean;
}

export type Step = fc.AsyncCommand<QueueModel, RealQueue>;

export function step<Reply>(text: string, { does, says, when = () => true }: Verb<Reply>): Step {
  return {
    check: (model) => when(model),
    toString: () => text,
    async run(model, real) {
      model.setNow((await real.nextMoment()) + model.passed);
      const found = await does(real, model);
      await real.endMoment();
      real.story.push(`${text} -> ${JSON.stringify(found)}`);
      await told(real, async () => {
        expect({ answer: found }).toEqual({ answer: says(model, found, real) });
        expect(await foundState(real, model)).toEqual(ruledState(model));
      });
    },
  };
}

/** Returns the option for which a call was refused. The rules know no other failure. */
export function refusedOption(error: unknown): string {
  if (error instanceof InvalidOptionError) {
    return error.subject;
  }
  throw error;
}

/** Returns a step of one of some kinds, each as often as its weight says. */
export function oneOf(...weights: [number, fc.Arbitrary<Step>][]): fc.Arbitrary<Step> {
  return fc.oneof(...weights.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** Adds the story of the calls to a failure. */
async function told(real: RealQueue, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (failure) {
    const story = real.story.map((line, i) => `  ${i + 1}. ${line}`).join('\n');
    throw new Error(
      `After these steps the queue is not as the rules say:\n${story}\n${(failure as Error).message}`,
      {
        cause: failure,
      },
    );
  }
}

/** Picks an item by any number, from the end, so that a shrunk number picks a recent item. */
export function pick<Item>(items: readonly Item[], number: number): Item {
  return items[items.length - 1 - (number % items.length)]!;
}
