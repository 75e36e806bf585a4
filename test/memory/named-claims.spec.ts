// What a claim of certain names takes from memory is what it takes from Redis.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import type { ClaimRequest } from '#queue/store/attempt-forms.js';
import { newClockedQueue, newQueue, onEachStore } from '../support/worker/workers.js';
import { sealedError } from '../support/queue/unsealed.js';

async function takenIds(queue: JobQueue, count: number): Promise<string[]> {
  for (let i = 0; i < 40; i++) {
    await queue.enqueue(i, { id: `urgent-${i}`, name: 'a', priority: 1 + (i % 2) });
    await queue.enqueue(i, { id: `plain-${i}`, name: 'a' });
    await queue.enqueue(i, { id: `other-${i}`, name: 'b', priority: 9 });
  }
  const only = { limits: [{ name: 'a', maxAttempts: 3, maxCrashes: 3 }], cursor: 0 };
  const ids: string[] = [];
  for (let i = 0; i < 60 / count; i++) {
    const request = { count, worker: 'w', stream: '0', token: `t${i}`, only };
    const { jobs } = await queue.exec((calls) => calls.claim(request));
    ids.push(...jobs.map(({ id }) => id));
  }
  return ids;
}

it.each([
  ['one by one', 1, {}],
  ['several at once', 4, {}],
  ['one by one, with a limit', 1, { maxRunning: 100 }],
])('gives one turn in ten to a job without a priority: %s', async (_, count, limits) => {
  const [redis, memory] = [newQueue(), newQueue({}, new ScriptStore())];
  for (const queue of [redis, memory]) {
    if ('maxRunning' in limits) await queue.limits.set(limits);
  }
  const ids = await takenIds(redis, count);
  expect(await takenIds(memory, count)).toEqual(ids);
  const firstPlain = ids.findIndex((id) => id.startsWith('plain'));
  expect(firstPlain).toBeLessThan(30);
  expect(ids.filter((id) => id.startsWith('other'))).toEqual([]);
});

it('passes over a group whose first job has another name', async () => {
  const only = { limits: [{ name: 'a', maxAttempts: 3, maxCrashes: 3 }], cursor: 0 };
  for (const queue of [newQueue(), newQueue({}, new ScriptStore())]) {
    await queue.enqueue(1, { name: 'b', group: 'g' });
    await queue.enqueue(2, { name: 'a', group: 'g' });
    await queue.enqueue(3, { name: 'a', group: 'h' });
    const { jobs } = await queue.exec((calls) =>
      calls.claim({ count: 5, worker: 'w', stream: '0', token: 't', only }),
    );
    expect(jobs.map(({ payload }) => payload)).toEqual([3]);
  }
});

const MINUTE = 60_000;
const handlersOf = (...names: string[]) => names.map((name) => ({ name, maxAttempts: 3, maxCrashes: 3 }));

const takes = (queue: JobQueue, request: Partial<ClaimRequest> = {}) => {
  const only = { limits: handlersOf('mail'), cursor: 0 };
  const call = { worker: 'w', stream: '0', token: 't', count: 9, only, ...request };
  return queue.exec((calls) => calls.claim(call));
};

const claims = (queue: JobQueue, mostBytes: number, token: string, names?: string[]) => {
  const only = names && { limits: handlersOf(...names), cursor: 0 };
  const call = { worker: 'w', stream: '0', token, count: 9, mostBytes, ...(only && { only }) };
  return queue.exec((calls) => calls.claim(call));
};

onEachStore('a claim of certain names', () => {
  it('refuses a job that waited too long for a worker of its name', async () => {
    const { queue, clock } = newClockedQueue({ unhandledAgeMs: 30 * MINUTE });
    await queue.exec((calls) =>
      calls.workers.register({ worker: 'w', serves: true, handlers: handlersOf('mail', 'sms') }),
    );
    await queue.enqueue(1, { id: 'old', name: 'fax' });
    await queue.enqueue(1, { id: 'sms', name: 'sms' });
    clock.nowMs += 20 * MINUTE;
    await queue.exec((calls) =>
      calls.workers.register({ worker: 'w', serves: true, handlers: handlersOf('mail') }),
    );
    await queue.enqueue(1, { id: 'young', name: 'fax' });
    clock.nowMs += 10 * MINUTE;
    const early = await takes(queue);
    expect([early.jobs, early.refused]).toEqual([[], []]);
    expect(early.left).toMatchObject({ cursor: -1, elsewhere: false });
    expect(early.left!.unserved.toSorted()).toEqual(['fax', 'sms']);
    clock.nowMs += 1;
    await queue.exec((calls) =>
      calls.workers.register({ worker: 'w', serves: true, handlers: handlersOf('mail') }),
    );
    const { refused } = await takes(queue, { token: 't2' });
    expect(refused.map(({ id }) => id)).toEqual(['old', 'sms']);
    expect(refused[0]!.error).toEqual({
      name: 'JobUnhandled',
      message: expect.stringMatching(
        /name "fax": the job waited for one for 30 minutes, and was released 0 times.* queue: 1; they announced "mail"\./,
      ),
    });
    await queue.exec((calls) =>
      calls.fail(refused.map((each) => ({ ...each, error: sealedError(each.error), final: true, backoffMs: 0 }))),
    );
    expect(await queue.get('old')).toMatchObject({ status: 'failed', attempts: 0 });
  });

  it('leaves a job to the live worker of its name, and says so', async () => {
    const queue = newQueue();
    await queue.exec((calls) =>
      calls.workers.register({ worker: 'other', serves: true, handlers: handlersOf('fax') }),
    );
    await queue.enqueue(1, { name: 'fax' });
    expect((await takes(queue)).left).toEqual({ cursor: -1, elsewhere: true, unserved: [] });
  });
});

onEachStore('the bytes of a claim', () => {
  it.each([
    ['without limits', {}, {}, undefined],
    ['with a rate', { rateLimit: { limit: 9, periodMs: MINUTE, burst: 9 } }, {}, undefined],
    ['of certain names', {}, {}, ['mail']],
    ['of certain names, with a rate', { rateLimit: { limit: 9, periodMs: MINUTE, burst: 9 } }, {}, ['mail']],
    ['of a group', {}, { group: 'g' }, undefined],
    ['with a priority', {}, { priority: 1 }, undefined],
  ])('bound its jobs, but for the first: %s', async (_, limits, options, names) => {
    const queue = newQueue();
    await (Object.keys(limits).length > 0 && queue.limits.set(limits));
    for (const payload of ['long payload', 'xx', 'yyy', 'long payload', 'z']) {
      await queue.enqueueMany([{ payload, name: 'mail', ...options }]);
    }
    const told = async (mostBytes: number, token: string) => {
      const { jobs, isFull } = await claims(queue, mostBytes, token, names);
      return [...jobs.map(({ payload }) => payload), isFull];
    };
    expect(await told(9, 'one')).toEqual(['long payload', true]);
    expect(await told(9, 'two')).toEqual(['xx', 'yyy', true]);
    expect(await told(99, 'three')).toEqual(['long payload', 'z', false]);
  });

  it('put jobs of a repeated claim back to the front, as if it had not taken them', async () => {
    const queue = newQueue();
    await queue.enqueueMany(['aaa', 'bbb', 'ccc', 'ddd'].map((payload) => ({ payload })));
    const first = await claims(queue, 15, 'one');
    expect(first.jobs.map(({ payload }) => payload)).toEqual(['aaa', 'bbb', 'ccc']);
    const again = await claims(queue, 6, 'one');
    expect([again.jobs.map(({ payload }) => payload), again.isFull]).toEqual([['aaa'], true]);
    const more = await claims(queue, 99, 'two');
    expect(more.jobs.map(({ payload, attempt }) => [payload, attempt])).toEqual([
      ['bbb', 1],
      ['ccc', 1],
      ['ddd', 1],
    ]);
  });
});
