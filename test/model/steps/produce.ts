// Enqueue and enqueueMany with every option.
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { RealQueue } from '../real-queue.js';
import { enqueue, refusedAt, type ModelEnqueueOptions } from '../rules/enqueue.js';
import type { QueueModel } from '../rules/queue-model.js';
import { refusedOption, step, type Step } from '../step.js';
import { MINUTE } from './units.js';

/** Gives a value in one case of four; fc.option gives it in half of them at least. */
const rarely = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

type UniqueOptions = NonNullable<EnqueueOptions['unique']>;

const unique = fc.record(
  {
    key: fc.constantFrom('red', 'blue'),
    for: fc.oneof(fc.constantFrom('pending', 'unfinished'), fc.constant({ ms: 25 * MINUTE })),
    onConflict: fc.constantFrom('keep', 'replace'),
  },
  { requiredKeys: ['key', 'for'] },
) as fc.Arbitrary<UniqueOptions>;

const start = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record({ delayMs: fc.constantFrom(0, 30 * MINUTE, 60 * MINUTE) }) },
  { weight: 1, arbitrary: fc.record({ runAtOffsetMs: fc.constantFrom(-10 * MINUTE, 45 * MINUTE) }) },
);

const options: fc.Arbitrary<ModelEnqueueOptions> = fc
  .tuple(
    start,
    fc.record({
      id: rarely(fc.constantFrom('a', 'b', 'c')),
      name: rarely(fc.constantFrom('mail', 'bill')),
      priority: rarely(fc.constantFrom(1, 5, 5, 1_000)),
      maxAttempts: rarely(fc.constantFrom(1, 2)),
      maxCrashes: rarely(fc.constantFrom(1, 3)),
      backoff: rarely(fc.constant(30 * MINUTE)),
      expiresInMs: rarely(fc.constant(20 * MINUTE)),
      unique: rarely(unique),
      metadata: rarely(fc.constantFrom({ trace: '1' }, { trace: '2' })),
    }),
  )
  .map(([when, rest]) => given({ ...when, ...rest }));

const payload = fc.oneof(fc.integer({ min: 1, max: 99 }), fc.constantFrom('text', null, { to: ['ada'] }));
const job = fc.tuple(payload, options);

export const enqueues: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: job.map((one) => enqueueStep([one], 'enqueue')) },
  {
    weight: 1,
    arbitrary: fc.array(job, { minLength: 2, maxLength: 4 }).map((many) => enqueueStep(many, 'enqueueMany')),
  },
);

/** Enqueues that mostly want one of two unique keys. So an ending job often meets a key that a newer job owns. */
export const rivals: fc.Arbitrary<Step> = fc
  .record({
    unique: fc.record({
      key: fc.constantFrom('red', 'blue'),
      for: fc.constantFrom<UniqueOptions['for'][]>('pending', 'pending', 'unfinished', { ms: 25 * MINUTE }),
      onConflict: fc.constantFrom('keep', 'keep', 'replace'),
    }),
    id: rarely(fc.constantFrom('a', 'b', 'c')),
    maxAttempts: rarely(fc.constant(1)),
  })
  .map((asked) => enqueueStep([[1, given(asked)]], 'enqueue'));

function enqueueStep(jobs: [unknown, ModelEnqueueOptions][], verb: 'enqueue' | 'enqueueMany'): Step {
  return step(`${verb}(${jobs.map(told).join(', ')})`, {
    does: async (real) => {
      try {
        return (await enqueueIt(real, jobs, verb)).map(({ id, outcome, name }) => ({ id, outcome, name }));
      } catch (error) {
        return refusedOption(error);
      }
    },
    says: (model, found, real) => {
      const refused = refusedAt(
        model,
        jobs.map(([, asked]) => asked),
      );
      if (refused !== undefined) {
        return `${verb === 'enqueue' ? verb : `${verb}[${refused}]`}.expiresInMs`;
      }
      const drawn = (i: number) =>
        typeof found !== 'string' && found[i]?.outcome === 'new' ? found[i].id : randomUUID();
      return jobs.map((each, i) => ruled(model, real, each, drawn(i)));
    },
  });
}

function ruled(model: QueueModel, real: RealQueue, [value, asked]: [unknown, ModelEnqueueOptions], drawn: string) {
  const says = enqueue(model, real.queue.name, asked.id ?? drawn, value, asked);
  return { ...says, name: model.jobs.get(says.id)?.name ?? asked.name ?? real.queue.name };
}

async function enqueueIt(real: RealQueue, jobs: [unknown, ModelEnqueueOptions][], verb: 'enqueue' | 'enqueueMany') {
  const now = await real.now();
  const requests = jobs.map(([value, asked]) => ({ payload: value, ...optionsOf(asked, now) }));
  if (verb === 'enqueueMany') {
    return real.queue.enqueueMany(requests);
  }
  return [await real.queue.producer.one(undefined, jobs[0]![0], optionsOf(jobs[0]![1], now))];
}

/** Converts options of the model, where a start time is a distance from now. */
function optionsOf({ runAtOffsetMs, ...rest }: ModelEnqueueOptions, now: number): EnqueueOptions {
  return runAtOffsetMs === undefined ? rest : { ...rest, runAt: now + runAtOffsetMs };
}

function given<Options extends object>(asked: Options): Options {
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)) as Options;
}

function told([value, asked]: [unknown, ModelEnqueueOptions]): string {
  return JSON.stringify(value) + (Object.keys(asked).length > 0 ? ` ${JSON.stringify(asked)}` : '');
}
