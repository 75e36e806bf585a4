import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { ACTIONS } from '../../../queue/model/actions.js';
import { jobsOf } from '../../../queue/actions/noted-action.js';
import type { RunEnds, RunView } from '../../views/views.js';
import { count } from '../parts/format.js';
import { Time } from '../parts/parts.js';
import { Problem, post } from '../state/api.js';
import { now, overview, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { restsOfRuns } from '../parts/actions.js';
import { say } from '../parts/toasts.js';

const SHOWN_MS = 60_000;
/** How long a run is shown whose others may follow, in ms. */
const REST_SHOWN_MS = 600_000;
const dismissed = signal<ReadonlySet<string>>(new Set());

/** Shows background runs on many jobs: running and just ended ones. */
export function RunsPanel() {
  const runs = (overview.value?.runs ?? []).filter(
    (run) =>
      !dismissed.value.has(run.id) &&
      (isActive(run) || now.value - run.updatedAt < (restsOfRuns.has(run.id) ? REST_SHOWN_MS : SHOWN_MS)),
  );
  if (runs.length === 0) {
    return null;
  }
  return (
    <section class="runs" aria-label="Runs on many jobs">
      {runs.slice(0, 4).map((run) => (
        <Run key={run.id} run={run} />
      ))}
    </section>
  );
}

export function isActive({ status }: RunView): boolean {
  return status === 'running' || status === 'stopping';
}

function Run({ run }: { run: RunView }) {
  const { id, queue, action, state, done, spared, searched, total, status, user, error, ends } = run;
  const active = isActive(run);
  const verb = ACTIONS[action].button;
  return (
    <article class={`run run-${status}`}>
      <p>
        <strong>
          {verb} {jobsOf(state)} of <a href={href(['queue', queue])}>{queue}</a>
        </strong>
      </p>
      <p>
        {count(done)} {ACTIONS[action].done}
        {spared > 0 ? `, ${count(spared)} left alone` : ''}
        {active || status === 'done' ? '' : `, ${status}`}
      </p>
      {ends && <Ends run={id} queue={queue} ends={ends} />}
      {active && (
        <progress
          max={Math.max(1, total)}
          value={Math.min(total, searched)}
          aria-label={`Looked at ${count(searched)} of ${count(total)} jobs`}
        />
      )}
      <p class="quiet small">
        {active ? `Looked at ${count(Math.min(searched, total))} of ${count(total)}. ` : ''}By {user},{' '}
        <Time at={run.startedAt} />. {error}
      </p>
      {active ? (
        <button
          type="button"
          disabled={status === 'stopping' || unreachable.value}
          onClick={() => void stop(queue, id)}
        >
          {status === 'stopping' ? 'Stopping…' : 'Stop'}
        </button>
      ) : (
        <button type="button" onClick={() => (dismissed.value = new Set([...dismissed.value, id]))}>
          Dismiss
        </button>
      )}
    </article>
  );
}

/** Says how the jobs of a redrive of a few ended, and offers the others. */
function Ends({ run, queue, ends }: { run: string; queue: string; ends: RunEnds }) {
  const { completed, failed, open, failedId, error } = ends;
  const [begun, setBegun] = useState(false);
  const rest = restsOfRuns.get(run);
  return (
    <p role="status">
      {count(completed)} completed, {count(failed)} failed
      {open > 0 && `, ${count(open)} not ended yet`}
      {error !== null && (
        <>: {failedId === null ? <bdi>{error}</bdi> : <a href={href(['job', queue, failedId])}>{error}</a>}</>
      )}{' '}
      {rest && !begun && (
        <button
          type="button"
          disabled={unreachable.value}
          onClick={() => {
            setBegun(true);
            rest.redrive();
          }}
        >
          {rest.words}
        </button>
      )}
    </p>
  );
}

async function stop(queue: string, id: string): Promise<void> {
  try {
    await post('runs/stop', { queue, id });
  } catch (error) {
    say((error as Problem).message, true);
  }
}
