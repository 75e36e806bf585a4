import { expect, it } from '@jest/globals';
import { timelineOf } from '#dashboard/live/timeline.js';

const MINUTE = 60_000;
const NOW = 60 * MINUTE;

function timeline(...deploys: Parameters<typeof timelineOf>[0]['deploys']) {
  return timelineOf({ at: NOW, deploys, entries: [], kinds: [], ended: [], outboxSince: null });
}

function outage(queue: string, minute: number) {
  const mark = { kind: 'outage' as const, at: new Date(minute * MINUTE), endedAt: new Date((minute + 3) * MINUTE) };
  return { queue, mark };
}

function deploy(queue: string, version: string, minute: number) {
  return { queue, mark: { kind: 'deploy' as const, at: new Date(minute * MINUTE), version } };
}

it('has each outage once for all queues, and two outages of one queue', () => {
  const events = timeline(outage('email', 10), outage('email', 40), outage('image', 11));
  expect(events.map(({ at, kind }) => [at / MINUTE, kind])).toEqual([
    [10, 'outage'],
    [40, 'outage'],
  ]);
});

it('has each version once, at its first sight', () => {
  const events = timeline(deploy('image', '2.4.0', 50), deploy('email', '2.4.0', 20), deploy('email', '2.5.0', 55));
  expect(events.map(({ at, text }) => [at / MINUTE, text])).toEqual([
    [20, 'version 2.4.0'],
    [55, 'version 2.5.0'],
  ]);
});
