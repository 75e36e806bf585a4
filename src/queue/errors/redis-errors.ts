import { RedisOutOfMemoryError, RedisStateError, RedisUnsuitableError } from './errors.js';

/** The Redis user of the connection lacks permissions that a queue needs. Every call fails until they are granted. */
export class RedisPermissionError extends RedisUnsuitableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'REDIS_PERMISSION';

  constructor(
    /** The refused permissions, in words, such as `the command hset`. */
    readonly missing: readonly string[],
    options?: ErrorOptions,
  ) {
    super(
      `The Redis user of this connection lacks permissions: expected all that a queue needs, found refused: ` +
        `${missing.join(', ')}. Grant them with ACL SETUSER; docs/redis.md has the whole list.`,
      options,
    );
  }
}

/** What to do about a refusal by Redis. */
const REMEDIES: readonly [RegExp, remedy: string][] = [
  [/\bOOM\b/, 'Free memory, shorten the histories, or raise maxmemory.'],
  [/\bREADONLY\b/, 'Connect to the master, or by Sentinel.'],
  [/\bCLUSTERDOWN\b/, 'CLUSTER INFO shows whether slots have no master, or most masters are away.'],
  [/\bMISCONF\b/, 'Look at the log and the disk of Redis.'],
  [/\bNOREPLICAS\b/, 'Look at the replicas: min-replicas-to-write asks for more of them.'],
];

/** Returns what to do about a refusal by Redis; undefined for another error. */
export function remedyOfRefusal(message: string): string | undefined {
  return REMEDIES.find(([pattern]) => pattern.test(message))?.[1];
}

/** Returns the text of an error. For a refusal by Redis a sentence follows that says what to do. */
export function withRemedy(message: string): string {
  const remedy = remedyOfRefusal(message);
  return remedy === undefined || message.includes(remedy) ? message : `${message.replace(/\.$/, '')}. ${remedy}`;
}

/** The first words of replies that say in which state Redis is. */
export const STATE_WORDS = 'OOM|READONLY|MISCONF|NOREPLICAS|CLUSTERDOWN|MASTERDOWN|LOADING|TRYAGAIN|BUSY';
const STATES = new RegExp(`^(${STATE_WORDS})\\b`);

/** Returns the typed error of a call that Redis refused because of its state; any other error unchanged. */
export function explainState(error: unknown, place: string): unknown {
  if (!(error instanceof Error) || error.name !== 'ReplyError' || !STATES.test(error.message)) {
    return error;
  }
  const { message: reply } = error;
  const isFull = reply.startsWith('OOM');
  const Kind = isFull ? RedisOutOfMemoryError : RedisStateError;
  const state = isFull ? ' is out of memory (maxmemory) and' : '';
  return new Kind(withRemedy(`${place}${state} refused a call: ${reply}`), reply, { cause: error });
}

/** The longest chain of causes that is followed. */
const DEEPEST_CAUSE = 5;

/** Returns the refusal by the state of Redis that an error is, or that caused it. Undefined for any other error. */
export function stateErrorIn(error: unknown): RedisStateError | undefined {
  let each = error;
  try {
    for (let depth = 0; depth < DEEPEST_CAUSE && each instanceof Error; depth++) {
      if (each instanceof RedisStateError) {
        return each;
      }
      each = each.cause;
    }
  } catch {
    // A thrown value may throw again when it is read.
  }
  return undefined;
}

/** A key of a wrong type. */
export interface WrongKey {
  /** The key in Redis. */
  key: string;
  /** The type that a queue gives it, in the words of TYPE. */
  expected: string;
  /** The type that it has. */
  found: string;
}

/** The most keys that a message names. */
const MOST_NAMED = 3;

/**
 * Keys of a queue have a wrong type: another program writes them, or a dump restored them. Calls that use them fail
 * until they are renamed or deleted.
 */
export class RedisKeyTypeError extends RedisUnsuitableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'REDIS_KEY_TYPE';

  constructor(
    /** The keys, each with the expected and the found type. Empty if a script found the key by its content. */
    readonly wrong: readonly WrongKey[],
    options?: ErrorOptions,
  ) {
    super(`${wrongKeysInWords(wrong)} (WRONGTYPE). ${wrongKeysRemedy(wrong)}`, options);
  }
}

/** Returns the keys with their types, in words. */
export function wrongKeysInWords(wrong: readonly WrongKey[]): string {
  if (wrong.length === 0) {
    return 'A key of the queue, such as that of a group or a job, has the wrong type';
  }
  const named = wrong.slice(0, MOST_NAMED).map(({ key, expected, found }) => {
    return `the key ${key} has the wrong type: expected ${expected}, found ${found}`;
  });
  const more = wrong.length > MOST_NAMED ? `, and ${wrong.length - MOST_NAMED} more` : '';
  const words = named.join('; ') + more;
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns what to do about the first key, with the command that shows it. */
export function wrongKeysRemedy([first]: readonly WrongKey[]): string {
  if (!first) {
    return 'Find it with `nest-job-queue doctor <queue>`, then rename or delete it.';
  }
  const { key } = first;
  return `See it with \`TYPE ${key}\`, rename or delete it, and give the program that wrote it a prefix of its own.`;
}
