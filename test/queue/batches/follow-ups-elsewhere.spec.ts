// Follow-ups in other queues than the batch's: each exactly once, wherever their sender dies or stalls.
import { describe, expect, it } from '@jest/globals';
import { BatchNotFoundError, InvalidOptionError, NonRetryableError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { sendFollowUps } from '#queue/operate/elsewhere.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { OpenedQueues } from '#queue/operate/opened-queues.js';
import type { Job } from '#worker/handlers/job.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { inside } from '../../support/queue/inside.js';
import { intercept, notedScripts, restore } from '../../support/faults/intercept.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';
import { sealed } from '../../support/queue/unsealed.js';

const sentTwice = (run: () => Promise<unknown>) => run().then(run);
const dead = () => Promise.reject(new Error('the process has died'));
const idOf = (home: JobQueue, batch: string, kind = 'finally') => `@batch-of:${home.name} ${batch}:${kind}`;

/** Returns a batch of one member, with a follow-up in the other queue. */
async function world(options: object = {}) {
  const [home, mail] = [newQueue(), newQueue()];
  const batch = home.batch({ finally: { name: 'mail', queue: mail.name, payload: 7, ...options } });
  await batch.add(home.name, 1);
  await batch.seal();
  const end = async () => void (await home.complete((await home.claim())!, 'done'));
  return { home, mail, batch, id: idOf(home, batch.id), end };
}

/** Completes the follow-up and deletes it, so that its id is forgotten. */
async function runAndForget(queue: JobQueue, id: string): Promise<void> {
  const claim = await queue.claim();
  expect(claim).toMatchObject({ id, name: 'mail', payload: 7 });
  await queue.complete(claim!);
  await queue.remove(id);
}

onEachStore('a follow-up in another queue', () => {
  it('is enqueued there once, with its options, and its end ends the batch', async () => {
    const [home, mail, log] = [newQueue(), newQueue(), newQueue()];
    const batch = home.batch({
      then: { name: 'report', priority: 2, metadata: { tenant: 'a' } },
      onFailure: { queue: log.name },
      finally: { name: 'mail', queue: mail.name, maxAttempts: 1, group: 'g' },
    });
    await batch.add(home.name, 1);
    await batch.seal();
    await home.complete((await home.claim())!, 'page 1');
    await maintainBatches(home);
    expect(await log.claim()).toBeNull();
    const own = (await home.claim())!;
    const sent = (await mail.claim())!;
    expect(own).toMatchObject({ id: `@batch:${batch.id}:then`, options: { metadata: { tenant: 'a' } } });
    expect(sent).toMatchObject({
      id: idOf(home, batch.id),
      name: 'mail',
      payload: { batchId: batch.id },
    });
    expect(await mail.get(sent.id)).toMatchObject({ group: 'g', maxAttempts: 1 });
    expect((await batch.status()).followUps).toEqual([
      { kind: 'then', queue: home.name, id: own.id },
      { kind: 'onFailure', queue: log.name, id: idOf(home, batch.id, 'on_failure') },
      { kind: 'finally', queue: mail.name, id: sent.id },
    ]);
    await home.complete(own);
    await maintainBatches(home);
    expect(await batch.status()).toMatchObject({ state: 'fired' });
    await mail.complete(sent);
    await maintainBatches(mail);
    expect(await batch.status()).toMatchObject({ state: 'ended' });
    expect((await mail.stats()).totals.enqueued).toBe(1);
  });

  it('is sent by the worker that ended the last member, or by the seal, without maintenance', async () => {
    const [home, mail] = [newQueue(), newQueue()];
    const members: unknown[] = [];
    const handlers = {
      mail: async (job: { batch?: { members(): AsyncIterable<{ result?: unknown }> } }) => {
        for await (const { result } of job.batch!.members()) members.push(result);
      },
    };
    const { worker } = await startWorker(
      [
        { queue: home, handlers: { [home.name]: () => 'page' } },
        { queue: mail, handlers },
      ],
      undefined,
      { sweepIntervalMs: 0 },
    );
    const batch = home.batch({ finally: { name: 'mail', queue: mail.name } });
    await batch.addMany(home.name, [{ payload: 1 }, { payload: 2 }]);
    await batch.seal();
    const empty = home.batch({ then: { name: 'mail', queue: mail.name } });
    await empty.seal();
    await eventually(async () => (await mail.stats()).totals.completed === 2);
    await worker.stop();
    expect(members).toEqual(['page', 'page']);
    await Promise.all([home, mail].map((queue) => maintainBatches(queue, { all: true })));
    expect((await batch.status()).state).toBe('ended');
    expect((await empty.status()).state).toBe('ended');
  });

  it.each(['fails', 'is cancelled', 'gives up'])(
    'is sent by the worker in which the last member %s, without maintenance',
    async (end) => {
      const [home, mail] = [newQueue({ maxSnoozes: 1 }), newQueue()];
      const { worker } = await startWorker(
        [
          {
            queue: home,
            handlers: {
              [home.name]: async (job: Job) => {
                if (end === 'is cancelled') await home.cancel(job.id);
                if (end === 'gives up') job.snooze(1);
                throw new NonRetryableError('no');
              },
            },
          },
          { queue: mail, handlers: { mail: () => 'sent' } },
        ],
        undefined,
        { sweepIntervalMs: 0 },
      );
      const batch = home.batch({ onFailure: { name: 'mail', queue: mail.name } });
      await batch.add(home.name, 1);
      await batch.seal();
      await eventually(async () => (await mail.stats()).totals.completed === 1);
      await eventually(async () => (await batch.status()).state === 'ended');
      await worker.stop();
    },
  );

  it.each<[string, (home: JobQueue, id: string) => Promise<unknown>]>([
    ['cancel', (home, id) => home.cancel(id)],
    ['remove', (home, id) => home.remove(id)],
    ['clean', (home) => home.clean('pending')],
    ['clean of its group', (home) => home.groups.clean('g')],
  ])('is sent by the %s that ends the last member, without maintenance', async (verb, end) => {
    const [home, mail] = [newQueue(), newQueue()];
    const batch = home.batch({ onFailure: { name: 'mail', queue: mail.name } });
    const grouped = verb === 'clean of its group' ? { group: 'g' } : {};
    const [first, last] = await batch.addMany(home.name, [
      { payload: 1, ...grouped },
      { payload: 2, ...grouped },
    ]);
    await batch.seal();
    const id = idOf(home, batch.id, 'on_failure');
    await home.cancel(first!.id);
    expect(await mail.get(id)).toBeNull();
    await end(home, last!.id);
    expect(await mail.get(id)).toMatchObject({ status: 'pending' });
  });

  it('is sent by a cancel with a listener, and the cancel succeeds if its queue cannot be reached', async () => {
    const [home, mail] = [newQueue(), newQueue()];
    const cancelled: string[] = [];
    home.onCancelled((job) => cancelled.push(job.id));
    for (const isAway of [false, true]) {
      const batch = home.batch({ onFailure: { name: 'mail', queue: mail.name } });
      const member = await batch.add(home.name, 1);
      await batch.seal();
      if (isAway) intercept(home, { onceEnqueue: dead });
      expect(await home.cancel(member.id)).toBe('cancelled');
      expect(cancelled.pop()).toBe(member.id);
      restore(home);
      expect((await mail.get(idOf(home, batch.id, 'on_failure'))) === null).toBe(isAway);
    }
  });

  it.each([
    ['cancel', 'cancelled'],
    ['remove', 'missing'],
    ['seal', undefined],
  ] as const)('is sent by a %s whose first reply was lost, without maintenance', async (verb, outcome) => {
    const [home, mail] = [newQueue(), newQueue()];
    const batch = home.batch({ finally: { name: 'mail', queue: mail.name } });
    const member = verb === 'seal' ? undefined : await batch.add(home.name, 1);
    if (!member) intercept(home, { batchSeal: sentTwice });
    await batch.seal();
    if (member && verb !== 'seal') {
      intercept(home, { jobCancel: sentTwice, jobRemove: sentTwice });
      expect(await home[verb](member.id)).toBe(outcome);
    }
    expect(await mail.get(idOf(home, batch.id))).toMatchObject({ status: 'pending' });
  });

  it('is returned to a worker whose complete has lost its first reply, until it is sent', async () => {
    const [home, mail] = [newQueue(), newQueue()];
    const batch = home.batch({ finally: { name: 'mail', queue: mail.name } });
    await batch.add(home.name, 1);
    await batch.seal();
    const claim = (await home.claim())!;
    const complete = () => home.exec((calls) => calls.complete([{ ...claim, result: sealed('"page"') }]));
    expect(await complete()).toMatchObject({ lost: [], hasEnds: true });
    expect(await complete()).toMatchObject({ lost: [], hasEnds: true });
    await maintainBatches(home);
    expect(await complete()).not.toHaveProperty('hasEnds');
  });

  it.each([false, true])(
    'is sent by the end of the last member in another queue than the batch, without maintenance; twice sent: %s',
    async (isTwice) => {
      const [home, member, mail] = [newQueue(), newQueue(), newQueue()];
      const batch = home.batch({ finally: { name: 'mail', queue: mail.name } });
      const job = await batch.add(member.name, 1, { queue: member });
      await batch.seal();
      if (isTwice) intercept(member, { jobCancel: sentTwice, batchDeliver: sentTwice });
      expect(await member.cancel(job.id)).toBe('cancelled');
      expect(await mail.get(idOf(home, batch.id))).toMatchObject({ status: 'pending' });
    },
  );

  it('is all that who delivers an end sends for its queue, whose own ends wait for itself', async () => {
    const [near, far, mail] = [newQueue(), newQueue(), newQueue()];
    const finish = { name: 'mail', queue: mail.name };
    const batch = far.batch({ finally: finish });
    const { id } = await batch.add(near.name, 1, { queue: near });
    const other = near.batch({ finally: finish });
    await other.add(far.name, 2, { queue: far });
    for (const each of [batch, other]) await each.seal();
    await far.complete((await far.claim())!); // its end waits in the outbox of its queue
    let delivered = 0;
    intercept(near, { batchDeliver: (run) => (delivered++, run()) });
    expect(await near.cancel(id)).toBe('cancelled');
    expect(delivered).toBe(1);
    expect(await mail.get(idOf(far, batch.id))).toMatchObject({ status: 'pending' });
    restore(near);
    await maintainBatches(far);
    expect(await mail.get(idOf(near, other.id))).toMatchObject({ status: 'pending' });
  });

  it('is not sent by who delivers an end to another batch of its queue', async () => {
    const [home, member, mail] = [newQueue(), newQueue(), newQueue()];
    intercept(home, { batchOutbox: dead });
    await home.batch({ finally: { name: 'mail', queue: mail.name } }).seal(); // its follow-up waits
    restore(home);
    const batch = home.batch();
    const { id } = await batch.add(member.name, 1, { queue: member });
    await batch.add(member.name, 2, { queue: member });
    await batch.seal();
    const end = { queue: home.name, batch: batch.id, id, number: '0', state: 'completed', detail: sealed('') };
    const delivered = await home.exec((calls) => calls.batches.deliver({ from: member.name, ends: [end] }));
    expect(delivered).toEqual({ changed: 1, hasEnds: false });
  });

  it('fires at once after the cancel of the last member in another queue', async () => {
    const [home, member] = [newQueue(), newQueue()];
    const batch = home.batch({ onFailure: { name: 'then', queue: home.name } });
    const job = await batch.add(member.name, 1, { queue: member });
    await batch.seal();
    expect(await member.cancel(job.id)).toBe('cancelled');
    expect(await batch.status()).toMatchObject({ state: 'fired' });
  });

  it.each(['batchFollowUps', 'onceEnqueue', 'batchAcknowledge', 'onceForget'])(
    'is there once if its sender dies before or after %s, and the job is forgotten meanwhile',
    async (script) => {
      for (const isAfter of [false, true]) {
        const { home, mail, batch, id, end } = await world();
        await end();
        intercept(home, { [script]: (run) => (isAfter ? run().then(dead) : dead()) });
        await expect(maintainBatches(home)).rejects.toThrow('died');
        restore(home);
        const isThere = (await mail.get(id)) !== null;
        expect(isThere).toBe(script !== 'batchFollowUps' && (isAfter || script !== 'onceEnqueue'));
        if (isThere) await runAndForget(mail, id);
        await maintainBatches(home);
        if (!isThere) await runAndForget(mail, id);
        await maintainBatches(mail);
        await maintainBatches(home, { all: true });
        expect(await mail.claim()).toBeNull();
        expect((await mail.stats()).totals.enqueued).toBe(1);
        expect(await batch.status()).toMatchObject({ state: 'ended' });
      }
    },
  );

  it('is asked for and counted once after the death of a sender that has added it', async () => {
    const { home, mail, end } = await world();
    await end();
    intercept(home, { batchAcknowledge: dead });
    await expect(maintainBatches(home)).rejects.toThrow('died');
    restore(home);
    const entries = await home.exec((calls) => calls.batches.outbox({ limit: 200 }));
    const others = new OpenedQueues(home, home.callLimit);
    expect(await sendFollowUps(home, others, mail.name, entries)).toBe(1);
    expect((await mail.stats()).totals.enqueued).toBe(1);
  });

  it('is not added by a stalled worker once another has sent it', async () => {
    const { home, mail, id, end } = await world();
    await end();
    const [reached, stalled] = [gate(), gate()];
    intercept(home, { onceEnqueue: (run) => (reached.open(), stalled.promise.then(run)) });
    const slow = maintainBatches(home);
    await reached.promise;
    restore(home);
    await maintainBatches(home);
    await runAndForget(mail, id);
    stalled.open();
    await slow;
    expect(await mail.claim()).toBeNull();
    expect((await mail.stats()).totals.enqueued).toBe(1);
  });

  it('is added once by two senders, of which the one with the older fence adds it first', async () => {
    const { home, mail, batch, id, end } = await world();
    await end();
    const [reached, stalled] = [
      [gate(), gate()],
      [gate(), gate()],
    ];
    let calls = 0;
    intercept(home, {
      onceEnqueue: (run) => {
        const call = calls++;
        reached[call]?.open();
        return (stalled[call]?.promise ?? Promise.resolve()).then(run);
      },
    });
    const older = maintainBatches(home);
    await reached[0]!.promise;
    const newer = maintainBatches(home);
    await reached[1]!.promise;
    stalled[0]!.open();
    await older;
    await runAndForget(mail, id);
    stalled[1]!.open();
    await newer;
    expect(await mail.claim()).toBeNull();
    await maintainBatches(mail);
    expect((await mail.stats()).totals.enqueued).toBe(1);
    expect(await batch.status()).toMatchObject({ state: 'ended' });
  });

  it('is left to a sender that has read later, and its mark stays until that one has acknowledged it', async () => {
    const { home, mail, end } = await world();
    await end();
    const entries = await home.exec((calls) => calls.batches.outbox({ limit: 200 }));
    const others = new OpenedQueues(home, home.callLimit);
    const readAgain = () => home.exec((calls) => calls.batches.followUps({ entries }));
    const marks = () => mail.exec((calls) => calls.once.marks({ source: `@batch-of:${home.name}`, limit: 10 }));
    intercept(home, { onceEnqueue: async (run) => [await run(), await readAgain()][0] });
    expect(await sendFollowUps(home, others, mail.name, entries)).toBe(0);
    expect(await marks()).toHaveLength(1);
    restore(home);
    expect(await sendFollowUps(home, others, mail.name, entries)).toBe(1);
    expect(await marks()).toEqual([]);
    expect((await mail.stats()).totals.enqueued).toBe(1);
  });

  it('does not count as deleted while it waits for its queue', async () => {
    const { home, batch, end } = await world();
    await end();
    intercept(home, { onceEnqueue: dead });
    for (let i = 0; i < 2; i++) await expect(maintainBatches(home, { all: true })).rejects.toThrow('died');
    expect(await batch.status()).toMatchObject({ state: 'fired', followUps: [{ isOnItsWay: true }] });
  });

  it('is no end while it is a dead letter', async () => {
    const { home, mail, batch, id, end } = await world({ maxAttempts: 1 });
    await end();
    await maintainBatches(home);
    await mail.fail((await mail.claim())!, new Error('no'));
    for (const queue of [mail, home]) await maintainBatches(queue, { all: true });
    expect(await batch.status()).toMatchObject({ state: 'fired' });
    expect((await batch.results()).members).toMatchObject([{ result: 'done' }]);
    await mail.deadLetters.redrive(id);
    await mail.complete((await mail.claim())!);
    for (const queue of [mail, home]) await maintainBatches(queue, { all: true });
    expect(await batch.status()).toMatchObject({ state: 'ended' });
  });

  it('waits at home while its queue is full', async () => {
    const { home, mail, batch, id, end } = await world({ group: 'g' });
    await mail.groups.set('g', { maxPending: 1 });
    await mail.enqueue(1, { group: 'g' });
    await end();
    await maintainBatches(home);
    expect(await mail.get(id)).toBeNull();
    expect((await batch.status()).followUps).toMatchObject([{ isOnItsWay: true }]);
    await mail.complete((await mail.claim())!);
    await maintainBatches(home);
    await runAndForget(mail, id);
  });

  it('leaves no mark behind, even if an earlier sender died before it forgot one', async () => {
    const { home, mail, id, end } = await world();
    await end();
    intercept(home, { onceForget: dead });
    await expect(maintainBatches(home)).rejects.toThrow('died');
    restore(home);
    await runAndForget(mail, id);
    const next = home.batch({ finally: { name: 'mail', queue: mail.name, payload: 7 } });
    await next.seal();
    await runAndForget(mail, idOf(home, next.id));
    expect(await mail.exec((calls) => calls.once.marks({ source: `@batch-of:${home.name}`, limit: 10 }))).toEqual(
      [],
    );
  });

  it('sends no call more where all follow-ups are in the queue of the batch', async () => {
    const home = newQueue();
    const scripts = notedScripts(home);
    const batch = home.batch({ then: { name: 'then', queue: home.name } });
    await batch.add(home.name, 1);
    await batch.seal();
    await home.complete((await home.claim())!);
    await home.complete((await home.claim())!);
    expect(scripts.filter((script) => !/^(attempt|job|register)/.test(script))).toEqual([
      'batchCreate',
      'batchSeal',
    ]);
    await maintainBatches(home);
    expect(scripts).not.toContain('batchOutbox');
  });
});

it('a follow-up is there once if its home was restored from a backup, whose counter is behind', async () => {
  const [home, mail] = [newQueue(), newQueue()];
  const run = async (id: string) => {
    const batch = home.batch({ id, finally: { name: 'mail', queue: mail.name, payload: 7 } });
    await batch.seal();
    await runAndForget(mail, idOf(home, id));
    await maintainBatches(mail);
    return batch;
  };
  await run('before');
  const { keys } = await inside(home).scripts();
  await inside(home).connection.client.set(keys.sequence, 0);
  const batch = await run('after'); // the fence of the first one in the other queue is larger
  await maintainBatches(home, { all: true });
  expect(await batch.status()).toMatchObject({ state: 'ended' });
  expect((await mail.stats()).totals.enqueued).toBe(2);
});

describe('the queue of a follow-up', () => {
  it('has no rates of the home', async () => {
    const rateLimit = [
      { limit: 1, periodMs: 1_000 },
      { limit: 10, periodMs: 60_000 },
    ];
    const home = newQueue({ rateLimit });
    const batch = home.batch({ then: { name: 'report', queue: newQueue().name, cost: 2 } });
    await batch.seal();
    expect(await batch.status()).toMatchObject({ state: 'fired' });
  });

  it('must have a valid name', () => {
    expect(() => newQueue().batch({ then: { queue: 'a b' } })).toThrow(InvalidOptionError);
    expect(() => newQueue().batch({ then: { queue: 7 as never } })).toThrow(/batch\.then\.queue/);
  });

  it('takes no larger payload than its workers load, and the batch is not created', async () => {
    const home = newQueue({ maxPayloadBytes: 64 * 1024 * 1024 });
    const payload = 'x'.repeat(17 * 1024 * 1024);
    const make = () => home.batch({ id: 'b', finally: { name: 'mail', queue: 'mail', payload } });
    expect(make).toThrow(/batch\.finally\.payload: expected at most 16777216 bytes .* found 17825794 bytes/);
    await expect(home.findBatch('b').status()).rejects.toThrow(BatchNotFoundError);
  });
});
