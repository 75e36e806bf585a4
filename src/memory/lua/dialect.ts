// What differs between versions of Redis, or is left to chance there. No script may depend on it.
import { precise, shortest, shortestArgument } from './numbers.js';

export interface Dialect {
  /** Writes a number as an argument of a command. */
  argument(value: number): string;
  /** Writes a score for a reply. */
  score(value: number): string;
  /** Returns the keys of a hash table in the order in which a script sees them. May order them in place. */
  order<Key>(keys: Key[]): Key[];
}

/** The way of Redis 7.0, with keys in the order of their insertion. */
export const REDIS_7_0: Dialect = { argument: precise, score: precise, order: (keys) => keys };

/** Draws a version of Redis, and the order of each hash table. @param random draws numbers from 0 to 1 */
export function drawnDialect(random: () => number): Dialect {
  const isRecent = random() < 0.5;
  return {
    argument: isRecent ? shortestArgument : precise,
    score: isRecent ? shortest : precise,
    order: (keys) => {
      for (let i = keys.length - 1; i > 0; i--) {
        const other = Math.floor(random() * (i + 1));
        const key = keys[i]!;
        keys[i] = keys[other]!;
        keys[other] = key;
      }
      return keys;
    },
  };
}
