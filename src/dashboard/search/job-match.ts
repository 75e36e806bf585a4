import { z } from 'zod';
import { compileSearch, type Search } from '../../inspect/search/compile-search.js';
import { LONGEST_SEARCH } from '../../inspect/search/parse-search.js';
import type { JobMatch } from '../views/views.js';
import { kindOf } from './error-groups.js';

const tooLong = `expected text of at most ${LONGEST_SEARCH} characters`;
/** A search, whose bad terms are refused by their own error. */
export const searchText = z
  .string({ error: 'expected text' })
  .max(LONGEST_SEARCH, tooLong)
  .refine((text) => compileSearch(text), 'expected a search');

export const matchSchema = z.strictObject(
  {
    text: searchText.optional(),
    group: z.string({ error: 'expected text' }).max(LONGEST_SEARCH, tooLong).optional(),
  },
  { error: 'expected an object with text, group' },
);

/** What jobs are held against: a search, and a kind of error. */
export type Matcher = Pick<Search, 'mayMatch' | 'readsPayloads' | 'look'>;

/**
 * Returns what jobs must match.
 *
 * @throws InvalidOptionError for a bad term
 */
export function matcherOf({ text = '', group }: JobMatch): Matcher {
  const { mayMatch, readsPayloads, look } = compileSearch(text);
  return {
    mayMatch,
    readsPayloads,
    look: (job) => (group !== undefined && kindOf(job) !== group ? 'none' : look(job)),
  };
}
