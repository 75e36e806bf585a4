import { useEffect, useState } from 'preact/hooks';
import { jobsOf } from '../../../queue/actions/noted-action.js';
import type { QueueView, State } from '../../views/views.js';
import { Notice } from '../parts/parts.js';
import { may } from '../state/live.js';
import { setParams } from '../state/route.js';
import { actionsOfMany } from '../parts/actions.js';
import { BulkBar, useSelection } from './bulk-bar.js';
import { JobListHead, JobRowLine } from '../parts/job-row-line.js';
import { SearchProgress, useSearch } from '../parts/searching.js';

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
        aria-label={`Search the ${jobsOf(state)} by text, or by terms such as payload.customer:4`}
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

interface ResultsProps extends FieldProps {
  queue: QueueView;
  state: State;
  /** The words of the kind of error that `group` names. */
  groupWords: string | null;
}

export function SearchResults({ queue, state, text, group, groupWords }: ResultsProps) {
  const searching = useSearch('search', { queue: queue.name, state, text, group });
  const selection = useSelection(`${queue.name} ${state} ${text} ${group}`);
  const selectable = actionsOfMany(state).some((action) => may(action));
  const { jobs, status, problem } = searching.found;
  return (
    <>
      <SearchProgress {...searching} />
      {problem && <Notice title={problem.message} kind="problem" />}
      {jobs.length === 0 && status === 'done' ? (
        <Notice title={`No ${state} job matches.`}>
          <p>
            Text is searched in ids, names, groups, metadata and errors. Payloads need a term: payload.customer:4
          </p>
        </Notice>
      ) : (
        <>
          <JobListHead state={state} />
          <div class="job-list job-list-found" role="list" aria-label="Jobs that match" tabIndex={0}>
            {jobs.map((job) => (
              <JobRowLine
                key={job.id}
                job={job}
                selected={selection.jobs.has(job.id)}
                selectable={selectable}
                toggle={selection.toggle}
              />
            ))}
          </div>
        </>
      )}
      <BulkBar
        queue={queue.name}
        state={state}
        selection={selection}
        match={{ ...(text && { text }), ...(group !== null && { group }) }}
        groupWords={groupWords ?? ''}
        total={status === 'done' ? jobs.length : null}
        done={searching.again}
      />
    </>
  );
}
