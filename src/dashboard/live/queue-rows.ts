// The rows of the overview. The shards of a queue are one row.
import { isDeepStrictEqual } from 'node:util';
import { asCommand, capitalised } from '../../inspect/words.js';
import { joinFindings, joinHistory, joinSigns } from '../../inspect/join-shards.js';
import type { QueueSigns, QueueVerdict } from '../../inspect/queue-signs.js';
import { drainWords } from '../../inspect/rule.js';
import { findingOf, harmOf, worstFirst } from '../../inspect/verdict.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import { groupBy } from '../../queue/runtime/collections.js';
import type { QueueVerdictView, VerdictView, OverviewView, QueueView } from '../views/views.js';
import { lastHourOf, type HourReport } from './history-cache.js';
import { verdictView } from './verdict-view.js';

/** The figures of a row, by what was read. Shards have theirs together. */
export type QueueFigures = Omit<QueueView, 'verdict' | 'limits' | 'limitsSet'>;

/** A queue that a viewer may see, or a shard. */
interface SeenQueue {
  view: QueueView;
  /** All that was read. */
  signs: QueueSigns;
  /** What the viewer may see of it. */
  shown: QueueSigns;
  history: HourReport;
}

/** Returns the figures of a queue, or of all shards of one. */
export function figuresOf(signs: QueueSigns, history: HourReport): QueueFigures {
  const { queue: name, stats, pace = null } = signs;
  const { pending, scheduled, processing, completed, failed, cancelled } = stats;
  return {
    name,
    depths: { pending, scheduled, processing, completed, failed, cancelled },
    parked: stats.parked ?? 0,
    oldestPendingAgeMs: stats.oldestPendingAgeMs,
    drains: drainWords(signs) ?? null,
    expiredClaims: stats.expiredClaims,
    workers: stats.workers,
    pausedAt: stats.pausedAt?.getTime() ?? null,
    pausedUntil: stats.pausedUntil?.getTime() ?? null,
    ...(stats.pausedBy !== undefined && { pausedBy: stats.pausedBy }),
    ...(stats.pauseReason !== undefined && { pauseReason: stats.pauseReason }),
    totals: stats.totals,
    rates: pace,
    ...lastHourOf(history, stats),
  };
}

/** A queue that could not be read, or a shard. */
export interface UnreadQueue {
  name: string;
  verdict: QueueVerdict;
  /** True for a queue that the app does not know. */
  isOther?: true;
}

/** Returns the rows of the queues, the worst first, and the shards that are behind some of them. */
export function rowsOf(
  seen: readonly SeenQueue[],
  unreadable: readonly UnreadQueue[],
): Pick<OverviewView, 'queues' | 'unreadable' | 'shards'> {
  const all: Row[] = [
    ...seen.map((each) => ({ ...each.view, view: each.view, harm: harmOf(each.signs), seen: each })),
    ...unreadable.map((unread) => {
      const view: QueueVerdictView = { ...unread, verdict: verdictView(unread.verdict) };
      return { ...view, view, unread: unread.verdict };
    }),
  ];
  const groups = [...groupBy(all, ({ name }) => wholeOfShard(name))].map(([name, rows]) => ({ name, rows }));
  const joined = groups.map(({ name, rows }) => (rows.length === 1 ? rows[0]! : joinRows(name, rows)));
  const views = joined.toSorted(worstFirst).map(({ view }) => view);
  const shards = groups.flatMap(({ rows }) => (rows.length === 1 ? [] : rows.map(({ view }) => view)));
  return { queues: views.filter(isRead), unreadable: views.filter((view) => !isRead(view)), shards };
}

/** A row with its place among others. One that could not be read has no figures. */
interface Row extends QueueVerdictView {
  view: QueueView | QueueVerdictView;
  harm?: number;
  seen?: SeenQueue;
  unread?: QueueVerdict;
}

function joinRows(name: string, rows: readonly Row[]): Row {
  const read = rows.flatMap(({ seen }) => seen ?? []);
  const row: QueueVerdictView = {
    name,
    verdict: verdictOfAll(name, rows),
    ...(rows.every(({ isOther }) => isOther) && { isOther: true }),
    shards: rows.toSorted(worstFirst).map((shard) => shard.name),
  };
  if (read.length === 0) {
    return { ...row, view: row };
  }
  const signs = joinSigns(
    name,
    read.map((each) => each.signs),
  );
  const [{ view, history }] = read as [SeenQueue];
  const hour: HourReport = {
    at: history.at,
    points: read.flatMap((each) => each.history.points),
    total: joinHistory(read.map((each) => each.history.total)),
  };
  const { pausedBy: _by, pauseReason: _reason, ...others } = view;
  const limits = read.every((each) => isDeepStrictEqual(each.view.limitsSet, view.limitsSet))
    ? {}
    : { limits: null, limitsSet: null }; // those of one shard are not those of all
  return { ...row, harm: harmOf(signs), view: { ...others, ...limits, ...figuresOf(signs, hour), ...row } };
}

/** Returns the verdict on all shards of a queue. Its link leads to the shard that needs the next step. */
function verdictOfAll(name: string, rows: readonly Row[]): VerdictView {
  const known = rows.map(({ seen, unread }) =>
    seen ? { verdict: findingOf(seen.shown), signs: seen.shown } : { verdict: unread! },
  );
  const { finding, shard } = joinFindings(name, known, (each) => `\`${each}\``);
  if (shard !== undefined) {
    return { ...verdictView({ ...finding, queue: shard }), sentence: `${capitalised(finding.summary)}.` };
  }
  const verdict = verdictView(finding);
  const at = verdict.remedyAt;
  if (at?.at === 'resume') {
    // A button would resume the shard of this name alone.
    return { ...verdict, remedyAt: { at: 'command', command: asCommand('resume', name) } };
  }
  const place = at && rows.toSorted(worstFirst).find((row) => isDeepStrictEqual(row.verdict.remedyAt, at));
  return place ? { ...verdict, queue: place.name } : verdict;
}

function isRead(view: QueueView | QueueVerdictView): view is QueueView {
  return 'depths' in view;
}
