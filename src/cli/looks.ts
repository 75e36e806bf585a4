// Reads a queue once, for `stats`, `top` and `health`.
import type { ServerVerdict } from '../inspect/server-verdict.js';
import type { QueueSigns, QueueVerdict } from '../inspect/queue-signs.js';
import { SIGNS_HISTORY_MS, signsOf } from '../inspect/signs.js';
import { verdictOf } from '../inspect/verdict.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { HistoryPoint } from '../queue/model/history.js';
import type { Output } from './output.js';
import type { Session } from './session.js';
import { age, clipped, lines, type Part, text } from './text.js';

/** A queue at one moment. */
export interface Look {
  signs: QueueSigns;
  verdict: QueueVerdict;
  /** The figures of the last minutes; undefined if none are recorded. */
  recent: HistoryPoint | undefined;
}

const NO_QUEUES = 'There are no queues.';

/** Reads one queue, or all. */
export async function looksAt(session: Session, name?: string): Promise<Look[]> {
  const names = name === undefined ? await session.queueNames() : [(await session.known(name)).name];
  return Promise.all(names.map((each) => lookAt(session.queue(each))));
}

async function lookAt(queue: JobQueue): Promise<Look> {
  const [stats, limits, history, workers] = await Promise.all([
    queue.stats(),
    queue.limits.get(),
    queue.history.read({ lastMs: SIGNS_HISTORY_MS }),
    queue.workers(),
  ]);
  const signs = signsOf({ queue: queue.name, stats, limits, history, workers });
  return { signs, verdict: verdictOf(signs), recent: history.total };
}

/** All that a look brings, by the name of the queue. */
export function jsonOf(all: readonly Look[]): Record<string, unknown> {
  const entries = all.map(({ signs, verdict, recent }) => {
    const { stats, rates = null } = signs;
    const { queue, ...words } = verdict;
    return [queue, { ...stats, rates, wait: recent?.wait ?? null, run: recent?.run ?? null, verdict: words }];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}

/** A row for each queue. A terminal that is too narrow shows fewer columns. */
export function statsTable(all: readonly Look[], out: Output): Part {
  const head = ['', 'queue', 'waiting', 'oldest', 'running', 'in/s', 'out/s', 'wait p95', 'run p95', 'failed'];
  const more = ['dead', 'workers', 'scheduled', 'done'];
  const rows = all.map(({ signs, verdict, recent }) => {
    const { stats, rates } = signs;
    return [
      out.sign(verdict.severity),
      clipped(signs.queue, 40),
      stats.pending,
      stats.pending > 0 ? age(stats.oldestPendingAgeMs) : '–',
      stats.processing,
      figure(rates?.in),
      figure(rates?.out),
      age(recent?.wait.p95),
      age(recent?.run.p95),
      rates && rates.attempts > 0 ? `${(rates.failedShare * 100).toFixed(1)} %` : '–',
      stats.failed,
      stats.workers,
      stats.scheduled,
      stats.totals['completed'] ?? 0,
    ];
  });
  const layout = { whole: ['queue'], right: head.slice(3), dropped: [...more.toReversed(), 'running'] };
  return rows.length > 0 ? out.table([...head, ...more], rows, layout) : NO_QUEUES;
}

/** A rate with as many digits as say something. */
function figure(perSecond: number | undefined): string {
  return perSecond === undefined
    ? '–'
    : perSecond < 10
      ? String(Number(perSecond.toFixed(2)))
      : perSecond.toFixed(0);
}

export function verdictText(verdicts: readonly QueueVerdict[], out: Output): Part {
  if (verdicts.length === 0) {
    return NO_QUEUES;
  }
  const told = verdicts.flatMap(({ queue, severity, summary, cause, next }) => [
    text`${out.sign(severity)} ${clipped(queue, 60)}  ${clipped(summary, 400)}`,
    ...(cause === undefined ? [] : [text`    cause: ${clipped(cause, 400)}`]),
    ...(next === undefined ? [] : [text`    next:  ${clipped(next, 400)}`]),
  ]);
  return lines(told);
}

/** Says what keeps Redis from taking jobs; nothing where nothing does. */
export function serverText(server: ServerVerdict | undefined, out: Output): Part[] {
  if (!server || server.severity === 'ok') {
    return [];
  }
  const { severity, summary, next } = server;
  return [text`${out.sign(severity)} ${summary}`, ...(next === undefined ? [] : [text`    next:  ${next}`])];
}
