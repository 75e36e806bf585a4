// The verbs of a JobQueue, with a manual consumer; of a job whose handler has options, with a Worker.
import { expect } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { queueOn, type TestQueue } from '../../support/queue/queue-state.js';
import { leaveBroken, newQueue, startWorker } from '../../support/worker/workers.js';
import { BULK, Play, type PlayedVerb } from './play.js';
import { definitionOf, rowIn, TIME_RUNS_OUT, WORKER_PAUSED, type Row } from './rows.js';
import type { Driver, Stage } from './scene.js';
import { server } from './server.js';
import { sealed } from '../../support/queue/unsealed.js';

type Consumer = Pick<Stage, PlayedVerb | 'keepWaiting' | 'claimAgain' | 'running' | 'shutDown'>;

/** Columns that a manual consumer cannot show. */
const NEED_A_WORKER = [TIME_RUNS_OUT, WORKER_PAUSED];

export const coreDriver: Driver = {
  name: 'the core',
  open: async (base, column) => {
    const row = rowIn(column, base);
    const played =
      row.handler !== undefined || row.bulk === true || row.ahead === true || NEED_A_WORKER.includes(column);
    const queue = newQueue(played ? { visibilityMs: 3_000 } : {}, server());
    leaveBroken(queue); // queueOn checks its invariants
    const state = queueOn(server(), {}, queue.name);
    return {
      queue,
      state,
      deadLetters: queue.deadLetters,
      schedules: queue.schedules,
      enqueue: (payload, options, typed) =>
        typed
          ? queue.enqueue(definitionOf(queue.name), payload, options)
          : queue.producer.one(undefined, payload, options),
      pause: () => queue.pause(),
      resume: () => queue.resume(),
      cancel: (id) => queue.cancel(id),
      get: (id) => queue.get(id),
      promote: (id) => queue.promote(id),
      update: (id, payload) => queue.update(id, payload),
      setPriority: (id, priority) => queue.setPriority(id, priority),
      runAgain: (id) => queue.runAgain(id),
      reschedule: (id, start) => queue.reschedule(id, start),
      remove: (id) => queue.remove(id),
      clean: (status) => queue.clean(status),
      purge: () => queue.purge({ confirm: queue.name }),
      ...(played ? await worker(queue, state, row) : manualConsumer(queue, state)),
    };
  },
};

/** The stage of a manual consumer, which claims a job at a time when the test says so. */
const nothingToDo = {
  keepWaiting: () => {},
  claimAgain: () => {},
  blocked: async () => {},
  freeSlot: () => {},
  end: () => {},
};

function manualConsumer(queue: JobQueue, state: TestQueue): Consumer {
  let job: ClaimedJob;
  return {
    ...nothingToDo,
    running: async () => {
      job = (await queue.claim())!;
    },
    fail: async (final) => {
      expect(await queue.fail(job, new Error('no'), { final })).toBe(final ? 'failed' : 'retry');
    },
    checkpoint: async (value) => {
      expect(await queue.exec((calls) => calls.checkpoint({ claim: job, checkpoint: sealed(String(value)) }))).toBe(
        true,
      );
    },
    complete: async () => {
      expect(await queue.complete(job, 1)).toBe(true);
    },
    snooze: async (delayMs) => {
      expect(await queue.release(job, { delayMs })).toBe('released');
    },
    meetLimit: async (delayMs) => {
      const release = { ...job, reason: 'rate_limited', delayMs } as const;
      expect(await queue.exec((calls) => calls.release([release]))).toEqual(['released']);
    },
    shutDown: async () => {
      expect(await queue.release(job)).toBe('released');
    },
    loseWorker: async () => {
      await state.expireClaims(job.id);
      expect((await queue.reclaim()).reclaimed).toEqual([{ id: job.id, status: 'pending' }]);
      expect(await queue.complete(job, 1)).toBe(false);
    },
    timeOut: () => Promise.reject(new Error('who claims by hand keeps the time by hand')),
    giveUp: async () => {
      expect(await queue.extend(job)).toBe('cancel-requested');
      expect(await queue.fail(job, new Error('aborted'))).toBe('cancelled');
    },
  };
}

async function worker(queue: JobQueue, state: TestQueue, { handler, ahead, bulk }: Row): Promise<Consumer> {
  const play = new Play();
  const one = { ...handler, handle: (job: Job) => play.handle(job) };
  const several = { bulk: BULK, handle: (jobs: Job[]) => Promise.all(jobs.map((job) => play.handle(job))) };
  const handlers = { [queue.name]: bulk ? several : one };
  const served = { queue, concurrency: 1, prefetch: ahead ? 1 : 0, handlers };
  const { worker: runtime } = await startWorker([served], undefined, { onEvent: (event) => play.tell(event) });
  return {
    ...play.verbs(queue, state),
    keepWaiting: () => runtime.pause(),
    claimAgain: () => runtime.resume(),
    running: async () => {
      await play.started.promise;
      await queue.pause();
    },
    shutDown: async () => {
      await runtime.stop({ timeoutMs: 200 });
      await play.until('released');
    },
  };
}
