import { useEffect, useRef, useState } from 'preact/hooks';
import type { GroupView } from '../../api/views.js';
import { say } from '../shell/toasts.js';
import { post } from '../state/api.js';
import { Field, figuresOf, LimitFields, numberOf } from './limit-fields.js';

type GroupLimits = GroupView['limitsSet'];

function limitsOf(form: FormData): GroupLimits {
  const [weight, maxPending] = [numberOf(form, 'weight'), numberOf(form, 'maxPending')];
  return {
    ...figuresOf(form),
    ...(weight !== undefined && { weight }),
    ...(maxPending !== undefined && { maxPending }),
    ...(form.get('hold') !== null && { onDeadHead: 'hold' }),
  };
}

/** What holds for one group: its turns, how much of it runs and waits. Shown, set and cleared. */
export function GroupLimitsDialog(props: { queue: string; group: GroupView; close(): void }) {
  const { queue, group, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState('');
  const { name, limitsSet } = group;
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (limits: GroupLimits | null, done: string) => {
    try {
      await post('groups/limits', { queue, group: name, limits });
      say(done);
      close();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void send(limitsOf(new FormData(event.currentTarget as HTMLFormElement)), `The limits of ${name} are set.`);
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="group-limits-title" onClose={close}>
      <form onSubmit={submit}>
        <h2 id="group-limits-title">
          Limits of the group <bdi>{name}</bdi>
        </h2>
        <p class="quiet">
          They hold for the whole fleet and outlive deploys. An empty field is as for all groups of the queue.
        </p>
        <div class="field-row">
          <Field label="Weight: its turns against other groups" name="weight" value={limitsSet.weight} />
        </div>
        <LimitFields {...limitsSet} />
        <div class="field-row">
          <Field label="Waiting jobs at most" name="maxPending" value={limitsSet.maxPending} />
        </div>
        <label class="check">
          <input type="checkbox" name="hold" defaultChecked={limitsSet.onDeadHead === 'hold'} />
          Wait behind a dead letter, with one job at once
        </label>
        <p class="field-problem" role="alert">
          {problem}
        </p>
        <div class="dialog-buttons">
          {group.limits !== null && (
            <button
              type="button"
              class="danger-quiet"
              onClick={() => void send(null, `The limits of ${name} are those of all groups again.`)}
            >
              Clear its own limits
            </button>
          )}
          <button type="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" class="primary">
            Set the limits
          </button>
        </div>
      </form>
    </dialog>
  );
}
