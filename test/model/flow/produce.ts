// Enqueues and batches.
import fc from 'fast-check';
import { Batch } from '#queue/batches/batch.js';
import { ClaimLostError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { encodeJob } from '#queue/enqueue/encode-job.js';
import type { DeadEntry, OnceEntry } from '#queue/verbs/once.js';
import { ask, drawnIndex, given, HOUR, MINUTE, pick, rarely, step, type Side } from './side.js';
import { sealedError } from '../../support/queue/unsealed.js';

const optionsIn = (group: string | undefined) =>
  fc
    .record({
      group: fc.constant(group),
      name: rarely(fc.constantFrom('mail', 'image')),
      priority: rarely(fc.constantFrom(1, 5)),
      lifo: rarely(fc.constant(true)),
      cost: rarely(fc.constantFrom(2, 3)),
      delayMs: rarely(fc.constant(HOUR)),
      expiresInMs: rarely(fc.constant(2 * HOUR)),
      unique: rarely(
        fc.constantFrom(
          { key: 'k', for: 'pending' },
          { key: 'k', for: 'unfinished' },
          { key: 'k', for: { ms: HOUR } },
          { key: 'k', for: 'unfinished', onConflict: 'replace' },
          { key: 'l', for: 'unfinished', onConflict: 'replace' },
        ),
      ),
      metadata: rarely(fc.constant({ tenant: 'a' })),
      maxAttempts: rarely(fc.constantFrom(1, 2)),
      resultTtlMs: rarely(fc.constant(30 * MINUTE)),
    })
    .map(({ lifo, ...asked }) =>
      asked.group === undefined && asked.priority === undefined ? { ...asked, lifo } : asked,
    );

interface Asked {
  name?: string | undefined;
  unique?: { key: string } | undefined;
  lifo?: boolean | undefined;
}

function nextId({ ids, named }: Side): string {
  return named(`j${String(ids.length).padStart(3, '0')}`);
}

/** Returns options with the names of a side. */
function namedIn<Options extends Asked>({ named }: Side, { name, unique, ...others }: Options) {
  return {
    ...others,
    name: name === undefined ? undefined : named(name),
    unique: unique && { ...unique, key: named(unique.key) },
  };
}

async function add(side: Side, drawn: Asked, after?: number): Promise<unknown> {
  const { queue, ids } = side;
  const asked = namedIn(side, drawn);
  const id = nextId(side);
  const before = after === undefined ? undefined : pick(ids, after);
  ids.push(id); // also for a refused one
  const waits = before && { after: [before], unique: undefined, lifo: undefined };
  const { outcome, id: owner } = await queue.enqueue(ids.length, given({ ...asked, id, ...waits }));
  return { outcome, owner };
}

/** Adds a job to the other queue, and one that waits for it and for an earlier one. */
async function addAfterElsewhere(side: Side, drawn: Asked, earlier: number): Promise<unknown> {
  const { queue, other, ids } = side;
  const asked = namedIn(side, drawn);
  const [id, before] = [nextId(side), `before-${ids.length}`];
  await other.enqueue(ids.length, { id: before });
  const own = pick(ids, earlier);
  ids.push(id);
  const after = [{ queue: other.name, id: before }, ...(own === undefined ? [] : [own])];
  const options = given({ ...asked, id, after, unique: undefined, lifo: undefined });
  return (await queue.enqueue(ids.length, options)).outcome;
}

async function addMember(side: Side, drawn: Asked, batch: Batch<JobQueue>): Promise<unknown> {
  const { name, unique: _unique, ...asked } = namedIn(side, drawn);
  const id = nextId(side);
  side.ids.push(id);
  return (await batch.add(name ?? side.queue.name, side.ids.length, given({ ...asked, id }))).outcome;
}

/** Adds a member by a running member of the same batch, or by one whose claim is lost. */
async function addByMember(side: Side, drawn: Asked, isElsewhere: boolean, number: number) {
  const { queue, other, ids } = side;
  const { name, unique: _unique, ...asked } = namedIn(side, drawn);
  const claim = pick(
    side.claims.filter(({ options }) => options.member !== undefined),
    number,
  );
  if (!claim) {
    return undefined;
  }
  const id = nextId(side);
  ids.push(id);
  const check = async () => {
    if ((await ask(side, (calls) => calls.step({ claim }))) === 'lost') throw new ClaimLostError(claim.id);
  };
  const adder = { queue: queue.name, id: claim.id, token: claim.token, check };
  const batch = new Batch<JobQueue>(queue, claim.options.member!, (_job, target) => target ?? queue, { adder });
  const options = isElsewhere ? { id, queue: other } : given({ ...asked, id });
  return (await batch.add(isElsewhere ? other.name : (name ?? queue.name), ids.length, options)).outcome;
}

export const enqueueIn = (group: string | undefined, mayWait: boolean) =>
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc
        .tuple(optionsIn(group), mayWait ? rarely(drawnIndex) : fc.constant(undefined))
        .map(([asked, after]) =>
          step(`enqueue(${JSON.stringify(given({ ...asked, after }))})`, (side) => add(side, asked, after)),
        ),
    },
    {
      weight: mayWait ? 1 : 0,
      arbitrary: fc
        .tuple(optionsIn(group), drawnIndex)
        .map(([asked, earlier]) =>
          step(`enqueue(${JSON.stringify(given(asked))}) after one of another queue and -${earlier + 1}`, (side) =>
            addAfterElsewhere(side, asked, earlier),
          ),
        ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(optionsIn(group), optionsIn(group)).map((both) =>
        step(`enqueueMany(${JSON.stringify(both.map(given))})`, async (side) => {
          const jobs = both.map((asked) => {
            const id = nextId(side);
            side.ids.push(id);
            return { payload: side.ids.length, ...given({ ...namedIn(side, asked), id }) };
          });
          return (await side.queue.enqueueMany(jobs)).map(({ outcome, id }) => ({ outcome, id }));
        }),
      ),
    },
    {
      weight: 1,
      arbitrary: drawnIndex.map((number) =>
        step(`enqueue(known -${number + 1})`, async ({ queue, ids }) => {
          const id = pick(ids, number);
          return id === undefined ? undefined : (await queue.enqueue(7, { id, ...(group && { group }) })).outcome;
        }),
      ),
    },
  );

type MovedParts = Pick<OnceEntry, 'ran' | 'mustBeNew'>;

/** What a sender adds to an entry that it moves from another library. */
const movedParts = fc.constantFrom<MovedParts[]>(
  {},
  { mustBeNew: true },
  { ran: { attempts: 1, errors: 1, crashes: 0 } },
);

/** Sends jobs that are kept elsewhere, each once, by senders that take over from each other. */
export const enqueuesOnce = (group: string | undefined) =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.integer({ min: 1, max: 4 }),
          fc.array(fc.tuple(fc.constantFrom('k1', 'k2', 'k3'), optionsIn(group), fc.boolean(), movedParts), {
            minLength: 1,
            maxLength: 3,
          }),
        )
        .map(([fence, asked]) =>
          step(`once.enqueue(${fence}, ${JSON.stringify(asked)})`, (side) => sendOnce(side, fence, asked)),
        ),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom('k1', 'k2', 'k3'), fc.boolean())
        .map(([fence, key, isKnown]) =>
          step(`once.addDeadLetters(${fence}, ${key}, ${isKnown})`, (side) =>
            addDeadLetter(side, fence, key, isKnown),
          ),
        ),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom('k1', 'k2', 'k3')
        .map((key) =>
          step(`once.forget(${key})`, (side) =>
            ask(side, ({ once }) => once.forget({ source: 'model', keys: [side.named(key)] })),
          ),
        ),
    },
    {
      weight: 1,
      arbitrary: fc.constant(
        step('once.marks()', (side) => ask(side, ({ once }) => once.marks({ source: 'model', limit: 9 }))),
      ),
    },
  );

async function sendOnce(
  side: Side,
  fence: number,
  asked: readonly [string, Asked, boolean, MovedParts][],
): Promise<unknown> {
  const { queue, ids } = side;
  const entries = asked.map(([word, drawn, isKnown, moved]): OnceEntry => {
    const key = side.named(word);
    const { unique, ...options } = namedIn(side, drawn);
    const id = (isKnown && ids.at(-1)) || nextId(side);
    ids.push(id);
    const all = given({ ...options, id, unique: unique && { ...unique, onConflict: 'keep' } });
    const job = encodeJob(queue, ids.length, all);
    return { key, job: { ...job, options: { ...job.options, request: key } }, ...moved };
  });
  const sent = await ask(side, ({ once }) => once.enqueue({ sender: { source: 'model', fence }, entries }));
  return 'replies' in sent ? sent.replies.map((reply) => ('reason' in reply ? reply.reason.message : reply)) : sent;
}

/** Adds a failed job of another library. */
async function addDeadLetter(side: Side, fence: number, word: string, isKnown: boolean): Promise<unknown> {
  const { queue, ids } = side;
  const id = (isKnown && ids.at(-1)) || nextId(side);
  ids.push(id);
  const entry: DeadEntry = {
    key: side.named(word),
    job: encodeJob(queue, ids.length, { id, maxAttempts: 2 }),
    ran: { attempts: 2, errors: 2, crashes: 0 },
    failure: { error: sealedError({ name: 'Error', message: 'no' }), startedAt: 1, endedAt: 2 },
  };
  return ask(side, ({ once }) => once.addDeadLetters({ sender: { source: 'model', fence }, entries: [entry] }));
}

export const onBatch = (group: string | undefined) =>
  fc.oneof(
    fc.tuple(fc.boolean(), fc.boolean()).map(([failFast, isElsewhere]) =>
      step(`batch(${failFast}${isElsewhere ? ', followed in another queue' : ''})`, async (side) => {
        const followUp = { name: side.queue.name, ...(group && { group }) };
        const last = isElsewhere ? { ...followUp, delayMs: HOUR, queue: side.other.name } : followUp;
        const id = side.named(`b${side.batches.length}`);
        side.batches.push(side.queue.batch({ id, failFast, then: followUp, onFailure: followUp, finally: last }));
      }),
    ),
    fc.tuple(optionsIn(group), drawnIndex).map(([asked, number]) =>
      step(`batch.add(${number}, ${JSON.stringify(given(asked))})`, async (side) => {
        const batch = pick(side.batches, number);
        return batch && addMember(side, asked, batch);
      }),
    ),
    drawnIndex.map((number) =>
      step(`batch.add(${number}) of another queue`, async (side) => {
        const { batches, other, ids } = side;
        const id = nextId(side);
        ids.push(id);
        return (await pick(batches, number)?.add(other.name, ids.length, { id, queue: other }))?.outcome;
      }),
    ),
    fc
      .tuple(optionsIn(group), fc.boolean(), drawnIndex)
      .map(([asked, isElsewhere, number]) =>
        step(
          `job.batch.add(${JSON.stringify(given(asked))}${isElsewhere ? ', of another queue' : ''}) by -${number}`,
          (side) => addByMember(side, asked, isElsewhere, number),
        ),
      ),
    drawnIndex.map((number) => step(`batch.seal(${number})`, async ({ batches }) => pick(batches, number)?.seal())),
    fc.constant(
      step('listBatches()', async ({ queue }) => {
        const listed = await Promise.all([queue.listBatches(), queue.listBatches({ ended: true })]);
        return listed.map((batches) => batches.map(({ id, state }) => `${id} ${state}`).toSorted());
      }),
    ),
    fc
      .nat({ max: 2 })
      .map((number) => step(`batch.cancel(${number})`, async ({ batches }) => pick(batches, number)?.cancel())),
  );
