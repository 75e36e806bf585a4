import { useState } from 'preact/hooks';
import { JsonDialog } from './json-dialog.js';
import { ACTIONS, type JobAction, type OneJobAction, permissionsOf } from '../../../queue/model/actions.js';
import type { JobView } from '../../views/views.js';
import { actionsOf, outcomeWords } from '../parts/actions.js';
import { DEADLY } from '../parts/begin-runs.js';
import { ask } from '../parts/confirm.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { unreachable } from '../state/live.js';
import { startOf } from '../../../queue/runtime/cut.js';

/** Shows the actions that the user may apply to this job now. */
export function JobActions({ job, changed }: { job: JobView; changed(): void }) {
  const [editing, setEditing] = useState(false);
  const { id, queue, state, name } = job;
  const isParked = state === 'scheduled' && job.waits.some((wait) => wait.state === 'open');
  const actions = actionsOf(state).filter(
    (action) =>
      permissionsOf(action).every((permission) => job.actions.includes(permission)) &&
      !(isParked && action === 'promote'), // only a signal or its time starts it
  );
  const act = async (action: JobAction) => {
    const { button, does, destroys } = ACTIONS[action];
    const isDeadly = action === 'redrive' && job.killed;
    const sure =
      (!destroys && !isDeadly) ||
      (await ask({
        title: `${button} this job of ${queue}?`,
        body: isDeadly ? DEADLY : does,
        ...(isDeadly && { lines: deathsIn(job) }),
        verb: `${button} ${startOf(name, 40)}`,
        destroys,
      }));
    const outcome = sure
      ? await tried(async () => outcomeWords(action, await post('jobs/act', { action, queue, state, ids: [id] })))
      : undefined;
    told(outcome);
  };
  const redriveAsNew = async () => {
    const outcome = await tried(async () => {
      const { id: newId } = await post<{ id: string }>('jobs/redrive-as-new', { queue, id });
      return `Redriven as the job ${startOf(newId, 40)}.`;
    });
    told(outcome);
  };
  const told = (outcome: string | undefined) => {
    if (outcome) {
      say(outcome);
      changed();
    }
  };
  const buttonOf = (
    action: OneJobAction,
  ): { press(): void; class?: string; title?: string; disabled?: boolean } => {
    switch (action) {
      case 'redrive-as-new':
        return { press: () => void redriveAsNew(), title: ACTIONS[action].does };
      case 'edit':
        return {
          press: () => setEditing(true),
          disabled: job.editRefusal !== null,
          ...(job.editRefusal !== null && { title: job.editRefusal }),
        };
      default:
        return { press: () => void act(action), class: classOf(action) };
    }
  };
  return (
    <div class="job-actions" role="toolbar" aria-label="Actions on this job">
      {actions.map((action) => {
        const { press, disabled = false, ...rest } = buttonOf(action);
        return (
          <button key={action} type="button" {...rest} disabled={disabled || unreachable.value} onClick={press}>
            {ACTIONS[action].button}
          </button>
        );
      })}
      {editing && (
        <EditPayload
          job={job}
          close={() => {
            setEditing(false);
            changed();
          }}
        />
      )}
    </div>
  );
}

/** Says what the job killed, one worker a line. */
function deathsIn({ attemptLog }: JobView): string[] {
  return attemptLog
    .filter(({ outcome }) => outcome === 'crash')
    .map(
      ({ attempt, error, worker }) => `attempt ${attempt}: ${error?.message ?? `${worker ?? 'its worker'} died`}`,
    );
}

function classOf(action: JobAction): string {
  const row = ACTIONS[action];
  return 'isMain' in row ? 'primary' : row.destroys ? 'danger-quiet' : '';
}

function EditPayload({ job, close }: { job: JobView; close(): void }) {
  return (
    <JsonDialog
      titleId="edit-title"
      title="Edit the payload and redrive"
      label="Payload, as JSON"
      rows={16}
      start={job.brokenPayload ?? JSON.stringify(job.payload, null, 2)}
      button="Redrive with this payload"
      send={async (payload) => {
        await post('jobs/edit', { queue: job.queue, id: job.id, payload });
        say('The job was redriven with its new payload.');
      }}
      close={close}
    />
  );
}
