// What a move of a queue shows: its plan with the order to deploy, and a report.
import { type Left, type MoveReport, totalOf } from '../../migrate/move-report.js';
import type { QueuePlan } from '../../migrate/queue/queue-plan.js';
import { count, duration } from '../../inspect/words.js';
import { instant, joined, lines, padded, type Part, text, type Text } from '../text.js';

const WIDTH = 16;

/** The order in which to deploy. docs/moving.md says why. */
const ORDER = [
  'run this with --follow: the workers here finish their jobs, and start no more',
  'deploy the app with the new address, workers first, then producers',
  'when this command ends, nothing is left here: stop the old processes',
];

/** Returns a line of a plan or a report. */
export function row(head: string, part: Part): Text {
  return text`${padded(head, WIDTH)}${part}`;
}

/** Returns the counts that are not 0, in words. */
export function figures(record: Record<string, number>): Text {
  const shown = Object.entries(record).filter(([, value]) => value > 0);
  return shown.length === 0 ? text`none` : joined(shown.map(([name, value]) => text`${count(value)} ${name}`), ', '); // prettier-ignore
}

/** Returns a line for each reason why something stays. */
export function leftRows(head: string, left: readonly Left[]): Text[] {
  return left.map(({ what, reason, count: found, ids }) => {
    const [plural, more] = [found === 1 ? '' : what === 'batch' ? 'es' : 's', found > ids.length ? ', …' : ''];
    return row(head, text`${count(found)} ${what}${plural}: ${reason} (${joined(ids, ', ')}${more})`);
  });
}

/** Returns what a move would do. */
export function queuePlanText(
  plan: QueuePlan,
  { from, to }: { from: string; to: string },
  notes: readonly string[],
): Text {
  return lines([
    text`${from} → ${to}`,
    row('to move', figures(plan.counts)),
    row('to copy', figures(plan.ended)),
    ...(plan.batches > 0 ? [row('batches', count(plan.batches))] : []),
    ...(plan.groups > 0 ? [row('groups', count(plan.groups))] : []),
    ...(plan.schedules.length > 0 ? [row('schedules', joined(plan.schedules, ', '))] : []),
    ...(plan.isPaused ? [row('pause', 'the queue there is paused, too')] : []),
    row(
      'not moved',
      'counters, figures of minutes, audit trail, action log, outcomes, records of ended batches, what was set on limits',
    ),
    ...leftRows('cannot move', plan.related),
    ...notes.map((note) => row('note', note)),
    ...ORDER.map((step, i) => row(i === 0 ? 'order' : '', text`${i + 1}. ${step}`)),
  ]);
}

/** Returns what a move did. */
export function queueReportText(
  report: MoveReport,
  { copied, tookMs, at }: { copied: number; tookMs: number; at: number },
): Text {
  const { moved, schedules, settings, left, remaining, unhandled } = report;
  const total = totalOf(moved);
  return lines([
    text`Moved ${report.from} to ${report.to}`,
    row('when', text`${instant(new Date(at))}, in ${duration(tookMs)}`),
    row('moved', text`${count(total)}: ${figures(moved)}`),
    row('copied', text`${count(copied)} ended jobs`),
    ...(schedules.length > 0 ? [row('schedules', joined(schedules, ', '))] : []),
    ...(settings.length > 0 ? [row('set', joined(settings, '; '))] : []),
    ...leftRows('stays there', left),
    row('still there', figures(remaining)),
    ...(unhandled.length > 0 ? [row('no worker there', joined(unhandled, ', '))] : []),
    row('next', nextStep(report)),
  ]);
}

function nextStep({ remaining, left }: MoveReport): string {
  const { running = 0, ...waiting } = remaining;
  if (running > 0) {
    return 'jobs still run here: run this again, with --follow to wait for them';
  }
  const isEmpty = Object.values(waiting).every((each) => each === 0) && left.length === 0;
  return isEmpty
    ? 'deploy the new address if it is not out yet, then stop the old processes'
    : 'see what stays, and run this again';
}
