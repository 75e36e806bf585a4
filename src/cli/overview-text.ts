// Shows an overview, for `stats`, `top` and `health`.
import type { QueueVerdict } from '../inspect/queue-signs.js';
import type { ServerVerdict } from '../inspect/server-verdict.js';
import { markInWords } from '../inspect/words.js';
import type { HistoryMark } from '../queue/model/history.js';
import type { Overview, QueueOverview } from './overview.js';
import type { Output } from './output.js';
import { age, ago, clipped, lines, type Part, text } from './text.js';

const HEAD = ['', 'queue', 'waiting', 'oldest', 'running', 'in/s', 'out/s', 'wait p95', 'run p95', 'failed'];
const MORE = ['dead', 'workers', 'scheduled', 'done'];
const ALL = [...HEAD, ...MORE];
const LAYOUT = {
  whole: ['queue'],
  right: ALL.slice(2),
  dropped: [...MORE.toReversed(), 'running'],
  droppedLast: ['run p95', 'wait p95', 'out/s', 'in/s'],
};
const UNKNOWN = '–';
const MOST_MARKS = 5;

/** Returns the overview as JSON, with the queues by name. */
export function jsonOf({ server, queues }: Overview): object {
  return { server: server ?? null, queues: Object.fromEntries(queues.map(entryOf)) as object };
}

function entryOf({ verdict, figures }: QueueOverview): [name: string, entry: object] {
  const { queue, ...words } = verdict;
  if (!figures) {
    return [queue, { verdict: words }];
  }
  const { signs, recent, marks } = figures;
  const { stats, rates = null } = signs;
  const durations = { wait: recent?.wait ?? null, run: recent?.run ?? null };
  return [queue, { ...stats, rates, ...durations, marks, verdict: words }];
}

/**
 * Shows what is wrong with Redis, a row for each queue, and the verdicts that are asked for. Of a single queue it shows
 * deploys and outages too. A terminal that is too narrow shows fewer columns.
 *
 * @param isShown whether the verdict on a queue is shown below the table
 */
export function overviewText(
  overview: Overview,
  none: string,
  out: Output,
  isShown: (queue: QueueOverview) => boolean,
): Part {
  const { server, queues } = overview;
  const shown = queues.filter(isShown).map(({ verdict }) => verdict);
  const ofServer = serverText(server, out);
  return lines([
    ...ofServer,
    ...(ofServer.length > 0 ? [''] : []),
    queues.length > 0
      ? out.table(
          ALL,
          queues.map((each) => rowOf(each, out)),
          LAYOUT,
        )
      : none,
    ...(queues.length === 1 ? markLines(queues[0]!.figures?.marks ?? []) : []),
    ...(shown.length > 0 ? ['', ...verdictText(shown, out)] : []),
  ]);
}

function rowOf({ verdict, figures }: QueueOverview, out: Output): Part[] {
  const first = [out.sign(verdict.severity), clipped(verdict.queue, 40)];
  if (!figures) {
    return [...first, ...ALL.slice(first.length).map(() => UNKNOWN)];
  }
  const { signs, recent } = figures;
  const { stats, rates } = signs;
  return [
    ...first,
    stats.pending,
    stats.pending > 0 ? age(stats.oldestPendingAgeMs) : UNKNOWN,
    stats.processing,
    figure(rates?.in),
    figure(rates?.out),
    age(recent?.wait.p95),
    age(recent?.run.p95),
    rates && rates.attempts > 0 ? `${(rates.failedShare * 100).toFixed(1)} %` : UNKNOWN,
    stats.failed,
    stats.workers,
    stats.scheduled,
    stats.totals['completed'] ?? 0,
  ];
}

/** Returns a line for each of the last deploys and outages, the newest first. */
function markLines(marks: readonly HistoryMark[]): Part[] {
  return marks
    .toSorted((a, b) => b.at.getTime() - a.at.getTime())
    .slice(0, MOST_MARKS)
    .map((mark) => {
      const { kind, at, endedAt } = mark;
      const lasted = endedAt ? ` for ${age(endedAt.getTime() - at.getTime())}` : '';
      return text`  ${kind}  ${clipped(markInWords(mark), 60)}${lasted}, ${ago(at)}`;
    });
}

/** A rate with as many digits as say something. */
function figure(perSecond: number | undefined): string {
  return perSecond === undefined
    ? UNKNOWN
    : perSecond < 10
      ? String(Number(perSecond.toFixed(2)))
      : perSecond.toFixed(0);
}

/** Returns the verdict on each queue, with its cause and the next step. */
export function verdictText(verdicts: readonly QueueVerdict[], out: Output): Part[] {
  return verdicts.flatMap(({ queue, severity, summary, cause, next }) => [
    text`${out.sign(severity)} ${clipped(queue, 60)}  ${clipped(summary, 400)}`,
    ...(cause === undefined ? [] : [text`    cause: ${clipped(cause, 400)}`]),
    ...(next === undefined ? [] : [text`    next:  ${clipped(next, 400)}`]),
  ]);
}

/** Returns what keeps Redis from taking jobs, or nothing if it takes them. */
export function serverText(server: ServerVerdict | undefined, out: Output): Part[] {
  if (!server || server.severity === 'ok') {
    return [];
  }
  const { severity, summary, next } = server;
  return [text`${out.sign(severity)} ${summary}`, ...(next === undefined ? [] : [text`    next:  ${next}`])];
}
