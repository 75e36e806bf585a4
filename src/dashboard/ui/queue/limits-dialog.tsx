import { useEffect, useRef, useState } from 'preact/hooks';
import type { QueueView } from '../../api/views.js';
import { say } from '../shell/toasts.js';
import { post } from '../state/api.js';
import { figuresOf, LimitFields, type LimitFigures } from './limit-fields.js';

/** How much of a queue may run in the whole fleet: shown, set and cleared. */
export function LimitsDialog({ queue, close }: { queue: QueueView; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState('');
  const { name, limitsSet } = queue;
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (limits: LimitFigures | null, done: string) => {
    try {
      await post('queue/limits', { queue: name, limits });
      say(done);
      close();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void send(figuresOf(new FormData(event.currentTarget as HTMLFormElement)), `The limits of ${name} are set.`);
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="limits-title" onClose={close}>
      <form onSubmit={submit}>
        <h2 id="limits-title">Limits of {name}</h2>
        <p class="quiet">
          They hold for the whole fleet and outlive deploys. An empty field is no limit. A lower limit ends no
          running job.
        </p>
        <LimitFields {...limitsSet} />
        <p class="field-problem" role="alert">
          {problem}
        </p>
        <div class="dialog-buttons">
          {limitsSet?.source === 'set' && (
            <button
              type="button"
              class="danger-quiet"
              onClick={() => void send(null, `The limits of ${name} are those of its configuration again.`)}
            >
              Clear what was set here
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
