// The limits that the dialogs of the dashboard send.
import { expect, it } from '@jest/globals';
import { groupLimitsOf } from '../../../src/dashboard/ui/limits/limits-of.js';

/** Returns the fields of the dialog; an empty one is an empty text, and an unchecked box is absent. */
function formOf(fields: Record<string, string>): FormData {
  const form = new FormData();
  Object.entries({
    maxRunning: '',
    limit: '',
    seconds: '',
    burst: '',
    weight: '',
    maxPending: '',
    ...fields,
  }).forEach(([name, value]) => form.set(name, value));
  return form;
}

it('keeps the limit of a group that the dialog has no field for', () => {
  const form = formOf({ weight: '5' });
  expect(groupLimitsOf(form, { weight: 3, maxPendingBytes: 1_048_576 })).toEqual({
    weight: 5,
    maxPendingBytes: 1_048_576,
  });
});

it.each([
  ['checked', { hold: 'on' }, {}, { onDeadHead: 'hold' }],
  ['unchecked now', {}, { onDeadHead: 'hold' }, { onDeadHead: 'skip' }],
  ['unchecked before, against that of all groups', {}, { onDeadHead: 'skip' }, { onDeadHead: 'skip' }],
  ['never checked', {}, {}, {}],
] as const)('waits behind a dead letter if the box is %s', (_when, fields, shown, limits) => {
  expect(groupLimitsOf(formOf(fields), shown)).toEqual(limits);
});
