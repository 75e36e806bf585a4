// A queue whose every part has a marked secret under a redacted field, or quotes it.
import type { JobCodec, JobFailure, JobQueue } from 'nest-job-queue/core';
import { QueueReporter } from '#worker/attempt/queue-reporter.js';
import { Job } from '#worker/handlers/job.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { eventually } from '../support/faults/wait.js';
import { startWorker } from '../support/worker/workers.js';

/** The begin of each secret. */
export const SECRET = 'DE02-1203-SECRET';

/** The places of a job that have a secret of their own. With one for all, the known place would hide the others. */
export const FIELDS = [
  'payload',
  'key',
  'item',
  'deep',
  'progressEarly',
  'progressLate',
  'checkpointEarly',
  'checkpointLate',
  'step',
  'chunk',
  'result',
  'instance',
  'map',
  'mapKey',
  'logged',
] as const;
export type Field = (typeof FIELDS)[number];

/** The secret of each place. */
export const SECRETS = Object.fromEntries(FIELDS.map((field) => [field, `${SECRET}-${field}-end`])) as Record<
  Field,
  string
>;

/** The option `redact` of each marked queue. */
export const REDACT: readonly string[] = ['iban', 'wallets'];

/** Returns a value with a secret at this depth. */
function nested(depth: number): unknown {
  return depth === 0 ? { iban: SECRETS.deep } : { inner: nested(depth - 1) };
}

/** An instance of a class, as a codec makes one. */
export class Account {
  constructor(readonly iban: string) {}
}

/** A codec that makes instances and maps of what it reads. */
export const RICH: JobCodec = {
  name: 'rich',
  encode: (value) => JSON.stringify(value),
  decode: (json) => {
    const value = JSON.parse(String(json)) as unknown;
    const isMarked = typeof value === 'object' && value !== null && 'memo' in value && 'to' in value;
    return isMarked
      ? {
          ...value,
          account: new Account(SECRETS.instance),
          map: new Map([['iban', SECRETS.map]]),
          wallets: new Map([[SECRETS.mapKey, 5]]),
          balance: 10n,
        }
      : value;
  },
};

/** Returns a payload with secrets in its fields, its keys and its lists. One is below the depth where a reader may stop. */
export function markedPayload(): Record<string, unknown> {
  return {
    iban: SECRETS.payload,
    to: 'ada',
    wallets: { [SECRETS.key]: 5 },
    accounts: [{ iban: SECRETS.item }],
    nested: nested(60),
    memo: `for ${SECRETS.payload}`,
  };
}

/** Returns a text that quotes all secrets that the job has shown by now. */
function quote(job: Job, ...others: Field[]): string {
  const isRich = (job.payload as { account?: unknown }).account instanceof Account;
  const made = isRich ? (['instance', 'map', 'mapKey'] as const) : (['key'] as const);
  const ofPayload = job.name.startsWith('@') ? [] : (['payload', 'item', 'deep', ...made] as const);
  return [...ofPayload, ...others].map((field) => SECRETS[field]).join(', ');
}

/** Reports early parts of its work, quoting them, as a handler does that still runs. */
export async function quoteEarly(job: Job): Promise<void> {
  await job.progress({ iban: SECRETS.progressEarly });
  await job.checkpoint({ iban: SECRETS.checkpointEarly });
  await job.step('look up', () => SECRETS.step);
  await job.stream.write({ iban: SECRETS.chunk });
  await job.stream.write(`account ${SECRETS.chunk}, ${quote(job)}`);
  await job.log(`account ${quote(job, 'progressEarly', 'checkpointEarly', 'step', 'chunk')}`);
}

/** Fails with all parts of the job in its error, its name, its cause and its parts. */
function fail(job: Job): never {
  const all = quote(job, 'progressEarly', 'progressLate', 'checkpointEarly', 'checkpointLate', 'step', 'chunk');
  const cause = new AggregateError([new Error(`part ${all}`)], `all of ${all}`);
  const name = `Error of ${SECRETS.payload} ${SECRETS.step}`;
  throw Object.assign(new Error(`no account ${all}`, { cause }), { name });
}

/** Quotes each part of the job wherever a handler can. */
export async function quoteSecret(job: Job): Promise<unknown> {
  await quoteEarly(job);
  await job.progress({ iban: SECRETS.progressLate });
  await job.checkpoint({ iban: SECRETS.checkpointLate });
  const all = quote(job, 'progressEarly', 'progressLate', 'checkpointEarly', 'checkpointLate', 'step', 'chunk');
  await job.log(`account ${all}`);
  if ('stays' in (job.payload as object)) {
    await new Promise((resolve) => job.signal.addEventListener('abort', resolve, { once: true }));
  }
  return 'fails' in (job.payload as object)
    ? fail(job)
    : { iban: SECRETS.result, memo: `paid ${quote(job, 'progressLate')}` };
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
  const payload = markedPayload();
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
  const payload = markedPayload();
  await queue.enqueue(payload, { id: prefix + IDS.processing });
  const claim = (await queue.claim({ worker: 'box:1:x' }))!;
  await quoteEarly(new Job(claim, new QueueReporter(queue, await queue.calls(), { drop() {} }, () => undefined)));
  await queue.enqueue(payload, { id: prefix + IDS.cancelled });
  await queue.cancel(prefix + IDS.cancelled);
  await queue.enqueue(payload, { id: prefix + IDS.scheduled, delayMs: 3_600_000 });
  await queue.enqueue(payload, { id: prefix + IDS.pending });
  await queue.enqueue(payload, { id: `${prefix}grouped-1`, group: prefix + GROUP });
  await queue.schedules.upsert(prefix + SCHEDULE, { cron: '0 3 1 * *' }, { payload });
}
