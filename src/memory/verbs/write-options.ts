import { JOB_OPTIONS, type JobOption, type JobOptionName } from '../../queue/model/job-options.js';
import { encodePlainOptions, withoutPlainMark } from '../../queue/model/metadata.js';
import type { AskedOptions } from '../../queue/store/asked-options.js';
import { batchFields } from '../../queue/store/job-ref.js';
import type { Hash, MemoryQueue } from '../state/memory-queue.js';

/** Writes the options of a job into its hash; see lua/lib/enqueue/options.lua. */
export function writeOptions(queue: MemoryQueue, job: Hash, options: AskedOptions): void {
  const { unique, expiresInMs } = options;
  const key = typeof unique?.for === 'string' ? unique.key : undefined;
  const fields: Record<string, string | number | undefined> = {
    priority: options.priority,
    cost: options.cost,
    group: options.group,
    max_attempts: options.maxAttempts,
    max_crashes: options.maxCrashes,
    expires_at_ms: expiresInMs && queue.now + expiresInMs,
    unique: key,
    unique_for: key === undefined ? undefined : (unique!.for as string),
    batch: options.batch,
  };
  const isPlain = options.after === undefined && Object.values(fields).every((value) => value === undefined);
  fields.options = forWorker(options, isPlain);
  fields.request = options.request;
  if (typeof unique?.for === 'object') {
    fields.window = unique.key;
    fields.window_ms = unique.for.ms;
  }
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) {
      job[field] = String(value);
    }
  }
}

/** Returns the options that the worker reads, as JSON; undefined for none of a plain job. */
function forWorker(options: AskedOptions, isPlain: boolean): string | undefined {
  const { batch, payloadId, metadata } = options;
  const worker = Object.entries(options).flatMap(([name, value]): [string, unknown][] => {
    const option: JobOption | undefined = JOB_OPTIONS[name as JobOptionName];
    return option?.worker ? [[option.worker.field, value]] : [];
  });
  if (batch !== undefined) {
    worker.push(...Object.entries(batchFields(batch)));
  }
  if (payloadId !== undefined) {
    worker.push(['payloadId', payloadId]);
  }
  if (isPlain && worker.length === 0) {
    return undefined;
  }
  return isPlain && worker.length === 1 && metadata
    ? encodePlainOptions(metadata)
    : JSON.stringify(Object.fromEntries(worker));
}

/** Makes a job no plain one any more; see lua/lib/enqueue/leave_plain.lua. */
export function leavePlain(job: Hash): void {
  job.options = withoutPlainMark(job.options);
}
