import type { JobEvent } from '../model/job-event.js';

/** The most characters of an event, and of each of its fields: anybody with the right to publish may send one. */
const LONGEST_EVENT = 10_000;
const LONGEST_FIELD = 1_000;

/** Returns an event as it was published; undefined for a message that is none. */
export function parseEvent(message: string): JobEvent | undefined {
  if (message.length > LONGEST_EVENT) {
    return undefined;
  }
  let event: unknown;
  try {
    event = JSON.parse(message);
  } catch {
    return undefined;
  }
  if (typeof event !== 'object' || event === null) {
    return undefined;
  }
  const { id, status, name } = event as Record<string, unknown>;
  if (!isField(id) || !isField(status)) {
    return undefined;
  }
  return isField(name) ? { id, status, name } : { id, status };
}

function isField(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= LONGEST_FIELD;
}
