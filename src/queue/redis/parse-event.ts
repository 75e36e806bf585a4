import type { JobEvent } from '../model/job-event.js';

/**
 * The most characters of an event, and of each of its fields. Any client with the permission may publish an event.
 */
const LONGEST_EVENT = 10_000;
const LONGEST_FIELD = 1_000;

/** Returns a published event, or undefined for an invalid message. */
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
  const { id, status, name, attempt, error, progress, result } = event as Record<string, unknown>;
  if (!isField(status) || !(isField(id) || (id === '' && status === 'drained'))) {
    return undefined;
  }
  return {
    id,
    status,
    ...(isField(name) && { name }),
    ...(isAttempt(attempt) && { attempt }),
    ...(isField(error) && { error }),
    ...(progress !== undefined && { progress }),
    ...(result !== undefined && { result }),
  };
}

function isAttempt(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isField(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= LONGEST_FIELD;
}
