// Steps with groups, limits, batches and after: one verb each, named like its method.
import fc from 'fast-check';
import type { Batch } from '#queue/batches/batch.js';
import type { ClaimedJob } from '#queue/model/job.js';
import type { JobQueue } from '#queue/job-queue.js';
import { tendBatches } from '#queue/operate/tend-batches.js';

const HOUR = 3_600_000;

/** A queue on one of the stores, with its caller's state. */
export interface Side {
  readonly queue: JobQueue;
  claims: ClaimedJob[];
  readonly ids: string[];
  readonly batches: Batch<JobQueue>[];
}

export interface FlowStep {
  readonly text: string;
  toString(): string;
  does(side: Side): Promise<unknown>;
}

function step(text: string, does: FlowStep['does']): FlowStep {
  return { text, does, toString: () => text };
}

/** Picks one of a list, from its end, as the two sides have the same. */
function pick<Item>(items: readonly Item[], number: number): Item | undefined {
  return items.length === 0 ? undefined : items[items.length - 1 - (number % items.length)];
}

const any = fc.nat({ max: 7 });
const rate = fc.constantFrom({ limit: 1, periodMs: HOUR, burst: 3 }, { limit: 1, periodMs: HOUR, burst: 1 });
const rarely = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 3, nil: undefined });
const optionsIn = (group: string | undefined) =>
  fc.record({
    group: fc.constant(group),
    priority: rarely(fc.constantFrom(1, 5)),
    lifo: rarely(fc.constant(true)),
    cost: rarely(fc.constantFrom(2, 3)),
    delayMs: rarely(fc.constant(HOUR)),
    metadata: rarely(fc.constant({ tenant: 'a' })),
    maxAttempts: rarely(fc.constantFrom(1, 2)),
  });

function given(asked: object): object {
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
}

async function add({ queue, ids }: Side, asked: object, after?: number, batch?: Batch<JobQueue>): Promise<unknown> {
  const id = `j${String(ids.length).padStart(3, '0')}`;
  const before = after === undefined ? undefined : pick(ids, after);
  const all = { ...given(asked), id, ...(before && { after: [before] }) };
  ids.push(id); // also for a refused batch
  const { outcome } = await (batch ? batch.add(queue.name, ids.length, all) : queue.enqueue(ids.length, all));
  return outcome;
}

const enqueueIn = (group: string | undefined, mayWait: boolean) =>
  fc
    .tuple(optionsIn(group), mayWait ? rarely(any) : fc.constant(undefined))
    .map(([asked, after]) =>
      step(`enqueue(${JSON.stringify(given({ ...asked, after }))})`, (side) => add(side, asked, after)),
    );

const claim = fc.constantFrom(1, 1, 2, 5).map((count) =>
  step(`claimMany(${count})`, async (side) => {
    const found = await side.queue.claimMany(count);
    side.claims.push(...found);
    return found.map(({ id, attempt, checkpoint }) => ({ id, attempt, checkpoint }));
  }),
);

type Settle = (queue: JobQueue, job: ClaimedJob) => Promise<unknown>;
const settles: [string, Settle][] = [
  ['complete', (queue, job) => queue.complete(job, job.id)],
  ['complete', (queue, job) => queue.complete(job)],
  ['fail', (queue, job) => queue.fail(job, new Error('no'), { delayMs: 0 })],
  ['fail', (queue, job) => queue.fail(job, new Error('no'), { delayMs: HOUR })],
  ['fail', (queue, job) => queue.fail(job, new Error('no'), { final: true })],
  ['release', (queue, job) => queue.release(job)],
  ['release', (queue, job) => queue.release(job, { delayMs: HOUR })],
];
const settle = fc.tuple(fc.constantFrom(...settles), any).map(([[name, does], number]) =>
  step(`${name}(${number}) ${does.toString().slice(16)}`, async (side) => {
    const job = pick(side.claims, number);
    side.claims = side.claims.filter((each) => each !== job);
    return job && does(side.queue, job);
  }),
);

/** The calls of a worker for a job that it has claimed, also after the claim ended. */
const reports: [string, Settle][] = [
  ['checkpoint', (queue, job) => queue.exec((calls) => calls.checkpoint(job, `{"of":"${job.id}"}`))],
  ['progress', (queue, job) => queue.exec((calls) => calls.progress(job, '50'))],
  ['start', (queue, job) => queue.exec((calls) => calls.start(job))],
  ['setName', (queue, job) => queue.exec((calls) => calls.setName({ ...job, name: 'renamed' }))],
];
const report = fc.tuple(fc.constantFrom(...reports), any).map(([[name, does], number]) =>
  step(`${name}(${number})`, async (side) => {
    const job = pick(side.claims, number);
    return job && does(side.queue, job);
  }),
);

const verbs: [string, (queue: JobQueue, id: string) => Promise<unknown>][] = [
  ['cancel', (queue, id) => queue.cancel(id)],
  ['remove', (queue, id) => queue.remove(id)],
  ['promote', (queue, id) => queue.promote(id)],
  ['promote', (queue, id) => queue.promote(id)],
  ['update', (queue, id) => queue.update(id, 'newer')],
  ['setPriority', (queue, id) => queue.setPriority(id, 5)],
  ['runAgain', (queue, id) => queue.runAgain(id)],
  ['deadLetters.redrive', (queue, id) => queue.deadLetters.redrive(id)],
  ['deadLetters.discard', (queue, id) => queue.deadLetters.discard(id)],
];
const onJob = fc.tuple(fc.constantFrom(...verbs), any).map(([[name, does], number]) =>
  step(`${name}(${number})`, async ({ queue, ids }) => {
    const id = pick(ids, number);
    return id === undefined ? undefined : does(queue, id);
  }),
);

const groupLimits = (rates: boolean) =>
  fc
    .record({
      maxRunning: rarely(fc.constantFrom(1, 1, 2)),
      weight: rarely(fc.constantFrom(1, 3)),
      rateLimit: rates ? rarely(rate) : fc.constant(undefined),
      onDeadHead: rarely(fc.constantFrom('skip', 'hold')),
    })
    .map(given);
const onGroup = (group: fc.Arbitrary<string>, rates: boolean) =>
  fc.oneof(
    fc
      .tuple(group, groupLimits(rates))
      .map(([name, limits]) =>
        step(`groups.set(${name}, ${JSON.stringify(limits)})`, ({ queue }) => queue.groups.set(name, limits)),
      ),
    group.map((name) => step(`groups.clear(${name})`, ({ queue }) => queue.groups.clear(name))),
    group.map((name) => step(`groups.pause(${name})`, ({ queue }) => queue.groups.pause(name))),
    group.map((name) => step(`groups.resume(${name})`, ({ queue }) => queue.groups.resume(name))),
    group.map((name) => step(`groups.clean(${name})`, ({ queue }) => queue.groups.clean(name))),
  );

const queueLimits = (rates: boolean) =>
  fc
    .record({
      maxRunning: rarely(fc.constantFrom(1, 3)),
      rateLimit: rates ? rarely(rate) : fc.constant(undefined),
      maxPending: rarely(fc.constant(6)),
    })
    .map(given);
const onLimits = (rates: boolean) =>
  fc.oneof(
    queueLimits(rates).map((limits) =>
      step(`limits.set(${JSON.stringify(limits)})`, ({ queue }) => queue.limits.set(limits)),
    ),
    fc.constant(step('limits.clear()', ({ queue }) => queue.limits.clear())),
  );

const onBatch = (group: string | undefined) =>
  fc.oneof(
    fc.boolean().map((failFast) =>
      step(`batch(${failFast})`, async (side) => {
        const followUp = { name: side.queue.name, ...(group && { group }) };
        const id = `b${side.batches.length}`;
        side.batches.push(
          side.queue.batch({ id, failFast, then: followUp, onFailure: followUp, finally: followUp }),
        );
      }),
    ),
    fc.tuple(optionsIn(group), any).map(([asked, number]) =>
      step(`batch.add(${number}, ${JSON.stringify(given(asked))})`, async (side) => {
        const batch = pick(side.batches, number);
        return batch && add(side, asked, undefined, batch);
      }),
    ),
    any.map((number) => step(`batch.seal(${number})`, async ({ batches }) => pick(batches, number)?.seal())),
    fc.constant(
      step('listBatches()', async ({ queue }) => (await queue.listBatches()).map(({ id }) => id).toSorted()),
    ),
    fc
      .nat({ max: 2 })
      .map((number) => step(`batch.cancel(${number})`, async ({ batches }) => pick(batches, number)?.cancel())),
  );

const pause = fc.oneof(
  fc.constant(step('pause()', ({ queue }) => queue.pause())),
  fc.constant(step('resume()', ({ queue }) => queue.resume())),
  fc.constant(step('clean()', ({ queue }) => queue.clean('pending'))),
);

/** Runs maintenance, so that both sides have reported each end. */
export async function maintain({ queue }: Side): Promise<void> {
  await tendBatches(queue, { all: true });
  await queue.exec((calls) => calls.sweep.promote(100));
}

/**
 * Returns the steps of a queue whose jobs are all of one group, or of none. The order of several groups is not
 * compared, because the memory store takes turns without virtual time. Rates are not combined with `after`. On
 * Redis, a job whose `after` failed waits for the rate before its refusal.
 */
export function flowSteps(group: string | undefined, rates: boolean): fc.Arbitrary<FlowStep> {
  return fc.oneof(
    { weight: 12, arbitrary: enqueueIn(group, !rates) },
    { weight: 10, arbitrary: claim },
    { weight: 10, arbitrary: settle },
    { weight: 4, arbitrary: report },
    { weight: 6, arbitrary: onJob },
    { weight: 4, arbitrary: onGroup(fc.constant(group ?? 'a'), rates) },
    { weight: 2, arbitrary: onLimits(rates) },
    { weight: 5, arbitrary: onBatch(group) },
    { weight: 1, arbitrary: pause },
  );
}
