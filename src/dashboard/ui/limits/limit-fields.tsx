/** The figures that limit a queue or a group. */
interface LimitFigures {
  maxRunning?: number;
  rateLimit?: { limit: number; periodMs: number; burst?: number };
}

/** Returns the whole number in a form's field; undefined if it is empty. */
export function numberOf(form: FormData, field: string): number | undefined {
  const text = form.get(field);
  return typeof text !== 'string' || text.trim() === '' ? undefined : Number(text);
}

/** Reads the fields of LimitFields. */
export function figuresOf(form: FormData): LimitFigures {
  const [maxRunning, limit] = [numberOf(form, 'maxRunning'), numberOf(form, 'limit')];
  const [seconds, burst] = [numberOf(form, 'seconds') ?? 1, numberOf(form, 'burst') ?? 1];
  const rateLimit = limit === undefined ? undefined : { limit, periodMs: Math.round(seconds * 1_000), burst };
  return { ...(maxRunning !== undefined && { maxRunning }), ...(rateLimit && { rateLimit }) };
}

/** Returns what differs from the limits that the form showed. null takes a limit away. */
export function changesOf(shown: LimitFigures, now: LimitFigures) {
  const [before, after] = [shown.rateLimit, now.rateLimit];
  const isSameRate =
    before?.limit === after?.limit &&
    before?.periodMs === after?.periodMs &&
    (before?.burst ?? 1) === (after?.burst ?? 1);
  return {
    ...(now.maxRunning !== shown.maxRunning && { maxRunning: now.maxRunning ?? null }),
    ...(!isSameRate && { rateLimit: after ?? null }),
  };
}

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
