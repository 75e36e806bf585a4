import { expect, it } from '@jest/globals';
import { NameFilter } from '#worker/runner/claims.js';

const limits = [{ name: 'mail', maxAttempts: 3, maxCrashes: 3 }];

function newFilter() {
  const clock = { now: 0 };
  return { clock, filter: new NameFilter(limits, () => clock.now) };
}

const none = { cursor: -1, elsewhere: false, unserved: [] };

it('asks for no names until a job of another name was met, and a minute after the last', () => {
  const { clock, filter } = newFilter();
  expect(filter.only).toBeUndefined();
  filter.met('fax');
  expect(filter.only).toEqual({ limits, cursor: 0 });
  clock.now = 60_000;
  filter.looked({ ...none, unserved: ['fax'] }, 0);
  clock.now = 120_000;
  expect(filter.only).toBeDefined();
  clock.now = 120_001;
  expect(filter.only).toBeUndefined();
});

it('says of each name once that it is new', () => {
  const { filter } = newFilter();
  expect([filter.met('fax'), filter.met('sms'), filter.met('fax')]).toEqual([true, true, false]);
});

it('continues with a pass at once where it found jobs, after a pause where it did not', () => {
  const { filter } = newFilter();
  filter.met('fax');
  expect(filter.looked({ ...none, cursor: 500 }, 1)).toBe(0);
  expect(filter.only!.cursor).toBe(500);
  expect(filter.looked({ ...none, cursor: 1_000 }, 0)).toBe(2);
});

it('waits for a limit where a claim found jobs and started none, so its search went no further', () => {
  const { filter } = newFilter();
  filter.met('fax');
  expect(filter.looked({ ...none, cursor: 0 }, 0)).toBeUndefined();
  expect(filter.looked({ ...none, cursor: 0 }, 1)).toBe(0);
  expect(filter.looked({ ...none, cursor: 500 }, 0)).toBe(2);
});

it('looks ten times a second while another worker handles the waiting jobs, else waits', () => {
  const { filter } = newFilter();
  filter.met('fax');
  expect(filter.looked({ ...none, elsewhere: true }, 0)).toBe(100);
  expect(filter.looked({ ...none, unserved: ['fax'] }, 0)).toBeUndefined();
});

it('begins the next pass after two seconds, or twenty times the length of the last', () => {
  const { clock, filter } = newFilter();
  filter.met('fax');
  filter.looked(none, 0);
  expect(filter.only!.cursor).toBe(-1);
  clock.now = 2_000;
  expect(filter.only!.cursor).toBe(0);
  filter.looked({ ...none, cursor: 500 }, 0);
  clock.now = 2_500;
  filter.looked({ ...none, unserved: ['fax'] }, 0);
  clock.now = 12_499;
  expect(filter.only!.cursor).toBe(-1);
  clock.now = 12_500;
  expect(filter.only!.cursor).toBe(0);
});
