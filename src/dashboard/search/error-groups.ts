import type { JobRecord } from '../../queue/model/job.js';
import type { ErrorGroupView } from '../views/views.js';

const KEY_LENGTH = 200;
/** The characters of a message that decide its kind. */
const LOOKED_AT = 1_000;

/**
 * Returns the kind of an error: its message without numbers, ids and quoted text, which differ between jobs.
 */
export function errorKey(message: string | undefined): string {
  return (message ?? 'No error is stored')
    .slice(0, LOOKED_AT)
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '…')
    .replaceAll(/"[^"]{0,200}"|'[^']{0,200}'|`[^`]{0,200}`/g, '…')
    .replaceAll(/\b(?=[\da-z]*\d)[\da-z]{8,}\b/gi, '…')
    .replaceAll(/\d+([.,]\d+)*/g, '…')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, KEY_LENGTH);
}

/** Groups dead letters by the kind of their last error, the largest group first. */
export function groupByError(jobs: readonly JobRecord[]): ErrorGroupView[] {
  const groups = new Map<string, ErrorGroupView>();
  for (const job of jobs) {
    const key = errorKey(job.lastError);
    const at = (job.failedAt ?? job.enqueuedAt).getTime();
    const known = groups.get(key);
    if (known) {
      known.count += 1;
      known.firstAt = Math.min(known.firstAt, at);
      known.lastAt = Math.max(known.lastAt, at);
    } else {
      const name = job.attemptLog.findLast(({ error }) => error !== null)?.error?.name ?? 'Error';
      const sample = (job.lastError ?? 'No error is stored').slice(0, 300);
      groups.set(key, { key, name: name.slice(0, 100), sample, count: 1, firstAt: at, lastAt: at });
    }
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count);
}
