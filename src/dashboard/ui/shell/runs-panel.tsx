import { signal } from '@preact/signals';
import { jobsOf } from '../../../queue/actions/noted-action.js';
import type { RunView } from '../../views/views.js';
import { count } from '../parts/format.js';
import { Time } from '../parts/parts.js';
import { ACTION_WORDS, PAST_WORDS } from '../parts/actions.js';
import { Problem, post } from '../state/api.js';
import { now, overview, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { say } from '../parts/toasts.js';

const SHOWN_MS = 60_000;
const dismissed = signal<ReadonlySet<string>>(new Set());

/** Shows background runs on many jobs: running and just ended ones. */
export function RunsPanel() {
  const runs = (overview.value?.runs ?? []).filter(
    (run) => !dismissed.value.has(run.id) && (isActive(run) || now.value - run.updatedAt < SHOWN_MS),
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
  const { id, queue, action, state, done, spared, searched, total, status, user, error } = run;
  const active = isActive(run);
  const verb = ACTION_WORDS[action];
  return (
    <article class={`run run-${status}`}>
      <p>
        <strong>
          {verb} {jobsOf(state)} of <a href={href(['queue', queue])}>{queue}</a>
        </strong>
      </p>
      <p>
        {count(done)} {PAST_WORDS[action]}
        {spared > 0 ? `, ${count(spared)} left alone` : ''}
        {active || status === 'done' ? '' : `, ${status}`}
      </p>
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

async function stop(queue: string, id: string): Promise<void> {
  try {
    await post('runs/stop', { queue, id });
  } catch (error) {
    say((error as Problem).message, true);
  }
}
