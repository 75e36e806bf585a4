import { useEffect, useState } from 'preact/hooks';
import type { ActionLogEntry } from '../../views/views.js';
import { count, exact } from '../parts/format.js';
import { Notice, Time } from '../parts/parts.js';
import { get, Problem } from '../state/api.js';
import { overview } from '../state/live.js';
import { href } from '../state/route.js';

/** Shows who did what, when, and to how many jobs, in all queues. */
export function LogPage() {
  const names = overview.value?.queues.map(({ name }) => name);
  const [entries, setEntries] = useState<ActionLogEntry[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const key = names?.join('\n');
  useEffect(() => {
    if (!names) {
      return;
    }
    Promise.all(names.map((queue) => get<{ entries: ActionLogEntry[] }>('log', { queue }))).then(
      (logs) => setEntries(logs.flatMap((log) => log.entries).toSorted((a, b) => b.at - a.at)),
      (error: Problem) => setProblem(error),
    );
  }, [key]);
  if (problem) {
    return (
      <Notice title="The action log could not be loaded." kind="problem">
        <p>{problem.message}</p>
      </Notice>
    );
  }
  if (!entries) {
    return <Notice title="Loading the action log…" kind="loading" />;
  }
  return (
    <>
      <h1>Who did what</h1>
      {entries.length === 0 ? (
        <Notice title="Nobody has done anything here yet.">
          <p>Each action on this page leaves a line: who, what, how many, and when.</p>
        </Notice>
      ) : (
        <div class="scroller" tabIndex={0} role="region" aria-label="Action log">
          <table class="actions">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Who</th>
                <th scope="col">Action</th>
                <th scope="col">What</th>
                <th scope="col" class="number">
                  Jobs
                </th>
                <th scope="col">Queue</th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry, i) => (
                <Entry key={i} entry={entry} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function Entry({ entry: { at, user, action, subject, count: jobs, queue } }: { entry: ActionLogEntry }) {
  return (
    <tr>
      <td data-label="When" title={exact(at)}>
        <Time at={at} />
      </td>
      <td data-label="Who">
        <bdi>{user}</bdi>
      </td>
      <td data-label="Action">{action.replaceAll('-', ' ')}</td>
      <td data-label="What" class="what">
        <bdi>{subject}</bdi>
      </td>
      <td data-label="Jobs" class="number">
        {changesJobs(action) ? (jobs === null ? '?' : count(jobs)) : '–'}
      </td>
      <td data-label="Queue">
        <a href={href(['queue', queue])}>
          <bdi>{queue}</bdi>
        </a>
      </td>
    </tr>
  );
}

/** Limits, pauses, and the start and stop of runs count no jobs. */
function changesJobs(action: string): boolean {
  return !/limits|pause|resume|^begin |^stop run/.test(action);
}
