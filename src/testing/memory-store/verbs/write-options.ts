import { withoutPlainMark } from '../../../queue/model/metadata.js';
import type { ScriptOptions } from '../../../queue/store/script-options.js';
import type { Hash, MemoryQueue } from '../state/memory-queue.js';

/** Writes the options of a job into its hash; see lua/lib/enqueue/options.lua. */
export function writeOptions(queue: MemoryQueue, job: Hash, options: ScriptOptions): void {
  const kind = options.unique_for;
  const fields: Record<string, string | number | undefined> = {
    priority: options.priority,
    cost: options.cost,
    group: options.group,
    max_attempts: options.max_attempts,
    max_crashes: options.max_crashes,
    expires_at_ms: options.expires_in_ms && queue.now + options.expires_in_ms,
    unique: typeof kind === 'string' ? options.unique : undefined,
    unique_for: typeof kind === 'string' ? kind : undefined,
    batch: options.batch,
  };
  const isPlain = options.after === undefined && Object.values(fields).every((value) => value === undefined);
  fields.options = isPlain ? options.worker : withoutPlainMark(options.worker);
  fields.request = options.request;
  fields.window = typeof kind === 'number' ? options.unique : undefined;
  fields.window_ms = typeof kind === 'number' ? kind : undefined;
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) {
      job[field] = String(value);
    }
  }
}

/** Makes a job no plain one any more; see lua/lib/enqueue/leave_plain.lua. */
export function leavePlain(job: Hash): void {
  job.options = withoutPlainMark(job.options);
}
