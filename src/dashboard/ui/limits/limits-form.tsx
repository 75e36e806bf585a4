import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { QueueView } from '../../views/views.js';
import { say } from '../parts/toasts.js';
import { post } from '../state/api.js';
import { unreachable } from '../state/live.js';
import { type LimitFigures, changesOf, figuresOf } from './limits-of.js';

/** Shows the fields for the number of running jobs, and of starts in a period. */
export function LimitFields({ maxRunning, rateLimit }: LimitFigures) {
  return (
    <>
      <div class="field-row">
        <Field label="Jobs at once" name="maxRunning" value={maxRunning} />
      </div>
      <div class="field-row">
        <Field label="Starts" name="limit" value={rateLimit?.limit} />
        <Field
          label="per seconds"
          name="seconds"
          step="0.001"
          value={rateLimit ? rateLimit.periodMs / 1_000 : undefined}
        />
        <Field label="Burst" name="burst" value={rateLimit?.burst} />
      </div>
    </>
  );
}

export function Field(props: { label: string; name: string; value?: number; step?: string }) {
  const { label, name, value, step = '1' } = props;
  return (
    <label class="field">
      {label}
      <input type="number" name={name} min={step} step={step} defaultValue={value?.toString() ?? ''} />
    </label>
  );
}

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

/** Shows, sets and clears the limits of a queue in the whole fleet. */
export function LimitsDialog({ queue, close }: { queue: QueueView; close(): void }) {
  const { name, limitsSet } = queue;
  const [shown] = useState(limitsSet ?? {}); // others may change the limits while the dialog is open
  const isSetHere = limitsSet?.source === 'set';
  return (
    <LimitsForm
      titleId="limits-title"
      name={name}
      clearing={isSetHere ? { button: 'Clear what was set here', then: 'those of its configuration again' } : null}
      limitsOf={(form) => changesOf(shown, figuresOf(form))}
      store={(limits) => post('queue/limits', { queue: name, limits })}
      close={close}
    >
      <h2 id="limits-title">Limits of {name}</h2>
      <p class="quiet">
        They hold for the whole fleet and outlive deploys. An empty field is no limit. A lower limit ends no running
        job.
      </p>
      <LimitFields {...shown} />
    </LimitsForm>
  );
}
