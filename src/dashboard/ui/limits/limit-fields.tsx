import type { LimitFigures } from './limits-of.js';

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
