import { capitalised } from '../../../inspect/words.js';
import type { JobRow } from '../../views/views.js';
import { short, spelled } from './format.js';
import { CopyId, StateMark, Time } from './parts.js';
import { href } from '../state/route.js';

const TIMES: Record<JobRow['state'], string> = {
  pending: 'enqueued',
  scheduled: 'due',
  processing: 'claimed',
  completed: 'ended',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** Shows what the columns of a list of jobs are, of several states without `state`. Each cell says it to screen readers itself. */
export function JobListHead({ state }: { state?: JobRow['state'] }) {
  const time = state ? TIMES[state] : 'when';
  return (
    <div class="job-head" aria-hidden="true">
      <span class="job-label">Job</span>
      {state !== 'pending' && <span class="job-attempts">Attempts</span>}
      <span class="job-id">Id</span>
      <span class="job-time">{capitalised(time)}</span>
    </div>
  );
}

interface RowProps {
  job: JobRow;
  selected?: boolean;
  selectable?: boolean;
  toggle?(job: JobRow): void;
  /** True in a list of several queues. */
  hasQueue?: boolean;
}

/** Shows one job of a list: its name, a label, its problem, its age. */
export function JobRowLine({ job, selected = false, selectable = false, toggle, hasQueue = false }: RowProps) {
  const { id, queue, name, label, error, attempts, maxAttempts, state, at, progress, isPrefetched, parked } = job;
  const tried = attempts > 1 || state === 'failed';
  return (
    <div class={`job-row ${selected ? 'selected' : ''}`} data-row data-job={id} role="listitem">
      {selectable && (
        <input
          type="checkbox"
          checked={selected}
          onChange={() => toggle?.(job)}
          aria-label={`Select ${name} ${short(id, 14)}`}
        />
      )}
      <StateMark state={isPrefetched ? 'pending' : state} />
      <a class="row-link job-name" href={href(['job', queue, id])}>
        <bdi>{spelled(name)}</bdi>
      </a>
      {hasQueue && name !== queue && (
        <span class="job-queue quiet">
          <span class="hidden">in </span>
          <bdi>{queue}</bdi>
        </span>
      )}
      <span class="job-label">
        {progress !== null && state === 'processing' && (
          <progress max="100" value={progress} aria-label={`${progress} %`} />
        )}
        {label && <bdi class={error === null ? '' : 'job-what'}>{spelled(label)}</bdi>}
        {error !== null && <bdi class="job-error">{spelled(error)}</bdi>}
        {parked && (
          <span class="quiet">
            {' '}
            waits for <bdi>{spelled(parked.name)}</bdi> since <Time at={parked.since} />
          </span>
        )}
        {isPrefetched && <span class="quiet"> waits for a slot of its worker</span>}
      </span>
      {tried && (
        <span class="job-attempts" title={`Attempt ${attempts}${maxAttempts ? ` of ${maxAttempts}` : ''}`}>
          {attempts}
          {maxAttempts ? `/${maxAttempts}` : ''}
          <span class="hidden"> attempts</span>
        </span>
      )}
      <CopyId id={id} />
      <span class="job-time">
        <span class="hidden">{TIMES[state]} </span>
        <Time at={at} />
      </span>
    </div>
  );
}
