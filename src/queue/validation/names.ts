import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { PARTS_BEFORE_IDS } from './key-table.js';

/** The start of the unique key of a schedule without overlap and of its jobs' ids. No enqueue may use it. */
export const SCHEDULE_PREFIX = '@schedule:';

/** The start of the ids of follow-ups. No enqueue may use it. */
export const BATCH_PREFIX = '@batch:';

/** The start of the ids of follow-ups in other queues than their batch. No enqueue may use it. */
export const BATCH_ELSEWHERE_PREFIX = '@batch-of:';

/** The start of the ids that scripts give to jobs with too long ones. No enqueue may use it. */
const OVERSIZED_PREFIX = '@oversized:';

/** The start of the names of failure jobs, before the name of the failed job. */
export const FAILURE_PREFIX = '@failed:';

/** The name of a handler of every name of its queue that has no handler of its own. */
export const ANY_NAME = '*';

/** Returns the name of the handler that handles a job: its own, else that of every name. Undefined for none. */
export function handledAs(handlers: { has(name: string): boolean }, name: string): string | undefined {
  if (handlers.has(name)) {
    return name;
  }
  return !name.startsWith(FAILURE_PREFIX) && handlers.has(ANY_NAME) ? ANY_NAME : undefined;
}

/** The starts of ids that no enqueue may use, and what they are for. */
const RESERVED_IDS = {
  [BATCH_PREFIX]: 'follow-ups of batches',
  [BATCH_ELSEWHERE_PREFIX]: 'follow-ups of batches',
  [SCHEDULE_PREFIX]: 'jobs of schedules',
  [FAILURE_PREFIX]: 'failure jobs',
  [OVERSIZED_PREFIX]: 'jobs whose own id is too long',
};

/** The most characters of an id. */
const LONGEST_ID = 128;

/** What an id must be, for errors. */
const ID_RULE = `1 to ${LONGEST_ID} characters of text, none of them a control character`;

const QUEUE_NAME = /^[\w.:@/-]{1,128}$/;

/** What a name of a queue or of a shared limit must be, for errors. A queue has further rules. */
export const QUEUE_NAME_RULE = '1 to 128 of A-Z a-z 0-9 _ . : @ / -';

/** What the start of all keys must be. With a colon it could be that of the keys of a queue with a shorter one. */
export const PREFIX = /^[\w.-]{1,64}$/;
export const PREFIX_RULE = '1 to 64 of A-Z a-z 0-9 _ . -';

/**
 * Checks a queue name, which becomes part of keys: no white space, braces (hash tags) or glob characters. Refuses a name
 * whose keys could be those of another queue.
 */
export function checkQueueName(name: unknown, subject = 'queue name'): asserts name is string {
  if (typeof name !== 'string' || !QUEUE_NAME.test(name)) {
    throw new InvalidOptionError(subject, QUEUE_NAME_RULE, show(name));
  }
  const part = partBeforeIds(name);
  if (part !== undefined) {
    const other = name.slice(0, name.indexOf(`:${part}`));
    throw new InvalidOptionError(
      subject,
      `no part ":${part}", since its keys would be those of queue ${show(other)}; another separator will do, as in ` +
        show(name.replaceAll(':', '-')),
      show(name),
    );
  }
}

/** Returns the name of a queue that its keys spell, which may have braces around it. */
export function nameOfSpelled(spelled: string): string {
  return spelled.startsWith('{') ? spelled.slice(1, -1) : spelled;
}

/** Returns whether a text can be the name of a queue. */
export function isQueueName(name: unknown): name is string {
  return typeof name === 'string' && QUEUE_NAME.test(name) && partBeforeIds(name) === undefined;
}

/** The start of the name of the limit that a queue with several rates has by itself. */
export const OWN_LIMIT = '@queue:';

/** Returns whether a text can be the name of a limit that queues share. Braces surround it in keys, so it may have any part. */
export function isLimitName(name: unknown): name is string {
  return (
    typeof name === 'string' && QUEUE_NAME.test(name.startsWith(OWN_LIMIT) ? name.slice(OWN_LIMIT.length) : name)
  );
}

/** Returns the name of the store of one key of a limit. No name of a limit has such a sign. */
export function storeOfKey(limit: string, key: string): string {
  return `${limit}#${key}`;
}

/** Returns the part of a queue name that comes before ids in the keys of another queue. */
function partBeforeIds(name: string): string | undefined {
  return name
    .split(':')
    .slice(1)
    .find((part) => PARTS_BEFORE_IDS.includes(part));
}

/** Returns whether a text can be the id of a job. Control characters separate ids in hashes, and end lines. */
export function isId(id: unknown): id is string {
  return typeof id === 'string' && id.length > 0 && id.length <= LONGEST_ID && !/[\p{Cc}\p{Surrogate}]/u.test(id);
}

/** Checks a job id that the caller chose. Its text is kept in lists, hashes, keys and events. */
export function checkJobId(id: unknown, subject = 'job id'): asserts id is string {
  if (!isId(id)) {
    throw new InvalidOptionError(subject, ID_RULE, show(id));
  }
  for (const [start, use] of Object.entries(RESERVED_IDS)) {
    if (id.startsWith(start)) {
      throw new InvalidOptionError(
        subject,
        `an id that does not begin with ${start}, which is for ${use}`,
        show(id),
      );
    }
  }
}

/** Checks a job name: text of 1 to 256 characters. It is part of a key only where it also names the queue. */
export function checkJobName(name: unknown, subject = 'job name'): asserts name is string {
  if (typeof name !== 'string' || name.length === 0 || name.length > 256 || /\p{Surrogate}/u.test(name)) {
    throw new InvalidOptionError(subject, 'text of 1 to 256 characters', show(name));
  }
  if (name.startsWith(FAILURE_PREFIX)) {
    throw new InvalidOptionError(
      subject,
      `a name that does not begin with ${FAILURE_PREFIX}, which is for failure jobs`,
      show(name),
    );
  }
}

/** Checks the name of a handler's jobs. A star is no pattern here. */
export function checkHandledName(name: unknown, subject?: string): asserts name is string {
  checkJobName(name, subject);
  if (name.includes('*')) {
    const hint =
      'A handler serves one name: decorate it once for each name, or by @JobHandler({ queue }) for all names.';
    throw new InvalidOptionError(subject ?? 'job name', 'the name of the jobs, not a pattern', show(name), hint);
  }
}

/** Checks that an argument such as an id is text. The server decides whether that id exists. */
export function checkText(subject: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') {
    throw new InvalidOptionError(subject, 'text', show(value));
  }
}
