// A job in a few words, for lists of the command line and the dashboard.
import type { ShownJob } from '../../queue/store/shown-content.js';
import { cut } from '../../queue/runtime/cut.js';

const LABEL_LENGTH = 120;
const MOST_FIELDS = 6;

/**
 * Returns the label of a job: the start of its payload.
 *
 * @param chosen returns the label that the app chose for a payload
 */
export function jobLabel({ payload }: ShownJob, chosen?: (payload: unknown) => string | undefined): string {
  switch (payload.is) {
    case 'left-out':
      return `payload of ${Math.ceil(payload.bytes / 1_024).toLocaleString('en')} KB`;
    case 'coded':
      return `payload that only the codec "${payload.codec}" can read`;
    case 'unshown':
      return payload.reason;
    case 'broken':
      return cut(chosen?.(undefined) ?? payload.text, LABEL_LENGTH);
    default:
      return cut(chosen?.(payload.value) ?? preview(payload.value), LABEL_LENGTH);
  }
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
