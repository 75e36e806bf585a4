// What a job of BullMQ or Bull becomes here, or why it stays there.
import { z } from 'zod';
import { sealFailure, sealJson } from '../../queue/codec/sealed.js';
import { parseJson } from '../../queue/codec/stored-value.js';
import { serializeError } from '../../queue/errors/stored-error.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { encodeJob } from '../../queue/enqueue/encode-job.js';
import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import type { DeadEntry, OnceEntry } from '../../queue/verbs/once.js';
import { nameOf, priorityOf, type MoveRules } from '../move-rules.js';
import type { OldJob } from './old-job.js';
import { backoffOf, droppedOptions, readOptions, type OldOptions } from './old-options.js';

/** A job as it is added here, and the options that have no counterpart. */
export interface Translated {
  job: OnceEntry['job'];
  ran?: NonNullable<OnceEntry['ran']>;
  /** Only of a failed job, which becomes a dead letter. */
  failure?: DeadEntry['failure'];
  dropped: string[];
}

/** A job that stays, and why. Alike reasons are counted together. */
export interface Refusal {
  reason: string;
}

/** What a translation needs to know beside the job. */
interface TranslateParts {
  queue: JobQueue;
  rules: MoveRules;
  /** The schedulers that stay: their next jobs stay too, because each of them makes the one after it. */
  staying: ReadonlySet<string>;
}

const MOST_ATTEMPTS = 1_000;

/** Returns what a job becomes. */
export function translateJob(old: OldJob, parts: TranslateParts): Translated | Refusal {
  const { fields } = old;
  if (fields.name === undefined || fields.data === undefined) {
    return { reason: 'its hash is gone or broken' };
  }
  if (fields.parentKey !== undefined || fields.defa !== undefined || old.isParent) {
    return { reason: 'it belongs to a flow' };
  }
  try {
    const options = readOptions(fields.opts);
    const scheduler = fields.rjk ?? options.repeat?.key;
    if (scheduler !== undefined && parts.staying.has(scheduler)) {
      return { reason: 'its scheduler stays' };
    }
    JSON.parse(fields.data);
    return translated(old, fields.name, options, parts);
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function translated(old: OldJob, name: string, options: OldOptions, parts: TranslateParts): Translated | Refusal {
  const { queue, rules } = parts;
  const priority = priorityOf(rules, options.priority ?? Number(old.fields.priority ?? 0));
  if (typeof priority === 'string') {
    return { reason: priority };
  }
  const maxAttempts = Math.min(Math.max(1, options.attempts ?? 1), MOST_ATTEMPTS);
  const backoff = backoffOf(options.backoff, rules.backoffs, maxAttempts);
  if (backoff.reason !== undefined && hasRetries(old, maxAttempts)) {
    return { reason: backoff.reason };
  }
  const asked: EnqueueOptions = {
    id: rules.newIds ? `bull:${old.id}:${queue.store.clock.randomId()}` : old.id,
    name: nameOf(rules, name),
    maxAttempts,
    ...(maxAttempts > 1 && backoff.reason === undefined && { backoff: backoff.value }),
    ...(priority > 0 && { priority }),
    ...(old.place === 'delayed' && { runAt: old.dueMs }),
    ...(old.place !== 'failed' && uniqueOf(old)),
    ...(options.resultTtlMs !== undefined && { resultTtlMs: options.resultTtlMs }),
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    ...(options.traceparent !== undefined && { metadata: { traceparent: options.traceparent } }),
  };
  const encoded = encodeJob(queue, null, asked, `job ${old.id}`);
  const owner = { queue: queue.name, id: encoded.id };
  const job = { ...encoded, payload: sealJson(queue.options, old.fields.data!, owner) };
  const dropped = [
    ...droppedOptions(options),
    ...(maxAttempts > 1 && backoff.reason !== undefined ? ['backoff'] : []),
  ];
  if (old.place === 'failed') {
    return { job, ran: pastOf(old, maxAttempts), failure: failureOf(old, queue), dropped };
  }
  const ran = ranOf(old, maxAttempts);
  return { job, ...(ran && { ran }), dropped };
}

/** Returns whether a retry may follow the next attempt. Without one no delay is needed. */
function hasRetries(old: OldJob, maxAttempts: number): boolean {
  const { errors, crashes } = pastOf(old, maxAttempts);
  return old.place !== 'failed' && maxAttempts - errors - crashes > 1;
}

/** Returns what the job had there. It may run once more, as there: a manual retry does not reset the attempts. */
function ranOf(old: OldJob, maxAttempts: number): OnceEntry['ran'] {
  const past = pastOf(old, maxAttempts - 1);
  return past.errors + past.crashes === 0 ? undefined : past;
}

function pastOf({ fields }: OldJob, mostAttempts: number): NonNullable<OnceEntry['ran']> {
  const errors = Number(fields.atm ?? fields.attemptsMade ?? 0);
  const crashes = Number(fields.stc ?? 0);
  return { attempts: Math.min(errors + crashes, mostAttempts), errors, crashes };
}

const STACKS = z.array(z.string()).catch([]);

/** Returns the last error of a failed job. Its name is in its stack only. */
function failureOf({ id, fields, score }: OldJob, queue: JobQueue): DeadEntry['failure'] {
  const { failedReason: message = '', stacktrace, processedOn, finishedOn } = fields;
  const stack = STACKS.parse(parseJson(stacktrace).value).at(-1);
  const [, name] = /^(\w+): /.exec(stack ?? '') ?? [];
  const thrown = serializeError(Object.assign(new Error(message), { name: name ?? 'Error', stack }));
  const { error } = sealFailure(queue.options.codec, queue.name, { id, error: thrown });
  const endedAt = Number(finishedOn ?? score);
  return { error, startedAt: Number(processedOn ?? endedAt), endedAt };
}

/** Returns the unique key of a job that still holds its key of deduplication. */
function uniqueOf({ fields, hasLostKey, dedupTtlMs }: OldJob): Pick<EnqueueOptions, 'unique'> {
  const key = fields.deid;
  return key === undefined || hasLostKey
    ? {}
    : { unique: { key, for: dedupTtlMs > 0 ? { ms: dedupTtlMs } : 'unfinished' } };
}
