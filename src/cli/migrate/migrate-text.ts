// What a move shows: its plan, and a report for a ticket.
import type { Source, SourceSettings } from '../../migrate/bullmq-source.js';
import { type MoveReport, totalOf } from '../../migrate/move-report.js';
import { priorityOf, type MoveRules } from '../../migrate/move-rules.js';
import type { MovePlan } from '../../migrate/plan.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { count, duration } from '../../inspect/words.js';
import { instant, joined, lines, text, type Text } from '../text.js';
import { figures, leftRows, row } from './queue-text.js';

/** The library whose failed jobs stay there. */
const BEE = 'bee-queue';

/** Returns the library that wrote a queue, with its version. */
export function sourceName({ era, version }: SourceSettings): string {
  return (
    version?.replace('bullmq:', 'BullMQ ') ?? { bull: 'Bull', bullmq5: 'BullMQ', bullmq6: 'BullMQ', bee: BEE }[era]
  );
}

function dropped(record: Record<string, number>): Text[] {
  return Object.keys(record).length === 0 ? [] : [row('dropped options', figures(record))];
}

/** Returns what a move would do. */
export function planText(
  plan: MovePlan,
  { source, queue, rules }: { source: Source; queue: JobQueue; rules: MoveRules },
): Text {
  const { settings } = plan;
  const moving = plan.schedulers.filter(({ reason }) => reason === undefined);
  return lines([
    text`${source.prefix}:${source.queue} (${sourceName(settings)}) → ${queue.name}`,
    row('there', figures(plan.counts)),
    row('to move', figures(plan.movable)),
    row('names', figures(plan.names)),
    ...priorityRows(plan, rules),
    ...moving.map(({ id, nextAt }) => row('schedule', text`${id}, next at ${nextAt} there and here`)),
    ...(settings.isPaused ? [row('pause', 'the queue here is paused, too')] : []),
    ...(settings.concurrency === undefined ? [] : [row('limit', text`maxRunning ${settings.concurrency}`)]),
    ...(settings.rate
      ? [row('limit', text`${settings.rate.max} starts in ${settings.rate.duration} ms, spread evenly here`)]
      : []),
    ...dropped(plan.dropped),
    ...leftRows('stays there', plan.left),
  ]);
}

/** Shows the map of priorities where jobs with and without one wait. */
function priorityRows(_plan: MovePlan, rules: MoveRules): Text[] {
  const { priorities } = rules;
  if (priorities.kind === 'none') {
    return [];
  }
  const olds = priorities.kind === 'below' ? [0, 1, 10, 100, ...priorities.named.keys()] : [1, 10, 100];
  const shown = [...new Set(olds)].map((old) => text`${old === 0 ? 'none' : old} → ${priorityOf(rules, old)}`);
  return [row('priorities', joined(shown, ', '))];
}

/** Returns what a move did. */
export function reportText(
  report: MoveReport,
  { place, tookMs, at }: { place: string; tookMs: number; at: number },
): Text {
  const { moved, deduplicated, deleted, schedules, settings, left, remaining, unhandled } = report;
  const total = totalOf(moved);
  return lines([
    text`Moved ${report.from} (${report.source}) to the queue ${report.to} at ${place}`,
    row('when', text`${instant(new Date(at))}, in ${duration(tookMs)}`),
    row('moved', text`${count(total)} jobs: ${figures(moved)}`),
    ...(deduplicated > 0 ? [row('deduplicated', count(deduplicated))] : []),
    ...(deleted > 0 ? [row('deleted there', count(deleted))] : []),
    ...(schedules.length > 0 ? [row('schedules', joined(schedules, ', '))] : []),
    ...(settings.length > 0 ? [row('set here', joined(settings, '; '))] : []),
    ...dropped(report.dropped),
    ...leftRows('stays there', left),
    row('still there', figures(remaining)),
    ...(unhandled.length > 0 ? [row('no worker here', joined(unhandled, ', '))] : []),
    row('next', nextStep(report)),
  ]);
}

const WAITING = ['wait', 'paused', 'prioritized', 'delayed', 'active', 'waiting-children', 'transit'];

function nextStep({ left, remaining, source }: MoveReport): string {
  const waiting = WAITING.reduce((sum, state) => sum + (remaining[state] ?? 0), 0);
  if (waiting > 0 || left.length > 0) {
    return 'keep the old workers running, and run this again';
  }
  if ((remaining['failed'] ?? 0) === 0) {
    return 'stop the old workers';
  }
  return source === BEE
    ? 'retry failed jobs there if they must run, and run this again; then stop the old workers'
    : 'stop the old workers, and decide about the failed jobs there (--failed moves them)';
}
