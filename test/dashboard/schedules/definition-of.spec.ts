// What the form of a schedule sends, and where it shows a refusal.
import { expect, it } from '@jest/globals';
import { definitionOf, faultOf, halfTyped, unitOf } from '#dashboard/ui/schedules/definition-of.js';
import type { EditedScheduleView } from '#dashboard/views/schedule-view.js';

function formOf(fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ queue: 'q', id: 's', onMissed: 'skip', unit: '60000', ...fields })) {
    form.set(name, value);
  }
  return form;
}

it('sends the fields that are filled in, and leaves the others out', () => {
  const fields = { kind: 'cron', cron: ' 0 3 * * * ', timeZone: '', every: '5', payload: '{"a":1}', single: 'on' };
  expect(definitionOf(formOf(fields), null)).toEqual({
    queue: 'q',
    id: 's',
    recurrence: { cron: '0 3 * * *' },
    onMissed: 'skip',
    overlap: false,
    priority: null,
    maxAttempts: null,
    payload: { a: 1 },
    updatedAt: null,
  });
  const every = definitionOf(formOf({ kind: 'every', every: '1.5', jitter: '0.5', limit: '3' }), null);
  expect(every.recurrence).toEqual({ everyMs: 90_000, jitterMs: 500, limit: 3 });
});

it('sends the name of the queue for a name that an edit has emptied', () => {
  const edited = { name: 'audit', updatedAt: 5 } as EditedScheduleView;
  expect(definitionOf(formOf({ name: '' }), edited)).toMatchObject({ name: 'q' });
  expect(definitionOf(formOf({ name: 'audit' }), edited)).toMatchObject({ name: 'audit' });
});

it('sends no payload that is as it was, and refuses one that is not JSON', () => {
  const edited = { payload: '{"a":1}', updatedAt: 5 } as EditedScheduleView;
  expect(definitionOf(formOf({ payload: '{"a":1}' }), edited)).not.toHaveProperty('payload');
  expect(definitionOf(formOf({ payload: '' }), edited)).not.toHaveProperty('payload');
  expect(() => definitionOf(formOf({ payload: '{a' }), edited)).toThrow(/expected JSON/);
});

it('keeps the milliseconds of an instant that nobody changed', () => {
  const startAt = new Date(2026, 10, 27, 10, 0, 0, 123).getTime();
  const edited = { startAt } as EditedScheduleView;
  const sent = (text: string) => definitionOf(formOf({ startAt: text }), edited).recurrence.startAt;
  expect(sent('2026-11-27T10:00:00')).toBe(startAt);
  expect(sent('2026-11-27T10:00:01')).toBe(new Date(2026, 10, 27, 10, 0, 1).getTime());
});

it.each([
  ['schedule.cron', 'schedule.cron: expected a time.', { cron: 'expected a time.' }],
  ['schedule', 'schedule: expected either.', { cron: 'expected either.' }],
  ['schedule id', 'schedule id: expected one.', { id: 'expected one.' }],
  [
    'schedule "a.b".payload.to[1]',
    'schedule "a.b".payload.to[1]: expected text.',
    { payload: 'to[1]: expected text.' },
  ],
  [
    'schedule "s".options',
    'schedule "s".options: expected none.',
    { form: 'schedule "s".options: expected none.' },
  ],
  [undefined, 'Somebody has changed it.', { form: 'Somebody has changed it.' }],
])('shows the refusal of %s beside its field', (subject, message, faults) => {
  expect(faultOf({ message, ...(subject && { subject }) } as never)).toEqual(faults);
});

it('finds the fields that show a text without a value, but none that is not shown', () => {
  const bad = { validity: { badInput: true } };
  const fields = [
    { name: 'every', type: 'number', ...bad },
    { name: 'jitter', type: 'number', ...bad },
    { name: 'limit', type: 'number', validity: { badInput: false } },
    { name: 'startAt', type: 'datetime-local', ...bad },
  ];
  const expected = { jitterMs: 'expected a number', startAt: 'expected a date and a time' };
  expect(halfTyped(fields, formOf({ kind: 'cron' }))).toEqual(expected);
  expect(halfTyped(fields, formOf({ kind: 'every' }))).toEqual({ ...expected, everyMs: 'expected a number' });
});

it.each([
  [90_000, { value: 90, unit: 1_000 }],
  [7_200_000, { value: 2, unit: 3_600_000 }],
  [250, { value: 0.25, unit: 1_000 }],
])('shows an interval of %d ms in its largest whole unit', (ms, shown) => {
  expect(unitOf(ms)).toEqual(shown);
});
