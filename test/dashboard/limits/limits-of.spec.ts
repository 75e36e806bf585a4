// The limits that the dialogs of the dashboard send.
import { expect, it } from '@jest/globals';
import { changesOf, groupLimitsOf, sharedChangesOf } from '../../../src/dashboard/ui/limits/limits-of.js';

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

it('sends only what the dialog changed, also where a figure begins with the new one', () => {
  const rateLimit = { limit: 100, periodMs: 1_000, burst: 10 };
  const shown = { maxRunning: 50, rateLimit };
  expect(changesOf(shown, { maxRunning: 5, rateLimit })).toEqual({ maxRunning: 5 });
  for (const changed of [{ limit: 10 }, { periodMs: 100 }, { burst: 1 }]) {
    const now = { ...rateLimit, ...changed };
    expect(changesOf(shown, { maxRunning: 50, rateLimit: now })).toEqual({ rateLimit: now });
  }
  expect(changesOf(shown, {})).toEqual({ maxRunning: null, rateLimit: null });
});

it.each([
  ['checked', { hold: 'on' }, {}, { onDeadHead: 'hold' }],
  ['unchecked now', {}, { onDeadHead: 'hold' }, { onDeadHead: 'skip' }],
  ['unchecked before, against that of all groups', {}, { onDeadHead: 'skip' }, { onDeadHead: 'skip' }],
  ['never checked', {}, {}, {}],
] as const)('waits behind a dead letter if the box is %s', (_when, fields, shown, limits) => {
  expect(groupLimitsOf(formOf(fields), shown)).toEqual(limits);
});

/** Returns the fields of the dialog of a shared limit, with a row for each rate. */
function formOfRates(...rows: [limit: string, seconds: string, burst: string][]): FormData {
  const found = formOf({ maxRunning: '5' });
  ['limit', 'seconds', 'burst'].forEach((name) => found.delete(name));
  for (const [limit, seconds, burst] of rows) {
    Object.entries({ limit, seconds, burst }).forEach(([name, value]) => found.append(name, value));
  }
  return found;
}

it('sends the rates of a shared limit that stay, change or are new, as one list', () => {
  const shown = { maxRunning: 5, rates: [{ limit: 10, periodMs: 1_000, burst: 2 }] };
  expect(sharedChangesOf(shown, formOfRates(['10', '1', '2'], ['', '', '']))).toEqual({});
  expect(sharedChangesOf({ ...shown, maxRunning: 4 }, formOfRates(['', '', '']))).toEqual({
    maxRunning: 5,
    rateLimit: null,
  });
  expect(sharedChangesOf(shown, formOfRates(['10', '1', '2'], ['100', '60', '']))).toEqual({
    rateLimit: [
      { limit: 10, periodMs: 1_000, burst: 2 },
      { limit: 100, periodMs: 60_000, burst: 1 },
    ],
  });
});
