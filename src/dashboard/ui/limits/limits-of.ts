// The limits that the fields of a form mean.
import type { GroupLimits } from '../../../queue/model/limits.js';
import type { SharedLimitView } from '../../views/views.js';

/** The figures that limit a queue or a group. */
export interface LimitFigures {
  maxRunning?: number;
  rateLimit?: { limit: number; periodMs: number; burst?: number };
}

/** Returns the number in a form's field; undefined if it is empty. */
function numberOf(form: FormData, field: string): number | undefined {
  return numbersOf(form, field)[0];
}

/** Returns the numbers in all fields of a name; undefined for an empty one. */
function numbersOf(form: FormData, field: string): (number | undefined)[] {
  return form
    .getAll(field)
    .map((text) => (typeof text !== 'string' || text.trim() === '' ? undefined : Number(text)));
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

/** Returns the changed values of a limit that queues share. Its form has the fields of several rates. */
export function sharedChangesOf(shown: Pick<SharedLimitView, 'maxRunning' | 'rates'>, form: FormData) {
  const [seconds, bursts] = [numbersOf(form, 'seconds'), numbersOf(form, 'burst')];
  const rates = numbersOf(form, 'limit').flatMap((limit, i) =>
    limit === undefined ? [] : { limit, periodMs: Math.round((seconds[i] ?? 1) * 1_000), burst: bursts[i] ?? 1 },
  );
  const before = shown.rates.map(({ limit, periodMs, burst = 1 }) => ({ limit, periodMs, burst }));
  const maxRunning = numberOf(form, 'maxRunning') ?? null;
  return {
    ...(maxRunning !== shown.maxRunning && { maxRunning }),
    ...(JSON.stringify(rates) !== JSON.stringify(before) && { rateLimit: rates.length > 0 ? rates : null }),
  };
}

/** Returns the limits of a group. What the form has no field for stays as it was. */
export function groupLimitsOf(form: FormData, shown: GroupLimits): GroupLimits {
  const [weight, maxPending] = [numberOf(form, 'weight'), numberOf(form, 'maxPending')];
  const { maxPendingBytes } = shown;
  const onDeadHead = form.get('hold') !== null ? 'hold' : shown.onDeadHead && 'skip';
  return {
    ...figuresOf(form),
    ...(weight !== undefined && { weight }),
    ...(maxPending !== undefined && { maxPending }),
    ...(maxPendingBytes !== undefined && { maxPendingBytes }),
    ...(onDeadHead && { onDeadHead }),
  };
}
