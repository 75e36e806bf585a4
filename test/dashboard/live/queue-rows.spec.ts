// Where the next step of a queue with shards is taken: at the shard that needs it.
import { expect, it } from '@jest/globals';
import { rowsOf } from '#dashboard/live/queue-rows.js';
import { verdictView } from '#dashboard/live/verdict-view.js';
import type { QueueView } from '#dashboard/views/views.js';
import { findingOf } from '#inspect/verdict.js';
import type { QueueSigns } from '#inspect/queue-signs.js';
import { shardNames } from '#queue/model/spread.js';
import { NO_STATS } from '../../support/queue/no-stats.js';

const AT = new Date('2026-01-01T12:00:00Z');
const NAMES = shardNames('ingest', 3);

function seen(name: string, died: number) {
  const signs: QueueSigns = {
    queue: name,
    stats: { ...NO_STATS, at: AT, workers: 1, maintainedAt: AT, failed: died },
    lastHour: { died, ended: 1_000 },
    diedLately: died,
  };
  const view = { name, verdict: verdictView(findingOf(signs)) } as QueueView;
  return { view, signs, shown: signs, history: { at: AT, points: [], total: undefined } };
}

it('leads to the dead letters of the shard that has the most', () => {
  const { queues } = rowsOf([seen(NAMES[0]!, 1), seen(NAMES[1]!, 50), seen(NAMES[2]!, 1)], []);
  expect(queues.map(({ name, verdict }) => [name, verdict])).toMatchObject([
    ['ingest', { queue: NAMES[1], remedyAt: { at: 'jobs', state: 'failed' } }],
  ]);
  expect(queues[0]!.verdict.sentence).toContain('52 died in the last hour');
});

it('shows neither the limits nor the pause of one shard as those of all', () => {
  const all = NAMES.map((name) => seen(name, 0));
  const alone = { limits: 'at most 7 run at once', limitsSet: { maxRunning: 7, source: 'set' }, pausedBy: 'ada' };
  Object.assign(all[0]!.view, alone);
  const [row] = rowsOf(all, []).queues;
  expect([row!.limits, row!.limitsSet, row!.pausedBy]).toEqual([null, null, undefined]);
});
