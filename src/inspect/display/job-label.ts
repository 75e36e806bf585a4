// A job in a few words, for lists of the command line and the dashboard.
import { codecOf } from '../../queue/codec/codec.js';
import type { JobRecord } from '../../queue/model/job.js';
import { cut } from '../../queue/runtime/cut.js';

const LABEL_LENGTH = 120;
const MOST_FIELDS = 6;

/**
 * Returns the label of a job: the start of its payload.
 *
 * @param job as it may be shown
 * @param chosen returns the label that the app chose
 */
export function jobLabel(job: JobRecord, chosen?: (job: JobRecord) => string | undefined): string {
  if (job.leftOut?.payload !== undefined) {
    return `payload of ${Math.ceil(job.leftOut.payload / 1_024).toLocaleString('en')} KB`;
  }
  const codec = codecOf(job.payload);
  if (codec !== undefined) {
    return `payload that only the codec "${codec}" can read`;
  }
  return cut(chosen?.(job) ?? preview(job.payload ?? job.brokenPayload), LABEL_LENGTH);
}

function preview(payload: unknown): string {
  if (payload === undefined || payload === null) {
    return '';
  }
  if (typeof payload !== 'object') {
    return cut(typeof payload === 'string' ? payload : JSON.stringify(payload), LABEL_LENGTH);
  }
  const entries = Object.entries(payload).slice(0, MOST_FIELDS);
  return entries.map(([key, value]) => `${cut(key, 30)}: ${shortValue(value)}`).join(', ');
}

function shortValue(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.length}]`;
  }
  return typeof value === 'object' && value !== null ? '{…}' : cut(String(value), 60);
}
