import { useEffect, useRef, useState } from 'preact/hooks';
import type { QueueView } from '../../api/views.js';
import { say } from '../shell/toasts.js';
import { post } from '../state/api.js';

type Limits = NonNullable<QueueView['limitsSet']>;

/** A whole number of a field; undefined where it is empty. */
function numberOf(form: FormData, field: string): number | undefined {
  const text = form.get(field);
  return typeof text !== 'string' || text.trim() === '' ? undefined : Number(text);
}

function limitsOf(form: FormData): Omit<Limits, 'source'> {
  const [maxRunning, limit] = [numberOf(form, 'maxRunning'), numberOf(form, 'limit')];
  const [seconds, burst] = [numberOf(form, 'seconds') ?? 1, numberOf(form, 'burst')];
  const rateLimit = limit === undefined ? undefined : { limit, periodMs: Math.round(seconds * 1_000), burst };
  return { ...(maxRunning !== undefined && { maxRunning }), ...(rateLimit && { rateLimit }) };
}

/** How much of a queue may run in the whole fleet: shown, set and cleared. */
export function LimitsDialog({ queue, close }: { queue: QueueView; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState('');
  const { name, limitsSet } = queue;
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (limits: Omit<Limits, 'source'> | null, done: string) => {
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
    void send(limitsOf(new FormData(event.currentTarget as HTMLFormElement)), `The limits of ${name} are set.`);
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="limits-title" onClose={close}>
      <form onSubmit={submit}>
        <h2 id="limits-title">Limits of {name}</h2>
        <p class="quiet">
          They hold for the whole fleet and outlive deploys. An empty field is no limit. A lower limit ends no
          running job.
        </p>
        <div class="field-row">
          <Field label="Jobs at once" name="maxRunning" value={limitsSet?.maxRunning} />
        </div>
        <div class="field-row">
          <Field label="Starts" name="limit" value={limitsSet?.rateLimit?.limit} />
          <Field
            label="per seconds"
            name="seconds"
            step="0.001"
            value={limitsSet?.rateLimit ? limitsSet.rateLimit.periodMs / 1_000 : undefined}
          />
          <Field label="Burst" name="burst" value={limitsSet?.rateLimit?.burst} />
        </div>
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

function Field({ label, name, value, step = '1' }: { label: string; name: string; value?: number; step?: string }) {
  return (
    <label class="field">
      {label}
      <input type="number" name={name} min={step} step={step} defaultValue={value?.toString() ?? ''} />
    </label>
  );
}
