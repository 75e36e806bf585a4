import type { JobView, State } from '../../views/views.js';
import { StateMark } from '../parts/parts.js';

const STEPS: readonly State[] = ['scheduled', 'pending', 'processing'];
const ENDS: readonly State[] = ['completed', 'failed', 'cancelled'];

/** Draws the states of the job: the past ones and the present one. */
export function StatePath({ job }: { job: JobView }) {
  const { state } = job;
  const been = visited(job);
  const ended = ENDS.includes(state);
  return (
    <ol class="path" aria-label={`State: ${state}`}>
      <li class="path-step been">
        <span class="path-dot" aria-hidden="true" />
        enqueued
      </li>
      {STEPS.filter((step) => step !== 'scheduled' || been.has('scheduled')).map((step) => (
        <Step key={step} step={step} state={state} been={been.has(step)} />
      ))}
      {ended ? (
        <Step step={state} state={state} been />
      ) : (
        <li class="path-step path-ends">
          {ENDS.map((end) => (
            <span key={end} class={`state-${end}`}>
              <StateMark state={end} />
              {end}
            </span>
          ))}
        </li>
      )}
    </ol>
  );
}

function Step({ step, state, been }: { step: State; state: State; been: boolean }) {
  const here = step === state;
  return (
    <li
      class={`path-step state-${step} ${been ? 'been' : ''} ${here ? 'here' : ''}`}
      aria-current={here ? 'step' : undefined}
    >
      <StateMark state={step} />
      {step}
    </li>
  );
}

function visited({ state, attempts, dueAt, attemptLog }: JobView): ReadonlySet<State> {
  const been = new Set<State>([state]);
  if (dueAt !== null || attemptLog.length > 1) {
    been.add('scheduled');
  }
  if (state !== 'scheduled' || attempts > 0) {
    been.add('pending');
  }
  if (attempts > 0 || attemptLog.length > 0) {
    been.add('processing');
  }
  return been;
}
