import type { LoggedAction } from '../model/actions.js';
import type { JobStatus } from '../model/job.js';
import type { ActionTarget } from '../store/action-entry.js';

/** An action for the log, before its author is known. */
export interface NewAction {
  action: LoggedAction;
  subject: string;
  target?: ActionTarget;
  /** A second object, which `subject` does not name: who sees the first may not see this one. */
  other?: ActionTarget;
}

/** Returns an action on the whole queue. */
export function onQueue(action: LoggedAction, details?: string): NewAction {
  return { action, subject: withDetails('the queue', details) };
}

/** Returns an action on jobs that a filter chooses, or that are listed. A text to search for is in no log. */
export function onJobs(action: LoggedAction, which: string, filter: object & { error?: never } = {}): NewAction {
  return { action, subject: withDetails(which, inWords(filter)) };
}

/** Returns an action on one job, group, schedule or batch. */
export function onTarget(
  action: LoggedAction,
  kind: ActionTarget['kind'],
  id: string,
  details?: string,
): NewAction {
  return { action, subject: withDetails(`${kind} ${id}`, details), target: { kind, id } };
}

/** Returns the word for the jobs of a state: `pending jobs`, `dead letters`. */
export function jobsOf(state: JobStatus): string {
  return state === 'failed' ? 'dead letters' : `${state} jobs`;
}

/** Returns options in words, such as `maxRunning 5, rateLimit {"limit":10}`. */
export function inWords(options: object): string {
  return Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
}

function withDetails(subject: string, details = ''): string {
  return details === '' ? subject : `${subject}: ${details}`;
}
