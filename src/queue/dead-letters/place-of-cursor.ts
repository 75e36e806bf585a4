import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import type { DeadLetterPlace } from '../store/verbs/dead-letter-verbs.js';

/** Returns the place behind which a page of dead letters begins. */
export function placeOf(cursor: string): DeadLetterPlace {
  const [, at, id] = /^(\d+)-(.+)$/s.exec(cursor) ?? [];
  if (at === undefined || id === undefined) {
    throw new InvalidOptionError('deadLetters.list.cursor', 'the cursor of a page', show(cursor));
  }
  return { at, id };
}
