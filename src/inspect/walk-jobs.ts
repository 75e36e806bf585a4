// Walks through the jobs of a state, or of several queues and states, slice by slice.
import { parseJson } from '../queue/codec/stored-value.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { JobRecord, JobStatus } from '../queue/model/job.js';
import type { Search } from './search.js';

/** The most jobs of one reading. */
const SLICE = 250;
/** The same where it reads payloads. */
const SLICE_WITH_PAYLOADS = 100;
/** The length from which lists leave out payloads and other values, in bytes. */
export const LIST_BYTES = 4_096;
/** The same for a search in payloads. */
const PAYLOAD_BYTES = 65_536;

/** One slice of a walk through the jobs of one state. */
interface WalkSlice {
  jobs: JobRecord[];
  /** The number of places of the list that were read. */
  looked: number;
  /** The start of the next slice; null at the end. */
  cursor: string | null;
}

/**
 * Reads the jobs of one state slice by slice. Dead letters are walked by their score, so that none is missed while
 * others leave. Other states are walked by list index.
 */
export async function walkSlice(
  queue: Pick<JobQueue, 'list' | 'stats' | 'deadLetters'>,
  state: JobStatus,
  cursor: string | null,
  { readsPayloads }: Pick<Search, 'readsPayloads'>,
): Promise<WalkSlice> {
  const limit = readsPayloads ? SLICE_WITH_PAYLOADS : SLICE;
  const mostBytes = readsPayloads ? PAYLOAD_BYTES : LIST_BYTES;
  if (state === 'failed') {
    const page = await queue.deadLetters.list({ limit, mostBytes, ...(cursor === null ? {} : { cursor }) });
    return { jobs: page.jobs, looked: page.jobs.length, cursor: page.cursor ?? null };
  }
  const offset = Number(cursor ?? 0);
  const jobs = await queue.list(state, { offset, limit, mostBytes });
  const stats = await queue.stats();
  const next = offset + limit;
  const total = stats[state];
  return { jobs, looked: Math.max(0, Math.min(limit, total - offset)), cursor: next < total ? String(next) : null };
}

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
      const after = from === null ? 1 : comparePlaces(place, from);
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

function comparePlaces(place: Pick<SearchPlace, 'state' | 'queue'>, from: SearchPlace): number {
  const states = SEARCHED_STATES.indexOf(place.state) - SEARCHED_STATES.indexOf(from.state);
  return states || byUnits(place.queue, from.queue);
}

function byUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
