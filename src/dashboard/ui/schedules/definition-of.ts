// The schedule that the fields of the form mean.
import type { EditedScheduleView } from '../../views/schedule-view.js';
import type { Problem } from '../state/api.js';

/** The fields of the form. */
const FIELDS = [
  'queue',
  'id',
  'name',
  'cron',
  'timeZone',
  'everyMs',
  'startAt',
  'endAt',
  'limit',
  'jitterMs',
  'onMissed',
  'priority',
  'maxAttempts',
  'payload',
] as const;

/** What is wrong, by the name of a field; `form` for a fault of none. */
export type Faults = Partial<Record<FieldName | 'form', string>>;
type FieldName = (typeof FIELDS)[number];

/** The units of an interval, in ms. */
export const UNITS: readonly [ms: number, words: string][] = [
  [1_000, 'seconds'],
  [60_000, 'minutes'],
  [3_600_000, 'hours'],
  [86_400_000, 'days'],
];

/** A field that has no value of its kind. */
export class InvalidField extends Error {
  constructor(
    readonly field: keyof Faults,
    message: string,
  ) {
    super(message);
  }
}

/** Returns an interval in its largest whole unit. */
export function unitOf(ms: number): { value: number; unit: number } {
  const unit = UNITS.findLast(([each]) => ms % each === 0)?.[0] ?? 1_000;
  return { value: ms / unit, unit };
}

/**
 * Returns what the form asks to store.
 *
 * @throws InvalidField for a payload that is not JSON
 */
export function definitionOf(form: FormData, edited: EditedScheduleView | null) {
  const queue = textOf(form, 'queue') ?? '';
  // An edit without a name would keep the known one.
  const name = textOf(form, 'name') ?? (edited ? queue : undefined);
  return {
    queue,
    id: textOf(form, 'id') ?? '',
    recurrence: recurrenceOf(form, edited),
    ...(name !== undefined && { name }),
    onMissed: textOf(form, 'onMissed'),
    overlap: form.get('single') === null,
    priority: numberOf(form, 'priority') ?? null,
    maxAttempts: numberOf(form, 'maxAttempts') ?? null,
    ...payloadOf(form, edited),
    updatedAt: edited?.updatedAt ?? null,
  };
}

/** Returns the times that the form asks for. Empty fields are absent, and the server checks the others. */
export function recurrenceOf(form: FormData, edited: EditedScheduleView | null): Record<string, unknown> {
  const isCron = form.get('kind') !== 'every';
  const every = numberOf(form, 'every', Number(form.get('unit')));
  const given = {
    ...(isCron
      ? { cron: textOf(form, 'cron') ?? '', timeZone: textOf(form, 'timeZone') }
      : { everyMs: every ?? 0 }),
    startAt: instantOf(form, 'startAt', edited?.startAt),
    endAt: instantOf(form, 'endAt', edited?.endAt),
    limit: numberOf(form, 'limit'),
    jitterMs: numberOf(form, 'jitter', 1_000),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The fields that a refusal names otherwise than the form does. */
const NAMES: Readonly<Record<string, FieldName>> = { every: 'everyMs', jitter: 'jitterMs' };

/** An input that may show a text which is no value of its type. */
interface Input {
  readonly name: string;
  readonly type: string;
  readonly validity?: { readonly badInput: boolean };
}

/** Returns the faults of shown fields with a half-typed number or time, such as `1e`. The data of the form lacks them. */
export function halfTyped(inputs: Iterable<Input>, form: FormData): Faults {
  const isShown = ({ name }: Input) => name !== 'every' || form.get('kind') === 'every';
  const bad = [...inputs].filter((input) => input.validity?.badInput && isShown(input));
  const expected = ({ type }: Input) => (type === 'number' ? 'expected a number' : 'expected a date and a time');
  return Object.fromEntries(bad.map((input) => [NAMES[input.name] ?? input.name, expected(input)]));
}

/** Returns the field of a refusal, and what was expected of it. */
export function faultOf({ message, subject }: Problem): Faults {
  if (subject === undefined) {
    return { form: message };
  }
  const path = subject.replace(/^(schedule "[^"]*"|schedule|request)[. ]?/, '');
  const [field, inside] = path === '' ? ['cron', ''] : (/^(\w+)\.?(.*)$/s.exec(path)?.slice(1) ?? ['', '']);
  const said = message.slice(subject.length).replace(/^: /, inside === '' ? '' : `${inside}: `);
  return FIELDS.some((each) => each === field) ? { [field!]: said } : { form: message };
}

function payloadOf(form: FormData, edited: EditedScheduleView | null): { payload?: unknown } {
  const text = textOf(form, 'payload');
  if (text === undefined || text === edited?.payload) {
    return {};
  }
  try {
    return { payload: JSON.parse(text) as unknown };
  } catch (error) {
    throw new InvalidField('payload', `expected JSON: ${(error as Error).message}`);
  }
}

/** Returns the text in a field; undefined if it is empty. */
export function textOf(form: FormData, field: string): string | undefined {
  const text = form.get(field);
  return typeof text !== 'string' || text.trim() === '' ? undefined : text.trim();
}

function numberOf(form: FormData, field: string, unit = 1): number | undefined {
  const text = textOf(form, field);
  return text === undefined ? undefined : Math.round(Number(text) * unit);
}

/** Returns the instant of a field. One that nobody changed stays: a clock may show its time twice, and no ms. */
function instantOf(form: FormData, field: string, known: number | null | undefined): number | undefined {
  const text = textOf(form, field);
  if (text === undefined) {
    return undefined;
  }
  return known && toSecond(text) === localTime(known) ? known : new Date(text).getTime();
}

/** Returns an instant as the field of a local time has it, to the second. */
export function localTime(at: number | null | undefined): string {
  if (at === null || at === undefined) {
    return '';
  }
  const offset = new Date(at).getTimezoneOffset() * 60_000;
  return new Date(at - offset).toISOString().slice(0, 19);
}

/** Returns the text of a field with its seconds, which browsers leave out if they are 0. */
function toSecond(text: string): string {
  return /T\d\d:\d\d$/.test(text) ? `${text}:00` : text;
}
