// Calls that take a step in each of two queues: what is left in both after each refusal.
import { describe, expect, it } from '@jest/globals';
import { BatchNotFoundError, BatchSealedError, ClaimLostError, InvalidOptionError } from '#queue/errors/errors.js';
import { QueueFullError } from '#queue/errors/enqueue-errors.js';
import type { JobQueueOptions } from '#queue/enqueue/enqueue-middleware.js';
import { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { ScriptStore } from '#memory/script-store.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { failure } from '../../support/faults/failure.js';

interface Queues {
  home: JobQueue;
  other: JobQueue;
}

const THEN = { id: 'b', finally: { name: 'end', payload: 1 } };

function queuesOn(store: string, ofOther: JobQueueOptions = {}): Queues {
  const redis = connect();
  const memory = new ScriptStore();
  const open = (options: JobQueueOptions = {}) =>
    store === 'memory'
      ? new JobQueue(memory, uniqueQueueName(), options)
      : new JobQueue(redis, uniqueQueueName(), options);
  return { home: open(), other: open(ofOther) };
}

/** Runs all jobs of both queues to their end. Returns the names and ids of those that ran. */
async function drain({ home, other }: Queues): Promise<string[]> {
  const ran: string[] = [];
  for (const queue of [home, other, home]) {
    for (let job = await queue.claim(); job; job = await queue.claim()) {
      ran.push(job.id);
      await queue.complete(job, 1);
    }
  }
  return ran;
}

/** Makes a batch with the members m0 and m1 in a queue, which has fired and whose jobs have ended. */
async function firedBatch(queues: Queues, where: JobQueue): Promise<void> {
  const batch = queues.home.batch(THEN);
  await batch.addMany(
    where.name,
    ['m0', 'm1'].map((id) => ({ payload: 1, id })),
    { queue: where },
  );
  await batch.seal();
  await drain(queues);
  await maintainBatches(where);
  await drain(queues);
  expect((await batch.status()).state).toBe('ended');
}

const enqueued = async (queue: JobQueue) => (await queue.stats()).totals.enqueued ?? 0;

describe.each(['Redis', 'memory'])('on %s', (store) => {
  describe.each(['home', 'other'] as const)('add to a batch that has fired, in the queue %s', (where) => {
    it.each([
      ['a new id', 'mNew'],
      ['no id', undefined],
    ])('with %s is refused, and nothing is left', async (_, id) => {
      const queues = queuesOn(store);
      const target = queues[where];
      await firedBatch(queues, target);
      const before = await enqueued(target);
      const add = () =>
        queues.home.findBatch('b').add(target.name, 9, { ...(id !== undefined && { id }), queue: target });
      expect(await failure(add)).toBeInstanceOf(BatchSealedError);
      expect(await enqueued(target)).toBe(before);
      expect(await drain(queues)).toEqual([]);
      expect((await queues.home.findBatch('b').status()).total).toBe(2);
    });

    it.each(['kept', 'removed'])('with the id of a member whose record was %s finds that one', async (how) => {
      const queues = queuesOn(store);
      const target = queues[where];
      await firedBatch(queues, target);
      if (how === 'removed') {
        await target.remove('m0');
      }
      const handle = await queues.home.findBatch('b').add(target.name, 9, { id: 'm0', queue: target });
      expect(handle).toMatchObject({ id: 'm0', outcome: 'existing' });
      expect(await drain(queues)).toEqual([]);
    });
  });

  it.each(['home', 'other'] as const)('add of a member again says `existing`, in the queue %s', async (where) => {
    const queues = queuesOn(store);
    const target = queues[where];
    const batch = queues.home.batch(THEN);
    const add = (id: string) => batch.add(target.name, 1, { id, queue: target });
    expect([(await add('m')).outcome, (await add('m')).outcome]).toEqual(['new', 'existing']);
    const many = await batch.addMany(
      target.name,
      ['m', 'n'].map((id) => ({ payload: 1, id })),
      { queue: target },
    );
    expect(many.map(({ outcome }) => outcome)).toEqual(['existing', 'new']);
    expect(await batch.status()).toMatchObject({ total: 2, open: 2 });
  });

  it.each(['home', 'other'] as const)(
    'the id of a job that is no member is refused, in %s; others join',
    async (where) => {
      const queues = queuesOn(store);
      const target = queues[where];
      await target.enqueue(1, { id: 'stranger' });
      const batch = queues.home.batch(THEN);
      const jobs = ['stranger', 'm'].map((id) => ({ payload: 1, id }));
      const refused = await failure(() => batch.addMany(target.name, jobs, { queue: target }));
      expect(refused).toBeInstanceOf(InvalidOptionError);
      expect(refused.message).toContain('"stranger"');
      expect(await batch.status()).toMatchObject({ total: 1, open: 1 });
    },
  );

  it('add to an unknown batch leaves nothing in the other queue', async () => {
    const queues = queuesOn(store);
    const { home, other } = queues;
    const batch = home.batch(THEN);
    await batch.add(home.name, 1);
    const unknown = home.findBatch('nobody');
    expect(await failure(() => unknown.add(other.name, 1, { queue: other }))).toBeInstanceOf(BatchNotFoundError);
    expect(await enqueued(other)).toBe(0);
  });

  it('add by a member that has lost its claim leaves nothing in the other queue', async () => {
    const queues = queuesOn(store);
    const { home, other } = queues;
    const batch = home.batch(THEN);
    await batch.add(home.name, 1, { id: 'm' });
    await batch.seal();
    const lost = (await home.claim())!;
    await home.release(lost);
    const add = () =>
      other.producer.one(undefined, 1, {
        batch: `${home.name}\tb`,
        addedBy: [home.name, 'm', lost.token],
      } as never);
    expect(await failure(add)).toBeInstanceOf(ClaimLostError);
    expect(await enqueued(other)).toBe(0);
  });

  it('add to a full queue joins no job that is not there', async () => {
    const { home, other } = queuesOn(store, { maxPending: 1 });
    await other.enqueue(1);
    const batch = home.batch(THEN);
    expect(await failure(() => batch.add(other.name, 1, { queue: other }))).toBeInstanceOf(QueueFullError);
    expect(await batch.status()).toMatchObject({ total: 0, open: 0 });
  });

  it.each([
    ['of its own', 'mine'],
    ['that is drawn', undefined],
  ])('add of an id %s to a batch that fires meanwhile takes the job back', async (_, id) => {
    const sealing = { home: undefined as JobQueue | undefined };
    const queues = queuesOn(store, {
      middleware: [
        {
          enqueue: async (__, next) => {
            const handles = await next();
            await sealing.home?.findBatch('b').seal();
            return handles;
          },
        },
      ],
    });
    const { home, other } = queues;
    const batch = home.batch(THEN);
    await batch.add(other.name, 1, { id: 'm0', queue: other });
    sealing.home = home;
    await other.complete((await other.claim())!, 1);
    const add = () => batch.add(other.name, 2, { ...(id !== undefined && { id }), queue: other });
    expect(await failure(add)).toBeInstanceOf(BatchSealedError);
    expect((await drain(queues)).filter((each) => each !== 'm0' && !each.startsWith('@batch'))).toEqual([]);
    expect((await other.list('cancelled')).length).toBe(1);
  });

  it.each<[string, (other: JobQueue) => Promise<string>]>([
    ['unknown', async () => 'nobody'],
    [
      'cancelled',
      async (other) => {
        const { id } = await other.enqueue(1);
        await other.cancel(id);
        return id;
      },
    ],
    [
      'a dead letter',
      async (other) => {
        const { id } = await other.enqueue(1);
        await other.fail((await other.claim())!, new Error('no'), { final: true });
        return id;
      },
    ],
  ])('after a job of the other queue that is %s: nothing is left here, and no job waits there', async (_, make) => {
    const { home, other } = queuesOn(store);
    const id = await make(other);
    const enqueue = () => home.enqueue(1, { after: [{ queue: other.name, id }] });
    expect(await failure(enqueue)).toBeInstanceOf(InvalidOptionError);
    expect(await enqueued(home)).toBe(0);
    expect((await other.get(id))?.followedBy).toBeUndefined();
  });
});
