import { useEffect, useRef, useState } from 'preact/hooks';
import type { JobMatch, JobRow } from '../../views/views.js';
import { redriveInAll } from '../parts/begin-runs.js';
import { counted } from '../parts/counting.js';
import { Notice, NotRead } from '../parts/parts.js';
import { JobListHead, JobRowLine } from '../parts/job-row-line.js';
import { keyOf, type Searching, SearchProgress, useSearch } from '../parts/searching.js';
import { tried } from '../parts/toasts.js';
import { may, queues, unreachable } from '../state/live.js';
import { route, setParams } from '../state/route.js';

const TERMS: readonly [term: string, finds: string][] = [
  ['payload.customer.id:4', 'with this value in the payload'],
  ['error:"410 Gone"', 'with this text in an error, its stack or its causes'],
  ['group:tenant-1', 'of this group'],
  ['waits:approved', 'that wait for this signal'],
  ['tag.tenant:acme', 'with this metadata'],
  ['queue:email state:failed', 'of this queue, in this state'],
];

/** Searches the jobs of all queues and states. The address of the page has the search. */
export function SearchPage() {
  const text = route.value.params.get('q') ?? '';
  const [value, setValue] = useState(text);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setValue(text), [text]);
  useEffect(() => {
    if (text === '') field.current?.focus();
  }, []);
  return (
    <>
      <h1>Search all queues</h1>
      <form
        class="queue-search"
        role="search"
        aria-label="Search in all queues"
        onSubmit={(event) => {
          event.preventDefault();
          setParams({ q: value.trim() || null });
        }}
      >
        <input
          id="queue-search"
          ref={field}
          type="search"
          value={value}
          placeholder="Text, or terms such as payload.customer:4"
          aria-label="Search the jobs of all queues and states"
          onInput={(event) => setValue(event.currentTarget.value)}
        />
        <button type="submit">Search</button>
      </form>
      {text === '' ? <Terms /> : <Results key={text} text={text} />}
    </>
  );
}

function Results({ text }: { text: string }) {
  const searching = useSearch('search/all', { text });
  const { jobs, status, problem, unreadable } = searching.found;
  return (
    <>
      <SearchProgress {...searching} />
      <RedriveFound text={text} found={searching.found} />
      <NotRead queues={unreadable} />
      {problem && <Notice title={problem.message} kind="problem" />}
      {jobs.length === 0 && status === 'done' && (
        <Notice title="No job matches.">
          <p>Each term must match. These find jobs:</p>
        </Notice>
      )}
      {jobs.length > 0 ? (
        <>
          <JobListHead />
          <div class="job-list job-list-found" role="list" aria-label="Jobs that match" tabIndex={0}>
            {jobs.map((job) => (
              <JobRowLine key={keyOf(job)} job={job} hasQueue />
            ))}
          </div>
        </>
      ) : (
        status !== 'searching' && <Terms />
      )}
    </>
  );
}

/** Offers to redrive all dead letters that match, in each queue that has some. */
function RedriveFound({ text, found }: { text: string; found: Searching['found'] }) {
  const dead = found.jobs.filter(({ state, queue }) => state === 'failed' && may('redrive', queue));
  if (dead.length === 0) {
    return null;
  }
  const act = async () => {
    const parts = await matchingParts(text, dead, found.status === 'done');
    if (parts) await redriveInAll(parts, `that match “${text}”`);
  };
  return (
    <button type="button" class="pill" disabled={unreachable.value} onClick={() => void tried(act)}>
      Redrive all dead letters that match
    </button>
  );
}

/**
 * Returns the number of dead letters that match in each queue. It counts them unless the search has ended. Returns
 * undefined if the user stopped the count.
 */
async function matchingParts(text: string, dead: readonly JobRow[], isWhole: boolean) {
  const match = { text };
  const names = isWhole
    ? [...new Set(dead.map(({ queue }) => queue))]
    : queues.value.flatMap(({ name, depths }) => (depths.failed > 0 ? [name] : []));
  const parts: { queue: string; match: JobMatch; total: number | null }[] = [];
  for (const queue of names) {
    const total = isWhole
      ? dead.filter((job) => job.queue === queue).length
      : await counted(queue, 'failed', match, `the dead letters of ${queue} that match`);
    if (total === undefined) {
      return undefined;
    }
    parts.push({ queue, match, total });
  }
  return parts.filter(({ total }) => total !== 0);
}

/** Shows an example of each term. A click searches for it. */
function Terms() {
  return (
    <dl class="terms">
      {TERMS.map(([term, finds]) => (
        <div key={term}>
          <dt>
            <button type="button" class="link" onClick={() => setParams({ q: term })}>
              <code>{term}</code>
            </button>
          </dt>
          <dd class="quiet">jobs {finds}</dd>
        </div>
      ))}
    </dl>
  );
}
