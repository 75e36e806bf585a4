import { useEffect, useRef, useState } from 'preact/hooks';
import type { EverywherePage, JobRow, SearchPage, QueueVerdictView } from '../../views/views.js';
import { get, Problem } from '../state/api.js';
import { count, plural } from './format.js';

/** The matches of one step; then the search waits until the user continues. */
const MATCHES_A_STEP = 100;

interface SearchState {
  jobs: JobRow[];
  searched: number;
  unread: number;
  total: number;
  cursor: string | null;
  unreadable: QueueVerdictView[];
  status: 'searching' | 'resting' | 'stopped' | 'done';
  problem: Problem | null;
}

const START: SearchState = {
  jobs: [],
  searched: 0,
  unread: 0,
  total: 0,
  cursor: null,
  unreadable: [],
  status: 'searching',
  problem: null,
};

type Query = Record<string, string | null>;
type Page = SearchPage | EverywherePage;

export interface Searching {
  found: SearchState;
  stop(): void;
  goOn(): void;
  /** Searches from the start. */
  again(): void;
}

/** Searches slice by slice, until there are enough matches or the user stops it. */
export function useSearch(path: 'search' | 'search/all', query: Query): Searching {
  const [found, setFound] = useState<SearchState>(START);
  const [round, setRound] = useState(0);
  const running = useRef<AbortController | null>(null);
  useEffect(() => {
    if (found.status !== 'searching') {
      return undefined;
    }
    const stop = new AbortController();
    running.current = stop;
    search({ path, query, signal: stop.signal }, found, setFound).catch((problem: Problem) => {
      if (!stop.signal.aborted) {
        setFound((before) => ({ ...before, status: 'stopped', problem }));
      }
    });
    return () => stop.abort();
  }, [found.status === 'searching', round]);
  return {
    found,
    stop: () => {
      running.current?.abort(); // at once: a slice may arrive before the next render
      setFound((before) => ({ ...before, status: 'stopped' }));
    },
    goOn: () => setFound((before) => ({ ...before, status: 'searching', problem: null })),
    again: () => {
      running.current?.abort();
      setFound(START);
      setRound((n) => n + 1);
    },
  };
}

/** Shows how far a search is, and stops or continues it. */
export function SearchProgress({ found, stop, goOn }: Omit<Searching, 'again'>) {
  const { jobs, searched, unread, total, status, problem } = found;
  const isRefused = problem !== null && searched === 0;
  return (
    <div class="list-head" role="status">
      {!isRefused && (
        <span class="quiet">
          {plural(jobs.length, 'match', 'matches')}; searched {count(searched)} of{' '}
          {count(Math.max(total, searched))}
          {unread > 0 && `; ${plural(unread, 'payload')} too long or encrypted, and not looked into`}
        </span>
      )}
      {status === 'searching' && (
        <button type="button" class="pill" onClick={stop}>
          Stop
        </button>
      )}
      {(status === 'resting' || status === 'stopped') && !isRefused && (
        <button type="button" class="pill" onClick={goOn}>
          Search on
        </button>
      )}
    </div>
  );
}

async function search(
  { path, query, signal }: { path: string; query: Query; signal: AbortSignal },
  from: SearchState,
  show: (found: SearchState) => void,
): Promise<void> {
  let found = from;
  const enough = found.jobs.length + MATCHES_A_STEP;
  do {
    const page = await get<Page>(path, { ...query, cursor: found.cursor }, signal);
    found = joined(found, page);
    found.status = page.cursor === null ? 'done' : found.jobs.length >= enough ? 'resting' : 'searching';
    if (!signal.aborted) {
      show(found);
    }
  } while (found.status === 'searching' && !signal.aborted);
}

/** Adds a slice. A job that changed its state meanwhile stays as it was found first. */
function joined(before: SearchState, page: Page): SearchState {
  const known = new Set(before.jobs.map(keyOf));
  const unreadable = 'unreadable' in page ? page.unreadable : [];
  return {
    jobs: [...before.jobs, ...page.jobs.filter((job) => !known.has(keyOf(job)))],
    searched: before.searched + page.searched,
    unread: before.unread + page.unread,
    total: page.total ?? before.total,
    cursor: page.cursor,
    unreadable: [
      ...before.unreadable.filter(({ name }) => unreadable.every((each) => each.name !== name)),
      ...unreadable,
    ],
    status: before.status,
    problem: null,
  };
}

/** Returns the key of a job among those of all queues. */
export function keyOf({ queue, id }: JobRow): string {
  return `${queue} ${id}`;
}
