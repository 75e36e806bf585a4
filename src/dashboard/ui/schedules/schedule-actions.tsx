import type { ScheduleView } from '../../views/schedules-view.js';
import { ask } from '../parts/confirm.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { may, unreachable } from '../state/live.js';
import { href } from '../state/route.js';
import { RemoveSchedule } from './remove-schedule.js';

type Action = 'run' | 'pause' | 'resume';

/** Runs a schedule now, pauses and resumes it, and leads to its form. Who may not edit it may still remove it here. */
export function ScheduleActions({ schedule, changed }: { schedule: ScheduleView; changed(): void }) {
  const { id, queue, status, isDeclared } = schedule;
  const act = async (action: Action) => {
    if ((await isAgreed(action, id)) && (await tried(() => send(action, schedule)))) {
      changed();
    }
  };
  const turn = status === 'paused' ? 'resume' : status === 'active' ? 'pause' : null;
  return (
    <div class="row-actions">
      {may('run-schedule', queue) && (
        <button
          type="button"
          disabled={unreachable.value}
          onClick={() => void act('run')}
          aria-label={`Run now: ${id}`}
        >
          Run now
        </button>
      )}
      {turn && may(`${turn}-schedule`, queue) && (
        <button
          type="button"
          class={turn === 'resume' ? 'primary' : ''}
          disabled={unreachable.value}
          onClick={() => void act(turn)}
          aria-label={`${turn === 'pause' ? 'Pause' : 'Resume'} ${id}`}
        >
          {turn === 'pause' ? 'Pause' : 'Resume'}
        </button>
      )}
      {!isDeclared &&
        (may('set-schedule', queue) ? (
          <a class="button" href={href(['recurring', 'edit', queue, id])} aria-label={`Edit ${id}`}>
            Edit
          </a>
        ) : (
          <RemoveSchedule queue={queue} id={id} removed={changed} />
        ))}
    </div>
  );
}

async function isAgreed(action: Action, id: string): Promise<boolean> {
  return (
    action !== 'pause' ||
    ask({
      title: `Pause the schedule ${id}?`,
      body: 'It enqueues nothing until it is resumed, also across deploys. What it misses is not made up.',
      verb: 'Pause the schedule',
      destroys: false,
    })
  );
}

/** Sends an action, and says what came of it. */
async function send(action: Action, { queue, id }: ScheduleView): Promise<true> {
  const { done, jobId } = await post<{ done: number; jobId: string | null }>('schedules/act', {
    action,
    queue,
    id,
  });
  if (jobId === null) {
    say(action === 'pause' ? `${id} is paused.` : `${id} continues.`);
  } else {
    const words = done === 0 ? 'Its last job has not ended.' : 'Its job is enqueued.';
    say(words, false, { text: 'Look at it', href: href(['job', queue, jobId]) });
  }
  return true;
}
