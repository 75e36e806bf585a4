import type { LoggedAction } from '../model/actions.js';
import type { JobStatus } from '../model/job.js';
import type { TopicSubscription } from '../model/topic.js';
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

/** Returns the name of a limit, or of one of its keys, for the action log. */
export function limitInLog(name: string, key: string | undefined): string {
  return key === undefined ? name : `${name} of ${key}`;
}

/** Returns an action on a limit that queues share. */
export function onSharedLimit(action: LoggedAction, name: string, details?: string): NewAction {
  return { action, subject: withDetails(`shared limit ${name}`, details) };
}

/** Returns an action on a subscription of a topic. */
export function onSubscription(
  action: LoggedAction,
  { topic, name }: Pick<TopicSubscription, 'topic' | 'name'>,
): NewAction {
  return { action, subject: `subscription ${name} of topic ${topic}` };
}

/** Returns what somebody said of a kind of error; null for its end. */
export function onKind(kind: string, mark: object | null): NewAction {
  const said = mark === null ? 'nothing any more' : inWords(mark);
  return { action: 'mark-error', subject: withDetails(`the kind of error ${kind}`, said) };
}

/** Returns the word for the jobs of a state: `pending jobs`, `dead letters`. */
export function jobsOf(state: JobStatus): string {
  return state === 'failed' ? 'dead letters' : `${state} jobs`;
}

/** Returns options in words, such as `maxRunning 5, rateLimit {"limit":10}`. */
export function inWords(options: object): string {
  return Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${textOf(name, value)}`)
    .join(', ');
}

function textOf(name: string, value: string | number | boolean | object): string {
  if (name.endsWith('At') && typeof value === 'number') {
    return new Date(value).toISOString();
  }
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function withDetails(subject: string, details = ''): string {
  return details === '' ? subject : `${subject}: ${details}`;
}
