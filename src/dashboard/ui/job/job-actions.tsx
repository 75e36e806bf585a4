import { useEffect, useRef, useState } from 'preact/hooks';
import { ACTIONS, type JobAction, type OneJobAction, permissionsOf } from '../../../queue/model/actions.js';
import type { JobView } from '../../views/views.js';
import { actionsOf, outcomeWords } from '../parts/actions.js';
import { ask } from '../parts/confirm.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { unreachable } from '../state/live.js';
import { startOf } from '../../../queue/runtime/cut.js';

/** Shows the actions that the user may apply to this job now. */
export function JobActions({ job, changed }: { job: JobView; changed(): void }) {
  const [editing, setEditing] = useState(false);
  const { id, queue, state, name } = job;
  const actions = actionsOf(state).filter((action) =>
    permissionsOf(action).every((permission) => job.actions.includes(permission)),
  );
  const act = async (action: JobAction) => {
    const { button, does, destroys } = ACTIONS[action];
    const sure =
      !destroys ||
      (await ask({
        title: `${button} this job of ${queue}?`,
        body: does,
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

function classOf(action: JobAction): string {
  const row = ACTIONS[action];
  return 'isMain' in row ? 'primary' : row.destroys ? 'danger-quiet' : '';
}

function EditPayload({ job, close }: { job: JobView; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState(job.brokenPayload ?? JSON.stringify(job.payload, null, 2));
  const [problem, setProblem] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (event: Event) => {
    event.preventDefault();
    let payload: unknown;
    try {
      payload = JSON.parse(text);
    } catch (error) {
      setProblem(`This is not JSON: ${(error as Error).message}`);
      return;
    }
    try {
      await post('jobs/edit', { queue: job.queue, id: job.id, payload });
      say('The job was redriven with its new payload.');
      close();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <dialog ref={dialog} class="dialog dialog-wide" aria-labelledby="edit-title" onClose={close}>
      <form onSubmit={(event) => void send(event)}>
        <h2 id="edit-title">Edit the payload and redrive</h2>
        <label class="field">
          Payload, as JSON
          <textarea
            rows={16}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <p class="field-problem" role="alert">
          {problem}
        </p>
        <div class="dialog-buttons">
          <button type="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" class="primary" disabled={unreachable.value}>
            Redrive with this payload
          </button>
        </div>
      </form>
    </dialog>
  );
}
