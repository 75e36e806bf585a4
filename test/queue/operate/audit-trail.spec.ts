import { describe, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import type { AuditEntry } from '#queue/model/job-event.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { luaScripts } from '#queue/lua.generated.js';
import { auditedScript, changesJobs } from '#queue/transport/audited-script.js';
import type { ScriptName } from '#queue/transport/script-runner.js';
import { ScriptStore } from '#memory/script-store.js';
import { Worker } from '#worker/worker.js';
import { loadExample } from '../../docs/example.js';
import { eventually } from '../../support/faults/wait.js';
import { gapsIn, trailOf } from '../../support/invariants/audit-gaps.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const ON = { auditTrail: {} };

/** Returns `transition: from > to` of each entry. */
const told = (entries: readonly AuditEntry[]) =>
  entries.map(({ transition, from = '', to = '' }) => `${transition}: ${from} > ${to}`.trim());

describe('the audit trail', () => {
  it('has an entry for each transition, with the verb that moved the job', async () => {
    const { queue } = coreQueue(ON);
    const { id } = await queue.enqueue({ secret: 'payload' }, { name: 'email' });
    const first = await queue.claim({ worker: 'w1' });
    await queue.fail(first!, new Error('502 Bad Gateway'));
    const second = await queue.claim({ worker: 'w2' });
    await queue.complete(second!, { secret: 'result' });
    const entries = await trailOf(queue);
    expect(told(entries)).toEqual([
      'enqueue:  > pending',
      'claim: pending > processing',
      'fail: processing > pending',
      'claim: pending > processing',
      'complete: processing > completed',
    ]);
    expect(entries[2]).toEqual({
      entryId: expect.stringMatching(/^\d+-\d+$/),
      jobId: id,
      name: 'email',
      transition: 'fail',
      from: 'processing',
      to: 'pending',
      attempt: 1,
      worker: 'w1',
      error: '502 Bad Gateway',
      at: expect.any(Date),
    });
    expect(entries[4]).toMatchObject({ attempt: 2, worker: 'w2' });
    expect(entries[4]).not.toHaveProperty('error');
    expect(JSON.stringify(await connect().xrange(`queue:${queue.name}:audit`, '-', '+'))).not.toContain('secret');
  });

  it('has the verbs of operators, and deleted jobs', async () => {
    const { queue } = coreQueue({ ...ON, maxAttempts: 1 });
    const ids = ['a', 'b', 'c', 'd'];
    for (const id of ids) await queue.enqueue(1, { id, delayMs: id === 'd' ? 60_000 : 0 });
    await queue.fail((await queue.claim())!, new Error('down'));
    await queue.deadLetters.redriveMany(['a']);
    await queue.cancel('b');
    await queue.runAgain('b');
    await queue.remove('c');
    await queue.promote('d');
    await queue.fail((await queue.claim())!, new Error('down'));
    const [dead] = await queue.list('failed');
    await queue.deadLetters.discard(dead!.id);
    await queue.purge({ confirm: queue.name });
    const entries = await trailOf(queue);
    const of = (id: string) => told(entries.filter(({ jobId }) => jobId === id)).slice(1);
    expect(of('a').slice(0, 3)).toEqual([
      'claim: pending > processing',
      'fail: processing > failed',
      'redrive: failed > pending',
    ]);
    expect(of('b').slice(0, 2)).toEqual(['cancel: pending > cancelled', 'run-again: cancelled > pending']);
    expect(of('c')).toEqual(['remove: pending >']);
    expect(told(entries.filter(({ jobId }) => jobId === dead!.id)).at(-1)).toBe('discard: failed >');
    expect(told(entries).at(-1)).toMatch(/^purge: /);
    expect(await gapsIn(queue)).toEqual([]);
  });

  it('is unbroken for jobs with groups, limits, unique keys, delays, batches and crashes', async () => {
    const { queue } = coreQueue({ ...ON, groups: { maxRunning: 1 }, maxRunning: 50, visibilityMs: 100 });
    const batch = queue.batch({ then: { payload: { done: true } } });
    await batch.addMany(
      queue.name,
      Array.from({ length: 5 }, (_, i) => ({ payload: i })),
    );
    await batch.seal();
    await queue.enqueueMany(Array.from({ length: 20 }, (_, i) => ({ payload: i, group: `g${i % 3}` })));
    const first = await queue.enqueue(1, { unique: { key: 'k', for: 'pending' } });
    await queue.enqueue(2, { unique: { key: 'k', for: 'pending', onConflict: 'replace' }, delayMs: 1 });
    await queue.enqueue(3, { after: [first.id] });
    const crashed = await queue.claim({ worker: 'dead' });
    let runs = 0;
    const handle = () => {
      if (++runs % 5 === 0) throw new Error('one of five');
    };
    const worker = new Worker([{ queue, concurrency: 10, handlers: { [queue.name]: handle } }], {
      sweepIntervalMs: 50,
    });
    await worker.start();
    await eventually(async () => {
      const { pending, scheduled, processing } = await queue.stats();
      return pending + scheduled + processing === 0;
    });
    await worker.stop();
    const entries = await trailOf(queue);
    for (const transition of ['enqueue', 'claim', 'complete', 'fail', 'reclaim']) {
      expect(entries.map((entry) => entry.transition)).toContain(transition);
    }
    expect(entries.some(({ transition, jobId }) => transition === 'reclaim' && jobId === crashed!.id)).toBe(true);
    expect(await gapsIn(queue)).toEqual([]);
  }, 60_000);

  it('survives a script with many jobs', async () => {
    const { queue } = coreQueue(ON);
    await queue.enqueueMany(Array.from({ length: 2_000 }, (_, i) => ({ payload: i })));
    const jobs = await queue.claimMany(1_000);
    await Promise.all(jobs.map((job) => queue.complete(job)));
    expect(await trailOf(queue)).toHaveLength(4_000);
    expect(await gapsIn(queue)).toEqual([]);
  });

  it('keeps about as many entries as it may', async () => {
    const { queue } = coreQueue({ auditTrail: { maxEntries: 1_000 } });
    await queue.enqueueMany(Array.from({ length: 3_000 }, (_, i) => ({ payload: i })));
    const kept = await trailOf(queue);
    expect(kept.length).toBeGreaterThanOrEqual(1_000);
    expect(kept.length).toBeLessThan(1_200);
  });

  it('takes about 100 bytes an entry', async () => {
    const { queue } = coreQueue(ON);
    await queue.enqueueMany(Array.from({ length: 2_000 }, (_, i) => ({ payload: i, name: 'email' })));
    const jobs = await queue.claimMany(1_000, { worker: 'web-1:4711' });
    await Promise.all(jobs.map((job) => queue.complete(job)));
    const bytes = Number(await connect().call('MEMORY', 'USAGE', `queue:${queue.name}:audit`, 'SAMPLES', '0'));
    expect(bytes / 4_000).toBeLessThan(130);
  });

  it('cuts a long error, between two letters', async () => {
    const { queue } = coreQueue(ON);
    await queue.enqueue(1);
    await queue.fail((await queue.claim())!, new Error(`x${'é'.repeat(500)}`));
    const [{ error } = { error: '' }] = await queue.auditTrail.latest({ limit: 1 });
    expect(error).toBe(`x${'é'.repeat(99)}`);
  });

  it('is written by a call whose reply was lost only once', async () => {
    const { queue } = coreQueue(ON);
    await queue.enqueue(1, { id: 'a' });
    await queue.enqueue(1, { id: 'a' });
    const job = (await queue.claim())!;
    await queue.complete(job);
    await queue.complete(job);
    expect(told(await trailOf(queue))).toHaveLength(3);
  });

  it('is not there without the option', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(1);
    await queue.complete((await queue.claim())!);
    expect(await connect().exists(`queue:${queue.name}:audit`)).toBe(0);
    expect(await queue.auditTrail.latest()).toEqual([]);
  });

  it('frames every script that changes jobs, and Redis takes each', async () => {
    const names = (Object.keys(luaScripts) as ScriptName[]).filter(changesJobs);
    expect(names).toEqual(
      expect.arrayContaining(['jobEnqueue', 'attemptClaim', 'attemptComplete', 'doctorInspect']),
    );
    for (const name of names) {
      expect(await connect().script('LOAD', auditedScript(name).text)).toBe(auditedScript(name).sha);
    }
    expect(() => auditedScript('queueStats')).toThrow('The script queueStats declares no transition');
  });
});

const isAway = () => Promise.reject(new Error('the warehouse is away'));

describe('consumer groups of the trail', () => {
  it('give each entry to one consumer, and again to another until it is acknowledged', async () => {
    const { queue } = coreQueue(ON);
    await queue.enqueueMany(Array.from({ length: 6 }, (_, i) => ({ payload: i })));
    const a = await queue.auditTrail.take({ group: 'g', consumer: 'a', limit: 4 });
    const b = await queue.auditTrail.take({ group: 'g', consumer: 'b', limit: 4 });
    expect([a.length, b.length]).toEqual([4, 2]);
    expect(await queue.auditTrail.acknowledge('g', b)).toBe(2);
    expect(await queue.auditTrail.acknowledge('g', b)).toBe(0);
    expect(await queue.auditTrail.take({ group: 'g', consumer: 'b' })).toEqual([]);
    const again = await queue.auditTrail.take({ group: 'g', consumer: 'b', idleMs: 0 });
    expect(again).toEqual(a);
    await queue.auditTrail.acknowledge('g', again);
    expect(await queue.auditTrail.take({ group: 'g', consumer: 'a', idleMs: 0 })).toEqual([]);
    expect(await queue.auditTrail.take({ group: 'other', consumer: 'a' })).toHaveLength(6);
  });

  it('are read as the docs show', async () => {
    const { ship } = (await loadExample('audit-trail.md', 'consumer')) as {
      ship(queue: JobQueue, consumer: string, store: (entries: AuditEntry[]) => Promise<void>): Promise<number>;
    };
    const { queue } = coreQueue(ON);
    await queue.enqueue(1);
    const stored: AuditEntry[] = [];
    const store = async (entries: AuditEntry[]) => void stored.push(...entries);
    await expect(ship(queue, 'a', isAway)).rejects.toThrow('away');
    expect(await ship(queue, 'a', store)).toBe(0); // kept for the consumer that took it, for a minute
    expect(await queue.auditTrail.take({ group: 'warehouse', consumer: 'b', idleMs: 0 })).toHaveLength(1);
    await queue.enqueue(2);
    expect(await ship(queue, 'b', store)).toBe(1);
    expect(told(stored)).toEqual(['enqueue:  > pending']);
  });

  it('are gone with the trail', async () => {
    const { queue } = coreQueue(ON);
    await queue.enqueue(1);
    expect(await queue.auditTrail.take({ group: 'g', consumer: 'a' })).toHaveLength(1);
    expect(await queue.auditTrail.clear()).toBe(true);
    expect(await queue.auditTrail.clear()).toBe(false);
    expect(await queue.auditTrail.latest()).toEqual([]);
  });
});

it('the audit trail refuses bad arguments before it asks Redis', async () => {
  const { queue } = coreQueue();
  const bad: (() => Promise<unknown>)[] = [
    () => queue.auditTrail.read({ after: '+' }),
    () => queue.auditTrail.latest({ limit: 0 }),
    () => queue.auditTrail.take({ group: '', consumer: 'a' }),
    () => queue.auditTrail.acknowledge('g', [{ entryId: 'x' }]),
    async () => sameQueue(queue, { auditTrail: { maxEntries: 1 } }),
  ];
  for (const call of bad) await expect(call()).rejects.toThrow(InvalidOptionError);
});

it('the audit trail of a queue in memory is unbroken too', async () => {
  const queue = new JobQueue(new ScriptStore(), uniqueQueueName(), ON);
  await queue.enqueue(1);
  expect(await queue.complete((await queue.claim())!)).toBe(true);
  expect(told(await queue.auditTrail.latest()).toReversed()).toEqual([
    'enqueue:  > pending',
    'claim: pending > processing',
    'complete: processing > completed',
  ]);
  expect(await gapsIn(queue)).toEqual([]);
});
