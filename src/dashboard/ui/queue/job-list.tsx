import {
  type VirtualItem,
  Virtualizer,
  elementScroll,
  observeElementOffset,
  observeElementRect,
} from '@tanstack/virtual-core';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JobRow, JobsPage, QueueView, State } from '../../views/views.js';
import { actionsOfMany } from '../parts/actions.js';
import { count, plural } from '../parts/format.js';
import { JobListHead, JobRowLine } from '../parts/job-row-line.js';
import { Notice } from '../parts/parts.js';
import { Problem, get } from '../state/api.js';
import { may } from '../state/live.js';
import { href } from '../state/route.js';
import { BulkBar, useSelection } from './bulk-bar.js';

const CHUNK = 50;
/** The most rows that a browser can show in one element. */
const MOST_ROWS = 500_000;

const EMPTY: Record<State, string> = {
  pending: 'No job waits.',
  scheduled: 'No job is scheduled.',
  processing: 'No job runs.',
  completed: 'No job has completed within its keeping time.',
  failed: 'No dead letters. Every job that failed was tried again or repaired.',
  cancelled: 'No job was cancelled.',
};

/** Shows the jobs of one state. Rows are loaded as they come into view, so that a million cost no more than fifty. */
export function JobList({ queue, state }: { queue: QueueView; state: State }) {
  const total = queue.depths[state];
  const selection = useSelection(`${queue.name} ${state}`);
  const { rowAt, problem, refresh, stale } = useChunks(queue, state, selection.jobs.size > 0);
  const rows = Math.min(total, MOST_ROWS);
  const { scroller, items, height } = useVirtualRows(rows);
  const selectable = actionsOfMany(state).some((action) => may(action));
  if (total === 0) {
    return <Notice title={EMPTY[state]} />;
  }
  return (
    <>
      <div class="list-head">
        <span class="quiet">
          {plural(total, 'job')}
          {state === 'scheduled' && queue.parked > 0 && (
            <>
              ,{' '}
              <a href={href(['queue', queue.name], { state, q: 'waits:*' })}>
                {count(queue.parked)} for a signal or a time of its handler
              </a>
            </>
          )}
          {total > MOST_ROWS ? `, the first ${count(MOST_ROWS)} shown; search for others` : ''}
        </span>
        {stale && (
          <button type="button" class="pill" onClick={refresh}>
            The list has changed. Show the new list
          </button>
        )}
      </div>
      {problem && (
        <Notice title="The jobs could not be loaded." kind="problem">
          <p>{problem.message}</p>
        </Notice>
      )}
      <JobListHead state={state} />
      <div
        class="job-list"
        style={{ height: `min(66vh, ${height + 2}px)` }}
        ref={scroller}
        tabIndex={0}
        role="list"
        aria-label={`Jobs, ${state}`}
      >
        <div class="job-list-inner" style={{ height: `${height}px` }} role="presentation">
          {items.map(({ index, start }) => {
            const job = rowAt(index);
            return (
              <div key={index} class="job-slot" role="presentation" style={{ transform: `translateY(${start}px)` }}>
                {job ? (
                  <JobRowLine
                    job={job}
                    selected={selection.jobs.has(job.id)}
                    selectable={selectable}
                    toggle={selection.toggle}
                  />
                ) : (
                  <div class="job-row job-row-empty" role="listitem">
                    <span class="hidden">{job === null ? 'Gone meanwhile' : 'Loading'}</span>
                    {job === null && <span class="quiet">gone meanwhile</span>}
                  </div>
                )}
              </div>
            );
          })}
        </div>
      </div>
      <BulkBar queue={queue.name} state={state} selection={selection} match={{}} total={total} done={refresh} />
    </>
  );
}

/**
 * Loads the rows around the visible ones. If the queue changes, they are loaded again unless the user reads or has
 * selected rows. Then the page only says so, and no row moves under the pointer.
 */
function useChunks(queue: QueueView, state: State, held: boolean) {
  const [chunks, setChunks] = useState<ReadonlyMap<number, (JobRow | null)[]>>(new Map());
  const [problem, setProblem] = useState<Problem | null>(null);
  const [wanted] = useState(() => new Set<number>());
  const [hovered, setHovered] = useState(false);
  const version = versionOf(queue, state);
  const [shown, setShown] = useState(version);
  const load = async (chunk: number) => {
    if (wanted.has(chunk)) {
      return;
    }
    wanted.add(chunk);
    try {
      const query = { queue: queue.name, state, offset: chunk * CHUNK, limit: CHUNK };
      const { jobs } = await get<JobsPage>('jobs', query);
      const rows = Array.from({ length: CHUNK }, (_, i) => jobs[i] ?? null);
      setChunks((before) => new Map([...before, [chunk, rows]]));
      setProblem(null);
    } catch (error) {
      setProblem(error as Problem);
    } finally {
      wanted.delete(chunk);
    }
  };
  const refresh = () => {
    setShown(version);
    const kept = [...chunks.keys()].slice(-3);
    setChunks((before) => new Map([...before].filter(([chunk]) => kept.includes(chunk))));
    kept.forEach((chunk) => void load(chunk));
  };
  useEffect(() => {
    const list = document.querySelector('.job-list');
    const over = (event: Event) => setHovered(event.type === 'pointerenter');
    list?.addEventListener('pointerenter', over);
    list?.addEventListener('pointerleave', over);
    return () => {
      list?.removeEventListener('pointerenter', over);
      list?.removeEventListener('pointerleave', over);
    };
  }, [queue.depths[state] === 0]);
  useEffect(() => {
    const scrolled = (document.querySelector('.job-list')?.scrollTop ?? 0) > 0;
    if (shown !== version && !held && !hovered && !scrolled) {
      refresh();
    }
  }, [version, held, hovered]);
  const rowAt = (index: number): JobRow | null | undefined => {
    const chunk = Math.floor(index / CHUNK);
    const rows = chunks.get(chunk);
    if (!rows) {
      void load(chunk);
    }
    return rows?.[index % CHUNK];
  };
  return { rowAt, problem, refresh, stale: shown !== version };
}

/** Changes when jobs enter or leave the list. */
function versionOf({ depths, totals }: QueueView, state: State): string {
  const { enqueued = 0, completed = 0, failed = 0, cancelled = 0 } = totals;
  const moved = {
    completed,
    failed,
    cancelled,
    pending: enqueued + completed,
    scheduled: 0,
    processing: completed,
  }[state];
  return `${depths[state]} ${moved}`;
}

const ROW_HEIGHT = 36;
const PHONE_ROW_HEIGHT = 60;

/** Returns the rows of a long list that are in view, for an element that scrolls. */
function useVirtualRows(rows: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const narrow = matchMedia('(max-width: 700px)').matches;
  const size = narrow ? PHONE_ROW_HEIGHT : ROW_HEIGHT;
  const options = {
    count: rows,
    getScrollElement: () => scroller.current,
    estimateSize: () => size,
    overscan: 8,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw((n) => n + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, Element>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), []);
  useEffect(() => virtualizer.measure(), [size]); // a phone was turned, or a window made narrow
  useEffect(() => {
    virtualizer._willUpdate();
  });
  const items: VirtualItem[] = virtualizer.getVirtualItems();
  return { scroller, items, height: virtualizer.getTotalSize() };
}
