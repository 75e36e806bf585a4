import { expect, it } from '@jest/globals';
import { endedOf, workersOf } from '#dashboard/live/overview-reader.js';

const at = (second: number) => new Date(second * 1_000);

it('calls a worker silent if all its queues say so, and adds up what it holds', () => {
  const seen = [
    { id: 'web-1:1:a', queue: 'email', seenAt: at(1), holds: 2 },
    { id: 'web-1:1:a', queue: 'sms', seenAt: at(3), holds: 1 },
    { id: 'web-2:1:b', queue: 'email', seenAt: at(1), holds: 2 },
    { id: 'web-2:1:b', queue: 'sms', seenAt: at(60) },
    { id: 'web-3:1:c', queue: 'email', seenAt: at(60) },
    { id: 'web-3:1:c', queue: 'sms', seenAt: at(1), holds: 2 },
  ];
  expect(workersOf(seen, []).map(({ host, seenAt, holds }) => [host, seenAt, holds])).toEqual([
    ['web-1', 3_000, 3],
    ['web-2', 60_000, null],
    ['web-3', 60_000, null],
  ]);
});

/** Returns a death of a worker, as a queue knows it. */
const death = (worker: string, second: number, queue: string) => ({
  worker,
  at: at(second),
  how: 'silent',
  jobs: 1,
  ran: [],
  queue,
});

it('lists the dead workers once each, the last first', () => {
  const deaths = [
    death('web-1:1:a', 1, 'email'),
    death('web-3:1:c', 2, 'email'),
    death('web-2:1:b', 2, 'email'),
    death('web-1:1:a', 3, 'sms'),
  ];
  expect(endedOf(deaths).map(({ host, jobs }) => [host, jobs])).toEqual([
    ['web-1', 2],
    ['web-2', 1],
    ['web-3', 1],
  ]);
});

/** Returns a job that the first worker runs. */
const claimed = (queue: string, name: string) => ({
  id: `${queue} ${name}`,
  name,
  queue,
  label: '',
  attempt: 1,
  claimedAt: 1,
  worker: 'web-1:1:a',
  isPrefetched: false,
});

it('says how many slots a running job takes, by what its worker announced to the queue', () => {
  const weights = [
    { name: '*', slots: 2 },
    { name: 'light', slots: 1 },
  ];
  const seen = [
    { id: 'web-1:1:a', queue: 'render', seenAt: at(1), slots: 10, weights },
    { id: 'web-1:1:a', queue: 'email', seenAt: at(1), slots: 10 },
  ];
  const jobs = [claimed('render', 'film'), claimed('render', 'light'), claimed('email', 'film')];
  const [worker] = workersOf(seen, jobs);
  expect(Object.fromEntries(worker!.running.map(({ id, slots }) => [id, slots]))).toEqual({
    'render film': 2,
    'render light': undefined,
    'email film': undefined,
  });
});

it('counts the slots that an enqueue asked for, up to the most of the range of its worker', () => {
  const weights = [{ name: '*', slots: 1, most: 4 }];
  const seen = [{ id: 'web-1:1:a', queue: 'render', seenAt: at(1), slots: 10, weights }];
  const jobs = [3, 9].map((slots) => ({ ...claimed('render', `film ${slots}`), slots }));
  const [worker] = workersOf(seen, [
    ...jobs,
    claimed('render', 'still'),
    { ...claimed('email', 'film'), slots: 5 },
  ]);
  expect(Object.fromEntries(worker!.running.map(({ id, slots }) => [id, slots]))).toEqual({
    'render film 3': 3,
    'render film 9': 4,
    'render still': undefined,
    'email film': undefined,
  });
});
