// Ids as real keys have them: mail addresses, paths, signs, spaces, any script. Every part of the library passes each on
// as it is.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import type { JobFailure } from '#queue/codec/failure-job.js';
import type { Job } from '#worker/handlers/job.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const IDS = [
  'invite-ada+x@example.com',
  'a b  c ',
  'queue|batch|job',
  '=follow-up',
  '/orders//7/../x',
  '..',
  '#^%?&;$(x)',
  `it's "quoted" \\n`,
  '{tag}',
  '*?[a-z]',
  '%s%d%',
  '日本語 é 😀',
  '__proto__',
  'constructor',
  'job:x',
  '-1',
];

async function runAll(queue: JobQueue): Promise<string[]> {
  const ids: string[] = [];
  for (let job = await queue.claim(); job; job = await queue.claim()) {
    ids.push(job.id);
    await queue.complete(job, job.id);
  }
  return ids;
}

onEachStore('any text as id', () => {
  it('of a job: it is known, listed, claimed, reported and found', async () => {
    const queue = newQueue();
    const jobs = await queue.enqueueMany(IDS.map((id) => ({ id, payload: id, metadata: { id } })));
    expect(jobs.map(({ id }) => id)).toEqual(IDS);
    const again = await queue.enqueueMany(IDS.map((id) => ({ id, payload: 0 })));
    expect(again.every(({ outcome }) => outcome === 'existing')).toBe(true);
    const listed = await queue.list('pending');
    expect(listed.map(({ id }) => id)).toEqual(IDS);
    const worker = await startWorker(queue, ({ id }) => id, { perQueue: 1 });
    const results = await Promise.all(IDS.map((id) => queue.result(id)));
    await worker.worker.stop();
    expect(results).toEqual(IDS);
  });

  it('of a dead letter: it is redriven, and given to the handler of failures', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const told: string[] = [];
    await queue.enqueueMany(IDS.map((id) => ({ id, payload: id })));
    const handlers = { [queue.name]: () => Promise.reject(new Error('no')) };
    const onFailed = { [queue.name]: ({ payload }: Job<JobFailure>) => void told.push(payload.id) };
    const worker = await startWorker([{ queue, handlers, onFailed }]);
    await worker.event('failed', IDS.length);
    await worker.event('completed', IDS.length);
    await worker.worker.stop();
    expect(told.toSorted()).toEqual(IDS.toSorted());
    expect(await queue.deadLetters.redriveMany(IDS)).toBe(IDS.length);
    expect((await runAll(queue)).toSorted()).toEqual(IDS.toSorted());
  });

  it('of jobs that wait for each other', async () => {
    const queue = newQueue();
    await queue.enqueueMany(IDS.map((id) => ({ id, payload: 0 })));
    await queue.enqueue(0, { id: 'last +', after: IDS });
    await queue.enqueue(0, { id: '= the very last', after: ['last +', IDS[1]!] });
    const here = (ids: readonly string[]) => ids.map((id) => ({ queue: queue.name, id }));
    expect(await queue.get('last +')).toMatchObject({ status: 'scheduled', after: here(IDS) });
    expect(await queue.get(IDS[1]!)).toMatchObject({ followedBy: here(['last +', '= the very last']) });
    expect(await runAll(queue)).toEqual([...IDS, 'last +', '= the very last']);
  });

  it('of a job that another waited for in vain, whose id its dead letter has', async () => {
    const queue = newQueue();
    await queue.enqueue(0, { id: 'a b | c' });
    await queue.enqueue(0, { id: 'next', after: ['a b | c'] });
    await queue.cancel('a b | c');
    await maintainBatches(queue);
    expect((await queue.get('next'))!.lastError).toBe(
      'Job a b | c, after which this job was to start, was cancelled. Redrive this job to run it without waiting.',
    );
  });

  it.each(IDS)('of a batch and of its members here and in another queue: %j', async (id) => {
    const [home, other] = [newQueue(), newQueue()];
    const batch = home.batch({ id, then: { name: 'then' } });
    await batch.addMany(home.name, [{ id: `${id}1`, payload: 1 }]);
    await batch.addMany('there', [{ id: `${id}2`, payload: 2 }], { queue: other });
    await batch.seal();
    expect(await runAll(other)).toEqual([`${id}2`]);
    await maintainBatches(other);
    expect(await runAll(home)).toEqual([`${id}1`, `@batch:${id}:then`]);
    const { members } = (await home.findBatch(id).results()) as { members: object[] };
    expect(members).toEqual([
      { id: `${id}1`, queue: home.name, status: 'completed', result: `${id}1` },
      { id: `${id}2`, queue: other.name, status: 'completed', result: `${id}2` },
    ]);
    expect(await home.get(`@batch:${id}:then`)).toMatchObject({
      batch: { id, role: 'follow-up', queue: home.name },
    });
    expect(await other.get(`${id}2`)).toMatchObject({ batch: { id, role: 'member', queue: home.name } });
  });
});

describe('any text as id on Redis', () => {
  it.each(IDS)('is the same in the lists, in processing and in the key of the hash: %j', async (id) => {
    const { queue, state } = coreQueue();
    await queue.enqueue(1, { id });
    expect(await state.pending()).toEqual([id]);
    expect(await state.redis.exists(`${state.keys.jobPrefix}${id}`)).toBe(1);
    await state.redis.lmove(state.keys.pending, state.keys.processing, 'RIGHT', 'LEFT');
    expect(await state.redis.lrange(state.keys.processing, 0, -1)).toEqual([id]);
    await state.redis.hset(state.keys.job(id), 'status', 'processing');
    expect(await queue.get(id)).toMatchObject({ id, status: 'processing' });
  });

  it('is refused for a batch where it would be the key of another one', () => {
    const { queue } = coreQueue();
    for (const id of ['a/open', 'a/members', 'a/outcomes', 'a/seen']) {
      expect(() => queue.batch({ id, then: { name: 'then' } })).toThrow(InvalidOptionError);
    }
  });
});
