import { expect, it } from '@jest/globals';
import { timelineOf } from '#dashboard/live/visible-overview.js';
import { shardNames } from '#queue/model/spread.js';

const MINUTE = 60_000;
const NOW = 60 * MINUTE;

/** Returns a worker whose claims expired. */
const died = (minute: number) => ({
  id: `w${minute}`,
  host: 'web-1',
  pid: null,
  at: minute * MINUTE,
  how: 'claim expired',
  jobs: 1,
  ran: [],
});

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

it('has a series of deaths once, however many there are, in whatever order they are read', () => {
  const ended = [13, 40, 10, 12].map(died);
  const events = timelineOf({ at: NOW, deploys: [], entries: [], kinds: [], ended, outboxSince: null });
  expect(events.map(({ at, text }) => [at / MINUTE, text])).toEqual([
    [10, '3 workers died'],
    [40, 'a worker of web-1 died'],
  ]);
});

it('has events of each kind in the order of time', () => {
  const reading = { at: NOW, deploys: [deploy('image', '2.4.0', 40)], entries: [], kinds: [], outboxSince: null };
  const events = timelineOf({ ...reading, ended: [died(20), died(55)] });
  expect(events.map(({ at, kind }) => [at / MINUTE, kind])).toEqual([
    [20, 'death'],
    [40, 'deploy'],
    [55, 'death'],
  ]);
});

it('has a call on all shards of a queue once, and a call on one shard by its name', () => {
  const [first, second] = shardNames('ingest', 2) as [string, string];
  const entryId = '1-0';
  const paused = (queue: string, ms: number) => {
    return {
      entryId,
      queue,
      action: 'pause',
      by: 'ada',
      via: 'app' as const,
      at: new Date(ms),
      subject: '',
      count: 1,
    };
  };
  const entries = [paused(second, 1_001), paused(first, 1_000), paused(first, 5_000), paused(second, 40_000)];
  const events = timelineOf({ at: NOW, deploys: [], entries, kinds: [], ended: [], outboxSince: null });
  expect(events.map(({ at, text }) => [at, text])).toEqual([
    [1_000, 'pause of ingest by ada'],
    [5_000, 'pause of ingest by ada'],
    [40_000, `pause of ${second} by ada`],
  ]);
});

it('has a kind of error of several shards once, where it was first', () => {
  const names = shardNames('ingest', 3);
  const kinds = [...names, 'email'].map((queue, i) => {
    const times = { firstAt: new Date(4_000 - i), lastAt: new Date(5_000) };
    return { queue, kind: 'a1', count: 1, lastHour: 1, error: '410 Gone', ...times };
  });
  const events = timelineOf({ at: NOW, deploys: [], entries: [], kinds, ended: [], outboxSince: null });
  expect(events.map(({ text }) => text)).toEqual(['first in email: 410 Gone', `first in ${names[2]!}: 410 Gone`]);
});
