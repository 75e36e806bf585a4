import { useState } from 'preact/hooks';
import type { GroupView } from '../../views/group-views.js';
import { plural } from '../parts/format.js';
import { ask } from '../parts/confirm.js';
import { askPause } from '../steer/ask-pause.js';
import { lengthen } from '../steer/pause-button.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { may, unreachable } from '../state/live.js';
import { GroupLimitsDialog } from '../limits/group-limits-dialog.js';

type GroupAction = 'pause' | 'resume' | 'clean';

/** Pauses and resumes a group, sets its limits, and deletes its waiting jobs. */
export function GroupActions({ queue, group, changed }: { queue: string; group: GroupView; changed(): void }) {
  const [limits, setLimits] = useState(false);
  const { name, pending, pausedAt, pausedUntil } = group;
  const act = async (action: GroupAction) => {
    const agreement = await agreed(action, group);
    const outcome = agreement
      ? await tried(async () => {
          const { done } = await post<{ done: number }>('groups/act', { action, queue, group: name, ...agreement });
          return outcomeOf(action, name, done);
        })
      : undefined;
    if (outcome) {
      say(outcome);
      changed();
    }
  };
  const later = async () => {
    const send = (forMs: number) =>
      post<{ done: number }>('groups/act', { action: 'pause', queue, group: name, forMs });
    if (await lengthen(`the group ${name}`, send)) changed();
  };
  const turn = pausedAt === null ? 'pause' : 'resume';
  return (
    <div class="group-actions">
      {pausedUntil !== null && may('pause') && (
        <button
          type="button"
          disabled={unreachable.value}
          aria-label={`Lengthen the pause of the group ${name}`}
          onClick={() => void later()}
        >
          Lengthen
        </button>
      )}
      {may(turn) && (
        <button
          type="button"
          class={turn === 'resume' ? 'primary' : ''}
          disabled={unreachable.value}
          aria-label={`${turn === 'pause' ? 'Pause' : 'Resume'} the group ${name}`}
          onClick={() => void act(turn)}
        >
          {turn === 'pause' ? 'Pause' : 'Resume'}
        </button>
      )}
      {may('limits') && (
        <button
          type="button"
          disabled={unreachable.value}
          aria-label={`Limits of the group ${name}`}
          onClick={() => setLimits(true)}
        >
          Limits
        </button>
      )}
      {may('remove') && (
        <button
          type="button"
          class="danger-quiet"
          disabled={pending === 0 || unreachable.value}
          aria-label={`Clean the group ${name}`}
          onClick={() => void act('clean')}
        >
          Clean
        </button>
      )}
      {limits && (
        <GroupLimitsDialog
          queue={queue}
          group={group}
          close={() => {
            setLimits(false);
            changed();
          }}
        />
      )}
    </div>
  );
}

/** Asks before an action. Returns its further fields, or null if the user decided against it. */
async function agreed(action: GroupAction, { name, pending }: GroupView): Promise<object | null> {
  if (action === 'pause') {
    return askPause(`the group ${name}`, 'It takes jobs in and starts none, in the whole fleet.');
  }
  const isAgreed =
    action === 'resume' ||
    (await ask({
      title: `Delete the jobs that wait in ${name}?`,
      body: 'They are deleted with all their traces. Jobs that wait for their time, and running jobs, stay.',
      verb: `Delete ${plural(pending, 'waiting job')}`,
      typed: pending,
      destroys: true,
    }));
  return isAgreed ? {} : null;
}

function outcomeOf(action: GroupAction, name: string, done: number): string {
  return {
    pause: `The group ${name} is paused.`,
    resume: `The group ${name} continues.`,
    clean: `${plural(done, 'job')} of ${name} deleted.`,
  }[action];
}
