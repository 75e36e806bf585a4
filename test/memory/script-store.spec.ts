// The store of queues whose scripts run in memory: what only Redis had before, and what an observer hears.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ObservedServer, type QueueObserver } from '#memory/server/observed-server.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore, type StoreLink } from '#memory/script-store.js';
import { JobQueue } from '#queue/job-queue.js';
import type { JobQueueOptions } from '#queue/enqueue/enqueue-middleware.js';
import { systemClock } from '#queue/runtime/clock.js';
import { clientOfStore } from '../support/memory/memory-client.js';

const open: JobQueue[] = [];

afterEach(() => open.splice(0).forEach((queue) => queue.close()));

function newQueue(options: JobQueueOptions = {}, store = new ScriptStore(), name = 'jobs'): JobQueue {
  const queue = new JobQueue(store, name, options);
  open.push(queue);
  return queue;
}

describe('a queue in memory', () => {
  it('has an audit trail, outcomes, kinds of errors and an action log', async () => {
    const queue = newQueue({ auditTrail: {}, outcomes: { ageMs: 60_000 }, maxAttempts: 1 });
    await queue.enqueueMany(['a', 'b'].map((id) => ({ payload: id, id })));
    const [a, b] = await queue.claimMany(2);
    await queue.complete(a!, { done: true });
    await queue.fail(b!, new Error('410 Gone'));
    await queue.deadLetters.redrive('b');
    const entries = await queue.auditTrail.read({ limit: 10 });
    expect(entries.map(({ jobId, transition, to }) => [jobId, transition, to])).toEqual([
      ['a', 'enqueue', 'pending'],
      ['b', 'enqueue', 'pending'],
      ['a', 'claim', 'processing'],
      ['b', 'claim', 'processing'],
      ['a', 'complete', 'completed'],
      ['b', 'fail', 'failed'],
      ['b', 'redrive', 'pending'],
    ]);
    expect(await queue.outcome('a')).toMatchObject({ status: 'completed' });
    expect((await queue.actionLog.latest({ limit: 5 })).map(({ action }) => action)).toEqual(['redrive']);
  });

  it('is audited by the doctor, which finds a lost job and repairs the rest', async () => {
    const store = new ScriptStore();
    const queue = newQueue({}, store);
    await queue.enqueueMany(['a', 'b'].map((id) => ({ payload: id, id })));
    expect(await queue.doctor()).toMatchObject({ checked: 2, findings: [] });
    await clientOfStore(store).lrem('queue:jobs:pending', 1, 'a');
    expect((await queue.doctor()).findings).toMatchObject([{ kind: 'orphan', subject: 'a', repaired: false }]);
    await queue.doctor({ repair: true });
    expect((await queue.claimMany(2)).map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('takes any text for an id, a group and a payload, by its bytes', async () => {
    const queue = newQueue();
    const [id, group] = ['jöb 🚀', 'Grüße'];
    await queue.enqueue({ text: 'ä\u2028' }, { id, group });
    expect(await queue.claimMany(1)).toMatchObject([{ id, payload: { text: 'ä\u2028' } }]);
    expect((await queue.groups.list()).map(({ name }) => name)).toEqual([group]);
  });

  it('is deleted alone', async () => {
    const store = new ScriptStore();
    const [queue, other] = [newQueue({}, store), newQueue({}, store, 'jobs:other')];
    await Promise.all([queue.enqueue(1), other.enqueue(1)]);
    await store.erase(await queue.calls());
    expect([(await queue.stats()).pending, (await other.stats()).pending]).toEqual([0, 1]);
  });
});

it('a queue in memory runs where the process may make no code from texts', async () => {
  const program = `
    import { JobQueue } from './src/queue/job-queue.ts';
    import { ScriptStore } from './src/memory/script-store.ts';
    const queue = new JobQueue(new ScriptStore(), 'jobs');
    await queue.enqueue(1, { id: 'a' });
    console.log((await queue.claimMany(1))[0].id);
    queue.close();`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--disallow-code-generation-from-strings',
    '--import',
    './tools/chaos/register.mjs',
    '--input-type=module',
    '--eval',
    program,
  ]);
  expect(stdout.trim()).toBe('a');
});

describe('the network of a store', () => {
  it('may lose a reply: the same call again gets the same', async () => {
    let lost = 0;
    const link: StoreLink = async (script, run) => {
      const reply = run();
      if (script === 'attemptClaim' && lost++ === 0) return new Promise(() => {});
      return reply;
    };
    const server = new ScriptServer(() => Date.now());
    const [queue, other] = [
      new ScriptStore(systemClock, { server, link }),
      new ScriptStore(systemClock, { server }),
    ];
    const producer = newQueue({}, other);
    await producer.enqueue(1, { id: 'a' });
    const calls = await newQueue({}, queue).calls();
    const call = calls.claim({ count: 1, token: 't', worker: 'w', stream: '1' });
    await expect(queue.exec(call, { timeoutMs: 20 })).rejects.toThrow('gave no answer within 20 ms');
    expect((await queue.exec(call)).jobs).toMatchObject([{ id: 'a' }]);
  });

  it('ends with its app', async () => {
    const store = new ScriptStore();
    store.close();
    await expect(newQueue({}, store).enqueue(1)).rejects.toThrow('queues in memory');
  });
});

function observed(options: JobQueueOptions = {}) {
  const heard: string[] = [];
  const observer: QueueObserver = {
    enqueued: (queue, id, { priority }) => heard.push(`${queue.name} ${id} ${priority} ${queue.job(id)?.status}`),
    changed: (queue, id, status) => heard.push(`${queue.name} ${id} ${status} ${queue.job(id)?.attempts}`),
  };
  const server = new ObservedServer(() => Date.now(), observer);
  return { heard, server, queue: newQueue(options, new ScriptStore(systemClock, { server })) };
}

describe('an observed server', () => {
  it.each(['listened', 'off'] as const)('tells of each job and each end, with events %s', async (events) => {
    const { heard, queue } = observed({ events, maxAttempts: 2, backoff: 0 });
    const published: string[] = [];
    await queue.store.subscribe(await queue.calls(), ({ status }) => published.push(status));
    await queue.enqueue(1, { id: 'a', priority: 3 });
    await queue.enqueue(1, { id: 'a' });
    for (let attempt = 0; attempt < 2; attempt++) {
      const [job] = await queue.claimMany(1);
      await queue.fail(job!, new Error('no'));
    }
    expect(heard).toEqual(['jobs a 3 pending', 'jobs a retry 1', 'jobs a failed 2']);
    expect(published).toEqual(events === 'off' ? [] : ['retry', 'failed']);
  });

  it('shows a queue as the scripts left it', async () => {
    const { server, queue } = observed();
    await queue.enqueue(1, { id: 'a' });
    await queue.enqueue(1, { id: 'b' });
    await queue.enqueue(1, { id: 'c', priority: 1 });
    await queue.enqueue(1, { id: 'd', group: 'g' });
    await queue.enqueue(1, { id: 'later', delayMs: 60_000 });
    const [view] = server.queues;
    expect(view).toMatchObject({ name: 'jobs', pending: ['a', 'b'], groups: ['g'], line: ['c', 'a', 'b', 'd'] });
    expect(view!.jobIds().toSorted()).toEqual(['a', 'b', 'c', 'd', 'later']);
    expect(view!.scheduled.members()).toEqual(['later']);
    expect(view!.job('c')).toMatchObject({ status: 'pending', payload: '1', priority: '1' });
    expect([view!.job('x'), view!.claims.size, view!.totals.enqueued_total]).toEqual([undefined, 0, '5']);
    view!.scheduled.put('later', 5);
    view!.write(view!.keys.job('a'), { payload: '"ä"' });
    expect([view!.scheduled.score('later'), view!.field(view!.keys.job('a'), 'payload')]).toEqual([5, '"ä"']);
    view!.scheduled.remove('later');
    expect(view!.scheduled.has('later')).toBe(false);
  });
});

it('the queues of one prefix know nothing of those of another', async () => {
  const store = new ScriptStore();
  const [mail, fax, other] = [
    new JobQueue(store, 'mail', { prefix: 'a' }),
    new JobQueue(store, 'fax', { prefix: 'a' }),
    new JobQueue(store, 'mail', { prefix: 'b' }),
  ];
  const namesBeside = async (queue: JobQueue) => store.queues.registered(await queue.calls(), 10, queue.callLimit);
  await Promise.all([mail, fax, other].map((queue) => queue.enqueue(1)));
  expect((await namesBeside(mail)).toSorted()).toEqual(['fax', 'mail']);
  expect(await namesBeside(other)).toEqual(['mail']);
});
