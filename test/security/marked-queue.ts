// A queue whose every part has a marked secret under a redacted field, or quotes it.
import type { Job, JobFailure, JobQueue } from 'nest-job-queue/core';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { eventually } from '../support/faults/wait.js';
import { startWorker } from '../support/worker/workers.js';

/** The value of each redacted field. */
export const SECRET = 'DE02-1203-SECRET';
/** The option `redact` of each marked queue. */
export const REDACT: readonly string[] = ['iban'];

/** Fails with the payload in its error, its cause and its parts. */
function fail({ payload }: Job): never {
  const { iban } = payload as { iban: string };
  const cause = new AggregateError([new Error(`part ${iban}`)], `all of ${iban}`);
  throw new Error(`no account ${iban}`, { cause });
}

/** Quotes the payload wherever a handler can. */
export async function quoteSecret(job: Job): Promise<unknown> {
  await job.progress({ iban: SECRET });
  await job.log(`account ${SECRET}`);
  await job.checkpoint({ iban: SECRET });
  await job.step('look up', () => SECRET);
  return 'fails' in (job.payload as object) ? fail(job) : { iban: SECRET };
}

/** Fails with the payload of the failed job, as a failure job may. */
export function quoteFailure({ payload: { payload, error } }: Job<JobFailure<{ iban: string }>>): never {
  throw new Error(`nobody to tell of ${payload.iban}: ${error}`);
}

/** The ids of a marked queue, by the state of the job. */
export const IDS = {
  completed: 'completed-1',
  failed: 'failed-1',
  pending: 'pending-1',
  scheduled: 'scheduled-1',
  cancelled: 'cancelled-1',
  processing: 'processing-1',
} as const;
export const BATCH = 'batch-1';
export const SCHEDULE = 'schedule-1';
export const GROUP = 'group-1';

/**
 * Fills an unused queue. It gets a job in each state, a batch with a follow-up, and a failure job. It also gets a group,
 * a schedule, and an audit trail.
 *
 * @param prefix the start of the ids
 */
export async function markQueue(queue: JobQueue, prefix = ''): Promise<void> {
  const { name } = queue;
  const { worker } = await startWorker([
    { queue, handlers: { [name]: quoteSecret }, onFailed: { [name]: { maxAttempts: 1, handle: quoteFailure } } },
  ]);
  const payload = { iban: SECRET, to: 'ada' };
  const batch = queue.batch({ id: prefix + BATCH, finally: { name, payload } });
  const completed = await batch.add(queue.name, payload, { id: prefix + IDS.completed });
  const failed = await batch.add(
    queue.name,
    { ...payload, fails: true },
    { id: prefix + IDS.failed, maxAttempts: 1 },
  );
  await batch.seal();
  await Promise.allSettled([completed.result(), failed.result()]);
  await maintainBatches(queue);
  await eventually(async () => {
    const { completed: done, failed: dead } = await queue.stats();
    return done === 2 && dead === 2;
  });
  await worker.stop();
  await markWaiting(queue, prefix);
}

/** Adds the jobs that have not ended, and the schedule. */
async function markWaiting(queue: JobQueue, prefix: string): Promise<void> {
  const payload = { iban: SECRET, to: 'ada' };
  await queue.enqueue(payload, { id: prefix + IDS.processing });
  await queue.claim({ worker: 'box:1:x' });
  await queue.enqueue(payload, { id: prefix + IDS.cancelled });
  await queue.cancel(prefix + IDS.cancelled);
  await queue.enqueue(payload, { id: prefix + IDS.scheduled, delayMs: 3_600_000 });
  await queue.enqueue(payload, { id: prefix + IDS.pending });
  await queue.enqueue(payload, { id: `${prefix}grouped-1`, group: prefix + GROUP });
  await queue.schedules.upsert(prefix + SCHEDULE, { cron: '0 3 1 * *' }, { payload });
}
