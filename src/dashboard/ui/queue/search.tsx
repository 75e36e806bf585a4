import { useEffect, useState } from 'preact/hooks';
import type { JobRow, QueueView, SearchPage, State } from '../../views/views.js';
import { count, plural } from '../parts/format.js';
import { Notice } from '../parts/parts.js';
import { get, Problem } from '../state/api.js';
import { may } from '../state/live.js';
import { setParams } from '../state/route.js';
import { actionsOf } from '../parts/actions.js';
import { BulkBar } from './bulk-bar.js';
import { JobRowLine } from '../parts/job-row-line.js';
import { useSelection } from './selection.js';

/** The matches of one step; then the search waits until the user continues. */
const MATCHES_A_STEP = 100;

interface FieldProps {
  text: string;
  state: State;
  /** The chosen kind of error. */
  group: string | null;
}

/** Shows the text of the page's address, and changes it on Enter or where the field is left. */
export function SearchField({ text, state, group }: FieldProps) {
  const [value, setValue] = useState(text);
  useEffect(() => setValue(text), [text, group, state]);
  const apply = () => {
    if (value.trim() !== text) setParams({ q: value.trim() || null, group: null, state });
  };
  return (
    <form
      class="queue-search"
      role="search"
      aria-label="Search in this queue"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <input
        id="queue-search"
        type="search"
        value={value}
        placeholder="Search these jobs"
        aria-label={`Search the ${state} jobs by text, or by terms such as payload.customer:4`}
        onInput={(event) => {
          setValue(event.currentTarget.value);
          if (event.currentTarget.value === '') setParams({ q: null });
        }}
        onBlur={apply}
      />
      <button type="submit">Search</button>
      <span class="search-hint quiet small">or terms: payload.customer:4, error:…, group:…, tag:…</span>
    </form>
  );
}

interface SearchState {
  jobs: JobRow[];
  searched: number;
  total: number;
  cursor: string | null;
  status: 'searching' | 'resting' | 'stopped' | 'done';
  problem: Problem | null;
}

const START: SearchState = { jobs: [], searched: 0, total: 0, cursor: null, status: 'searching', problem: null };

interface ResultsProps extends FieldProps {
  queue: QueueView;
  state: State;
  /** The words of the kind of error that `group` names. */
  groupWords: string | null;
}

export function SearchResults({ queue, state, text, group, groupWords }: ResultsProps) {
  const [found, setFound] = useState<SearchState>(START);
  const [round, setRound] = useState(0);
  const selection = useSelection();
  const selectable = actionsOf(state).some((action) => may(action));
  useEffect(() => {
    if (found.status !== 'searching') {
      return undefined;
    }
    const stop = new AbortController();
    search(queue.name, state, text, group, found, stop.signal, setFound).catch((problem: Problem) => {
      if (!stop.signal.aborted) {
        setFound((before) => ({ ...before, status: 'stopped', problem }));
      }
    });
    return () => stop.abort();
  }, [found.status === 'searching', round]);
  const goOn = () => setFound((before) => ({ ...before, status: 'searching', problem: null }));
  const again = () => {
    setFound(START);
    setRound((n) => n + 1);
  };
  const { jobs, status, problem } = found;
  return (
    <>
      <SearchProgress
        found={found}
        stop={() => setFound((before) => ({ ...before, status: 'stopped' }))}
        goOn={goOn}
      />
      {problem && <Notice title={problem.message} kind="problem" />}
      {jobs.length === 0 && status === 'done' ? (
        <Notice title={`No ${state} job matches.`}>
          <p>
            Text is searched in ids, names, groups, metadata and errors. Payloads need a term: payload.customer:4
          </p>
        </Notice>
      ) : (
        <div class="job-list job-list-found" role="list" aria-label="Jobs that match" tabIndex={0}>
          {jobs.map((job) => (
            <JobRowLine
              key={job.id}
              job={job}
              selected={selection.ids.has(job.id)}
              selectable={selectable}
              toggle={selection.toggle}
            />
          ))}
        </div>
      )}
      <BulkBar
        queue={queue.name}
        state={state}
        selection={selection}
        match={{ ...(text && { text }), ...(group !== null && { group }) }}
        groupWords={groupWords ?? ''}
        total={status === 'done' ? jobs.length : null}
        done={again}
      />
    </>
  );
}

function SearchProgress({ found, stop, goOn }: { found: SearchState; stop(): void; goOn(): void }) {
  const { jobs, searched, total, status } = found;
  return (
    <div class="list-head" role="status">
      <span class="quiet">
        {plural(jobs.length, 'match', 'matches')}; searched {count(searched)} of {count(Math.max(total, searched))}
      </span>
      {status === 'searching' && (
        <button type="button" class="pill" onClick={stop}>
          Stop
        </button>
      )}
      {(status === 'resting' || status === 'stopped') && (
        <button type="button" class="pill" onClick={goOn}>
          Search on
        </button>
      )}
    </div>
  );
}

async function search(
  queue: string,
  state: State,
  text: string,
  group: string | null,
  from: SearchState,
  signal: AbortSignal,
  show: (found: SearchState) => void,
): Promise<void> {
  let found = from;
  const enough = found.jobs.length + MATCHES_A_STEP;
  do {
    const page = await get<SearchPage>('search', { queue, state, text, group, cursor: found.cursor }, signal);
    const more = page.cursor !== null;
    const jobs = [...found.jobs, ...page.jobs];
    found = {
      jobs,
      searched: found.searched + page.searched,
      total: page.total,
      cursor: page.cursor,
      status: !more ? 'done' : jobs.length >= enough ? 'resting' : 'searching',
      problem: null,
    };
    if (!signal.aborted) {
      show(found);
    }
  } while (found.status === 'searching' && !signal.aborted);
}
