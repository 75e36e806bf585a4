import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { parseJson } from '../../queue/codec/stored-value.js';
import type { JobStatus } from '../../queue/model/job.js';
import type { Search } from './compile-search.js';

/** The states in the order of a search. What needs a look is found first. */
export const SEARCHED_STATES: readonly JobStatus[] = [
  'failed',
  'processing',
  'pending',
  'scheduled',
  'cancelled',
  'completed',
];

/** A list of jobs, and where the walk through it goes on; null for its start. */
interface SearchPlace {
  state: JobStatus;
  queue: string;
  cursor: string | null;
}

/** Returns the places where a search looks, in order, from a place on. A queue that has come since is met too. */
export function placesOf(
  queues: readonly string[],
  { mayMatch }: Pick<Search, 'mayMatch'>,
  from: SearchPlace | null,
): SearchPlace[] {
  const names = [...queues].toSorted(byUnits);
  return SEARCHED_STATES.flatMap((state) => names.map((queue) => ({ state, queue })))
    .filter(({ state, queue }) => mayMatch(queue, state))
    .flatMap((place): SearchPlace[] => {
      const after = from === null ? 1 : compare(place, from);
      return after < 0 ? [] : [{ ...place, cursor: after === 0 ? from!.cursor : null }];
    });
}

/** Returns a place as the cursor of a page. */
export function cursorOf(place: SearchPlace | undefined): string | null {
  return place ? JSON.stringify([place.state, place.queue, place.cursor]) : null;
}

/** @throws InvalidOptionError unless `cursorOf` made the cursor */
export function placeOf(cursor: string): SearchPlace {
  const { value } = parseJson(cursor);
  const [state, queue, inner] = Array.isArray(value) ? (value as unknown[]) : [];
  const isPlace =
    SEARCHED_STATES.includes(state as JobStatus) &&
    typeof queue === 'string' &&
    (inner === null || typeof inner === 'string');
  if (!isPlace) {
    throw new InvalidOptionError('cursor', 'the cursor of a page', show(cursor));
  }
  return { state: state as JobStatus, queue, cursor: inner };
}

function compare(place: Pick<SearchPlace, 'state' | 'queue'>, from: SearchPlace): number {
  const states = SEARCHED_STATES.indexOf(place.state) - SEARCHED_STATES.indexOf(from.state);
  return states || byUnits(place.queue, from.queue);
}

function byUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
