// job.waitFor and job.sleep: what a later attempt gets, and what becomes of a job that waits. The table of docs/signals.md: each row is
// done here.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ScriptStore } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { encrypted } from '#queue/codec/encrypted.js';
import { defineJob } from '#queue/enqueue/define-job.js';
import {
  InvalidOptionError,
  InvalidPayloadError,
  JobNotFoundError,
  SignalRefusedError,
  SignalTimeoutError,
} from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { systemClock, type Timer } from '#queue/runtime/clock.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import type { Job } from '#worker/handlers/job.js';
import { JobWaits } from '#worker/handlers/job-waits.js';
import { rowsOf } from '../../docs/table.js';
import { serverOf } from '../../support/queue/inside.js';
import {
  newClockedQueue,
  newQueue,
  onEachStore,
  startWorker,
  type TestWorker,
} from '../../support/worker/workers.js';

const HOUR = 3_600_000;

/** Waits for one answer, by default of the name `ok`, and completes with it. */
const waits = (job: Job) => job.waitFor('ok');

/** Starts a worker, and waits until one job of its queue is parked. */
async function parked(handle: (job: Job) => unknown = waits, options = {}, own = newQueue({ maxAttempts: 1 })) {
  const worker = await startWorker(own, handle);
  const job = await own.enqueue({ n: 1 }, options);
  await isParked(worker, job.id);
  return { queue: own, worker, job, id: job.id };
}

/** Resolves once a job is parked for the `count`-th time. */
const isParked = (worker: TestWorker, id: string, count = 1) => worker.event('released', count, { id });

/** Starts what is due, as the next claim would. */
const promote = (queue: JobQueue) => queue.exec((calls) => calls.sweep.promote({ limit: 10 }));

const waiting = async (queue: JobQueue) => (await queue.stats()).parked ?? 0;

onEachStore('job.waitFor', () => {
  it('ends the attempt without using one, and goes on with the data of the signal', async () => {
    const ran: string[] = [];
    const { queue, worker, job } = await parked(async (own) => {
      await own.step('ask', () => void ran.push('ask'));
      const answer = await own.waitFor('ok');
      ran.push('on');
      return { answer, attempt: own.attempt };
    });
    expect(await job.get()).toMatchObject({
      attempts: 0,
      waits: [{ name: 'ok', kind: 'signal', since: expect.any(Date), state: 'open' }],
      attemptLog: [{ outcome: 'wait', error: null }],
    });
    expect(await waiting(queue)).toBe(1);
    expect(await queue.signal(job.id, 'ok', { by: 'ada' })).toBe('delivered');
    expect(await job.result()).toEqual({ answer: { by: 'ada' }, attempt: 1 });
    expect(ran).toEqual(['ask', 'on']);
    expect(await job.get()).toMatchObject({
      attempts: 1,
      errors: 0,
      waits: [{ name: 'ok', state: 'answered' }],
      signals: [{ name: 'ok', at: expect.any(Date) }],
    });
    expect([await waiting(queue), worker.warnings]).toEqual([0, []]);
  });

  it('goes on at once with a signal that came before, and takes the first of two', async () => {
    const queue = newQueue();
    const job = await queue.enqueue({}, { delayMs: HOUR });
    expect(await queue.signal(job.id, 'ok', 1)).toBe('kept');
    expect(await queue.signal(job.id, 'ok', 2)).toBe('known');
    await startWorker(queue, waits);
    await queue.promote(job.id);
    expect(await job.result()).toBe(1);
    expect((await job.get())!.attemptLog).toHaveLength(1);
  });

  it('gives the same answer in each later attempt', async () => {
    const seen: unknown[] = [];
    const { queue, job } = await parked(
      async (own) => {
        seen.push(await own.waitFor('ok'));
        if (own.attempt < 3) throw new Error('again');
      },
      {},
      newQueue({ maxAttempts: 3 }),
    );
    await queue.signal(job.id, 'ok', 'yes');
    await job.result();
    expect(seen).toEqual(['yes', 'yes', 'yes']);
  });

  it('waits for several signals at once, and for one after the other', async () => {
    const { queue, job } = await parked(async (own) => [
      await Promise.all([own.waitFor('a'), own.waitFor('b')]),
      await own.waitFor('c'),
    ]);
    for (const name of ['b', 'c', 'a']) await queue.signal(job.id, name, name);
    expect(await job.result()).toEqual([['a', 'b'], 'c']);
  });

  it('times out with a value or with an error that is not retried, and refuses the signal then', async () => {
    const { queue, clock } = newClockedQueue({ maxAttempts: 3 });
    const caught: unknown[] = [];
    const { worker, job } = await parked(
      async (own) => {
        const first = await own.waitFor('a', { timeoutMs: HOUR, timeoutValue: null });
        await own.waitFor('b', { timeoutMs: HOUR }).catch((error: unknown) => {
          if (error instanceof SignalTimeoutError) caught.push(error.signal);
          throw error;
        });
        return first;
      },
      {},
      queue,
    );
    clock.nowMs += HOUR;
    await promote(queue);
    await isParked(worker, job.id, 2);
    await expect(queue.signal(job.id, 'a')).rejects.toMatchObject({ reason: 'late', code: 'SIGNAL_REFUSED' });
    clock.nowMs += HOUR;
    await promote(queue);
    await worker.event('failed');
    expect(await job.get()).toMatchObject({
      status: 'failed',
      attempts: 1,
      lastError: expect.stringContaining('"b"'),
    });
    expect(caught).toEqual(['b']);
  });

  it('drops what a handler does that goes on, with a warning', async () => {
    const { queue, worker, job } = await parked(async (own) => {
      const answer: unknown = await own.waitFor('ok').catch(() => 'none');
      await own.step('buy', () => expect(answer).toBe(1)).catch(() => undefined);
      return answer;
    });
    expect(worker.warnings.join()).toContain('Do not catch a JobWaitsError');
    expect((await job.get())!.steps).toBeUndefined();
    await queue.signal(job.id, 'ok', 1);
    expect(await job.result()).toBe(1);
  });

  it('is known also where the error of the wait is the cause of another', async () => {
    const { queue, job } = await parked((own) =>
      own.waitFor('ok').catch((error: unknown) => {
        throw new Error('wrapped', { cause: error });
      }),
    );
    await queue.signal(job.id, 'ok', 1);
    expect(await job.result()).toBe(1);
  });

  it.each<[string, (job: Job) => unknown, string]>([
    [
      'a name twice',
      (job) => job.waitFor('a', { timeoutMs: 0, timeoutValue: 1 }).then(() => job.waitFor('a')),
      'twice',
    ],
    ['a name that is none', (job) => job.waitFor('a\n'), '1 to 128 characters'],
    ['a wait inside of a step', (job) => job.step('s', () => job.waitFor('a')), 'one inside of "s"'],
    ['a wrong time', (job) => job.waitFor('a', { timeoutMs: -1 }), 'timeoutMs of 0 ms to a year'],
    ['an unknown option', (job) => job.waitFor('a', { timeout: 1 } as never), 'timeoutMs and timeoutValue'],
    ['a wrong sleep', (job) => job.sleep(Number.NaN), 'a sleep of 0 ms to a year'],
  ])('refuses %s, without a retry', async (_, handle, why) => {
    const queue = newQueue({ maxAttempts: 3 });
    const worker = await startWorker(queue, handle);
    const job = await queue.enqueue({});
    await worker.event('failed');
    expect(await job.get()).toMatchObject({
      status: 'failed',
      attempts: 1,
      lastError: expect.stringContaining(why),
    });
  });

  it('sleeps without a slot, once over all attempts', async () => {
    const { queue, clock } = newClockedQueue({ maxAttempts: 2 });
    const ran: number[] = [];
    const worker = await startWorker(queue, async (own: Job<never>) => {
      await own.sleep(HOUR);
      ran.push(own.attempt);
      if (own.attempt === 1) throw new Error('again');
      await own.sleep(0, 'no time');
    });
    const job = await queue.enqueue({});
    await isParked(worker, job.id);
    expect((await job.get())!.waits).toMatchObject([{ name: 'sleep 1', kind: 'sleep', until: expect.any(Date) }]);
    await expect(queue.signal(job.id, 'sleep 1')).resolves.toBe('kept');
    clock.nowMs += HOUR;
    await promote(queue);
    await worker.event('completed');
    expect(ran).toEqual([1, 2]);
  });
});

describe('queue.signal', () => {
  const Order = defineJob('order', {
    payload: z.object({ n: z.number() }),
    signals: { approved: z.object({ at: z.coerce.date() }), rejected: z.undefined() },
  });

  it('checks name and data by the definition, and the handler gets the parsed data', async () => {
    const queue = newQueue();
    await startWorker([
      {
        queue,
        handlers: {
          order: defineHandler(Order, async (job) => {
            const { at } = await job.waitFor('approved');
            const nothing: undefined = await job.waitFor('rejected');
            return [at instanceof Date, nothing];
          }),
        },
      },
    ]);
    const job = await queue.enqueue(Order, { n: 1 });
    const wrong = await queue.signal(Order, job.id, 'aproved' as never, {} as never).catch((error: Error) => error);
    expect(wrong).toBeInstanceOf(InvalidOptionError);
    expect(String(wrong)).toContain('one of "approved", "rejected"');
    const bad = queue.signal(Order, job.id, 'approved', { at: 'no date' });
    await expect(bad).rejects.toThrow(InvalidPayloadError);
    await expect(bad).rejects.toThrow(/data\.at/);
    expect(await queue.signal(Order, job.id, 'approved', { at: new Date(0) })).not.toBe('known');
    await queue.signal(Order, job.id, 'rejected');
    expect(await job.result()).toEqual([true, null]);
  });

  it('makes a dead letter of stored data that does not fit', async () => {
    const queue = newQueue({ maxAttempts: 3 });
    const handler = defineHandler(Order, (job) => job.waitFor('approved').then(() => undefined));
    const worker = await startWorker([{ queue, handlers: { order: handler } }]);
    const job = await queue.enqueue(Order, { n: 1 });
    await queue.signal(job.id, 'approved', { at: 'no date' });
    await worker.event('failed');
    expect(await job.get()).toMatchObject({
      attempts: 1,
      lastError: expect.stringContaining('signal "approved".at'),
    });
  });

  it('refuses an unknown or ended job, a wrong name, and data that is too large or no JSON', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    await expect(queue.signal('none', 'ok')).rejects.toThrow(JobNotFoundError);
    await expect(queue.signal(id, 'a\n')).rejects.toThrow(InvalidOptionError);
    await expect(queue.signal(id, 'ok', 'x'.repeat(65_536))).rejects.toThrow('at most 65536 bytes');
    await expect(queue.signal(id, 'ok', { f() {} })).rejects.toThrow(InvalidPayloadError);
    await expect(queue.signal(Order, id, 'rejected')).rejects.toMatchObject({ reason: 'other-name' });
    for (let i = 0; i < 256; i++) await queue.signal(id, `s${i}`);
    await expect(queue.signal(id, 'ok')).rejects.toMatchObject({ reason: 'full' });
    await queue.complete((await queue.claim())!);
    const ended = await queue.signal(id, 'ok').catch((error: Error) => error);
    expect(ended).toBeInstanceOf(SignalRefusedError);
    expect(ended).toMatchObject({ reason: 'ended', message: expect.stringContaining('Run it again') });
  });
});

/** Makes a queue in memory, whose time the test moves. */
function inMemory() {
  const clock = { nowMs: Date.now() };
  const now = () => clock.nowMs;
  const store = new ScriptStore({ ...systemClock, now }, { server: new ScriptServer(now) });
  return { queue: newQueue({}, store), clock };
}

const KEY = { id: 'june', key: randomBytes(32) };

const rows: Record<string, () => Promise<void>> = {
  '`cancel`': async () => {
    const { queue, id } = await parked();
    expect(await queue.cancel(id)).toBe('cancelled');
    await expect(queue.signal(id, 'ok')).rejects.toMatchObject({ reason: 'ended' });
    expect(await waiting(queue)).toBe(0);
  },
  '`remove`, `clean`, `purge`': async () => {
    const acts = [
      (queue: JobQueue, id: string) => queue.remove(id),
      (queue: JobQueue) => queue.clean('scheduled', { olderThanMs: 0 }),
      (queue: JobQueue) => queue.purge({ confirm: queue.name }),
    ];
    for (const act of acts) {
      const { queue, id, worker } = await parked();
      await act(queue, id);
      await expect(queue.signal(id, 'ok')).rejects.toThrow(JobNotFoundError);
      expect(await waiting(queue)).toBe(0);
      await worker.worker.stop();
    }
  },
  '`promote`, `reschedule`': async () => {
    const { queue, id } = await parked();
    expect([await queue.promote(id), await queue.reschedule(id, { delayMs: 1 })]).toEqual(['refused', 'refused']);
  },
  '`update`': async () => {
    let ran = 0;
    const { queue, id, job, worker } = await parked(async (own) => {
      await own.step('ask', () => ++ran);
      return [own.payload, await own.waitFor('ok')];
    });
    await queue.signal(id, 'other');
    expect(await queue.update(id, { n: 2 })).toBe('updated');
    await isParked(worker, id, 2);
    expect(ran).toBe(2);
    expect((await job.get())!.signals).toBeUndefined();
    await queue.signal(id, 'ok', 1);
    expect(await job.result()).toEqual([{ n: 2 }, 1]);
  },
  'an error, or the death of the worker, after the answer': async () => {
    const queue = newQueue();
    const job = await queue.enqueue({});
    const claim = (await queue.claim())!;
    await queue.exec((calls) => calls.wait({ claim, name: 'ok', kind: 'signal' }));
    await queue.signal(job.id, 'ok', 1);
    const { client, keys } = await keysOf(queue);
    await client.zadd(keys.claims, 'XX', 1, job.id);
    await queue.reclaim();
    await startWorker(queue, waits);
    expect([await job.result(), (await job.get())!.crashes]).toEqual([1, 1]);
  },
  'a shutdown': async () => {
    const { queue, worker, id, job } = await parked();
    await worker.worker.stop();
    expect(await job.get()).toMatchObject({ status: 'scheduled', interruptions: 0 });
    expect(await queue.signal(id, 'ok', 1)).toBe('delivered');
    await startWorker(queue, waits);
    expect(await job.result()).toBe(1);
  },
  'a redrive': async () => {
    const { queue, clock } = newClockedQueue();
    const { id, job, worker } = await parked(
      async (own) => [await own.waitFor('a'), await own.waitFor('b', { timeoutMs: HOUR })],
      {},
      queue,
    );
    await queue.signal(id, 'a', 1);
    await isParked(worker, id, 2);
    clock.nowMs += HOUR;
    await promote(queue);
    await worker.event('failed');
    await queue.deadLetters.redrive(id);
    await isParked(worker, id, 3);
    expect((await job.get())!.waits).toMatchObject([
      { name: 'a', state: 'answered' },
      { name: 'b', state: 'open', until: new Date(clock.nowMs + HOUR) },
    ]);
    await queue.signal(id, 'b', 2);
    expect(await job.result()).toEqual([1, 2]);
  },
  'a redrive with another payload, `redriveAsNew`': async () => {
    const { queue, id, worker } = await parked(async (own) => {
      await own.waitFor('ok');
      throw new Error('no');
    });
    await queue.signal(id, 'ok');
    await worker.event('failed');
    const { id: copy } = await queue.deadLetters.redriveAsNew(id);
    await isParked(worker, copy);
    expect((await queue.get(copy))!.signals).toBeUndefined();
    const { id: next } = await queue.enqueue({});
    await isParked(worker, next);
    await queue.signal(next, 'ok');
    await worker.event('failed', 2);
    await queue.deadLetters.redrive(next, { payload: { n: 2 } });
    await isParked(worker, next, 2);
    expect((await queue.get(next))!.signals).toBeUndefined();
  },
  '`runAgain`': async () => {
    const { queue, id, job, worker } = await parked();
    await queue.signal(id, 'ok', 1);
    await worker.event('completed');
    await queue.runAgain(id);
    await isParked(worker, id, 2);
    expect(await queue.signal(id, 'ok', 2)).toBe('delivered');
    await worker.event('completed', 2);
    expect(await job.result()).toBe(2);
  },
  '`expiresInMs`': async () => {
    const { queue, clock } = inMemory();
    const { id, job, worker } = await parked(waits, { expiresInMs: HOUR }, queue);
    clock.nowMs += HOUR;
    await promote(queue);
    await worker.event('failed');
    expect((await job.get())!.lastError).toContain('expire');
    await expect(queue.signal(id, 'ok')).rejects.toMatchObject({ reason: 'ended' });
  },
  '`timeoutMs` of the handler': async () => {
    const timeoutMs = 1_234_567;
    const [started, open] = [[] as Timer[], new Set<Timer | undefined>()];
    const store = new ScriptStore({
      ...systemClock,
      setTimeout(task, ms) {
        const timer = systemClock.setTimeout(task, ms);
        if (ms === timeoutMs) {
          started.push(timer);
          open.add(timer);
        }
        return timer;
      },
      clear(timer) {
        open.delete(timer);
        systemClock.clear(timer);
      },
    });
    const { queue, id, job } = await parked(waits, { timeoutMs }, newQueue({ maxAttempts: 1 }, store));
    expect([started.length, open.size]).toEqual([1, 0]);
    await queue.signal(id, 'ok', 1);
    expect(await job.result()).toBe(1);
    expect([started.length, open.size]).toEqual([2, 0]);
  },
  'the pause of the queue': async () => {
    const { queue, id, job } = await parked();
    await queue.pause();
    expect(await queue.signal(id, 'ok', 1)).toBe('delivered');
    expect((await job.get())!.status).toBe('pending');
    await queue.resume();
    expect(await job.result()).toBe(1);
  },
  'a batch': async () => {
    const queue = newQueue();
    const worker = await startWorker(queue, waits);
    const batch = queue.batch({ finally: { name: 'then' } });
    const member = await batch.add(queue.name, {});
    await batch.seal();
    await isParked(worker, member.id);
    expect(await batch.status()).toMatchObject({ state: 'sealed', open: 1 });
    await batch.cancel();
    await batch.wait();
    expect([(await member.get())!.status, await waiting(queue)]).toEqual(['cancelled', 0]);
  },
  '`after`': async () => {
    const { queue, id } = await parked(async (own) => (own.payload as { n?: number }).n && own.waitFor('ok'));
    const next = await queue.enqueue({}, { after: [id] });
    expect((await next.get())!.status).toBe('scheduled');
    await queue.signal(id, 'ok');
    await next.result();
  },
  'a group': async () => {
    const queue = newQueue({ groups: { maxRunning: 1 } });
    const { id, job } = await parked(
      async (own) => (own.payload as { n?: number }).n && own.waitFor('ok'),
      { group: 'g' },
      queue,
    );
    await (await queue.enqueue({}, { group: 'g' })).result();
    await queue.signal(id, 'ok', 1);
    expect(await job.result()).toBe(1);
  },
  "`unique` for `'unfinished'`": async () => {
    const unique = { key: 'k', for: 'unfinished' } as const;
    const { queue, id } = await parked(waits, { unique });
    expect(await queue.enqueue({}, { unique })).toMatchObject({ outcome: 'kept', id });
  },
  "`unique` for `'pending'`": async () => {
    const unique = { key: 'k', for: 'pending' } as const;
    const { queue, id, job, worker } = await parked(async (own) => [own.payload, await own.waitFor('ok')], {
      unique,
    });
    expect(await queue.enqueue({}, { unique })).toMatchObject({ outcome: 'kept', id });
    await queue.signal(id, 'other');
    await queue.enqueue({ n: 2 }, { unique: { ...unique, onConflict: 'replace' } });
    await isParked(worker, id, 2);
    expect((await job.get())!.signals).toBeUndefined();
    await queue.signal(id, 'ok', 1);
    expect(await job.result()).toEqual([{ n: 2 }, 1]);
  },
  encryption: async () => {
    const queue = newQueue({ codec: encrypted([KEY]) });
    const { id, job } = await parked(waits, {}, queue);
    await queue.signal(id, 'ok', { by: 'a canary' });
    const { client, keys } = await keysOf(queue);
    expect(await client.hget(keys.job(id), 'signals')).not.toContain('canary');
    expect(await job.result()).toEqual({ by: 'a canary' });
    const second = await queue.enqueue({}, { delayMs: HOUR });
    await queue.signal(second.id, 'other', 1);
    const text = (await client.hget(keys.job(second.id), 'signals'))!;
    await client.hset(keys.job(second.id), 'signals', text.replace('other', 'ok'));
    await queue.promote(second.id);
    await expect(second.result()).rejects.toThrow('was stored for another signal');
  },
};

async function keysOf(queue: JobQueue) {
  const { client, scripts } = await serverOf(queue);
  return { client, keys: scripts.keys };
}

const told = rowsOf('signals with others', 'docs/signals.md')
  .slice(2)
  .map(([feature]) => feature!);

describe('a job that waits', () => {
  it('has a row here for each of the docs', () => {
    expect(Object.keys(rows)).toEqual(told);
  });

  it.each(Object.entries(rows))('%s', async (_feature, play) => play());
});

it('gives a sleep without a name the same name after its call has failed', async () => {
  const names: string[] = [];
  const note = async (name: string) => {
    if (names.push(name) === 1) throw new Error('no reply');
    return { is: 'over' as const };
  };
  const own = new JobWaits('a', note, undefined);
  await expect(own.sleep(1)).rejects.toThrow('no reply');
  await own.sleep(1);
  await own.sleep(1);
  expect(names).toEqual(['sleep 1', 'sleep 1', 'sleep 2']);
});
