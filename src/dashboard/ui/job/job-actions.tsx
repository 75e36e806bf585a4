import { useEffect, useRef, useState } from 'preact/hooks';
import type { JobAction, JobView } from '../../views/views.js';
import { ACTION_WORDS, actionsOf, destroys, outcomeWords } from '../parts/actions.js';
import { ask } from '../parts/confirm.js';
import { say, tried } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { unreachable } from '../state/live.js';
import { startOf } from '../../../queue/runtime/cut.js';

/** Shows the actions that the user may apply to this job now. */
export function JobActions({ job, changed }: { job: JobView; changed(): void }) {
  const [editing, setEditing] = useState(false);
  const { id, queue, state, name } = job;
  const actions = actionsOf(state).filter((action) => job.actions.includes(action));
  const act = async (action: JobAction) => {
    const sure =
      !destroys(action) ||
      (await ask({
        title: `${ACTION_WORDS[action]} this job of ${queue}?`,
        body: DOES[action],
        verb: `${ACTION_WORDS[action]} ${startOf(name, 40)}`,
        destroys: true,
      }));
    const outcome = sure
      ? await tried(async () => outcomeWords(action, await post('jobs/act', { action, queue, state, ids: [id] })))
      : undefined;
    if (outcome) {
      say(outcome);
      changed();
    }
  };
  const redriveAsNew = async () => {
    const outcome = await tried(async () => {
      const { id: newId } = await post<{ id: string }>('jobs/redrive-as-new', { queue, id });
      return `Redriven as the job ${startOf(newId, 40)}.`;
    });
    if (outcome) {
      say(outcome);
      changed();
    }
  };
  const canEdit = state === 'failed' && job.actions.includes('edit') && job.actions.includes('redrive');
  return (
    <div class="job-actions" role="toolbar" aria-label="Actions on this job">
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          disabled={unreachable.value}
          class={action === 'redrive' || action === 'promote' ? 'primary' : destroys(action) ? 'danger-quiet' : ''}
          onClick={() => void act(action)}
        >
          {ACTION_WORDS[action]}
        </button>
      ))}
      {state === 'failed' && job.actions.includes('redrive') && (
        <button
          type="button"
          disabled={unreachable.value}
          title="This record stays, and the new job names it"
          onClick={() => void redriveAsNew()}
        >
          Redrive as a new job
        </button>
      )}
      {canEdit && (
        <button
          type="button"
          disabled={job.editRefusal !== null || unreachable.value}
          title={job.editRefusal ?? undefined}
          onClick={() => setEditing(true)}
        >
          Edit and redrive
        </button>
      )}
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

const DOES: Record<JobAction, string> = {
  redrive: 'It goes back to work, its attempts reset.',
  discard: 'It is deleted for good.',
  cancel: 'A waiting job ends at once; a running one is asked to stop at its next heartbeat.',
  promote: 'It becomes pending now.',
  remove: 'It is deleted with all its traces.',
  'run-again': 'It goes back to work with all its attempts; its result goes.',
};

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
