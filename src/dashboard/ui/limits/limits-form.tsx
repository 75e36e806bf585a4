import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { say } from '../parts/toasts.js';
import { unreachable } from '../state/live.js';

/** Shows a dialog that shows limits, sets them and clears them. The children are its title and its fields. */
export function LimitsForm<Limits>(props: {
  titleId: string;
  /** The owner of the limits, for the toasts. */
  name: string;
  /** The button that clears the limits, and the limits afterwards; null if there is nothing to clear. */
  clearing: { button: string; then: string } | null;
  limitsOf(form: FormData): Limits;
  /** Stores the limits; null clears them. */
  store(limits: Limits | null): Promise<unknown>;
  close(): void;
  children: ComponentChildren;
}) {
  const { titleId, name, clearing, limitsOf, store, close, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (limits: Limits | null, done: string) => {
    try {
      await store(limits);
      say(`The limits of ${name} are ${done}.`);
      close();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void send(limitsOf(new FormData(event.currentTarget as HTMLFormElement)), 'set');
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={titleId} onClose={close}>
      <form onSubmit={submit}>
        {children}
        <p class="field-problem" role="alert">
          {problem}
        </p>
        <div class="dialog-buttons">
          {clearing && (
            <button
              type="button"
              class="danger-quiet"
              disabled={unreachable.value}
              onClick={() => void send(null, clearing.then)}
            >
              {clearing.button}
            </button>
          )}
          <button type="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" class="primary" disabled={unreachable.value}>
            Set the limits
          </button>
        </div>
      </form>
    </dialog>
  );
}
