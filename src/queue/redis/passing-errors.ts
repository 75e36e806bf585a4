import { JobQueueError, RedisStateError, FilesReplacedError } from '../errors/errors.js';
import { STATE_WORDS } from '../errors/redis-errors.js';
import { isUnanswered } from './response-timeout.js';

/** The first words of replies that pass: the server loads, fails over, is busy or full, or a slot moves. */
const PASSING = new RegExp(`^(${STATE_WORDS}|UNBLOCKED|MOVED|ASK|ERR max number of clients)\\b`);

/** The first words of replies that stay until somebody changes the users of Redis. */
const OF_USERS = /^(NOAUTH|WRONGPASS|NOPERM)\b/;

/** Returns whether an error passes without a change to the setup. A start waits for the end of such an error. */
export function isPassing(error: unknown): boolean {
  if (isUnanswered(error) || error instanceof RedisStateError) {
    return true;
  }
  if (!(error instanceof Error) || error instanceof JobQueueError || isBug(error)) {
    return false;
  }
  return error.name !== 'ReplyError' || PASSING.test(error.message); // all others are of the connection
}

/** Returns whether Redis refuses the user of the connection. A running worker keeps its jobs meanwhile, and waits. */
export function isOfUser({ message }: Error): boolean {
  return OF_USERS.test(message);
}

function isBug(error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (code === FilesReplacedError.code) {
    return true; // from the loader of a late file
  }
  return [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
}
