// Checks the effect of operators' calls: a paused queue hands out no job, and the doctor's audits finish.
import type { Facts } from '../histories/facts.js';
import type { Effect } from '../histories/operations.js';

/** The fewest audits of a run. In a run of a few seconds the first may be cut short. */
const FEWEST_AUDITS = 3;

export function uncontrolled(facts: Facts): string[] {
  const { begunPaused, audits } = facts.operations;
  return [
    ...begunPaused.map((what) => `paused: ${what}, which was made while the queue was paused`),
    ...facts.operations.effects.filter((effect) => isCalm(effect, facts) && !lasts(effect)).map(inWords),
    ...(audits.answered === 0 && audits.asked >= FEWEST_AUDITS
      ? [`doctor: none of ${audits.asked} audits beside the traffic came to an end`]
      : []),
  ];
}

/** Returns whether nothing broke since the previous call. A repeated call may arrive late and undo a later one. */
function isCalm({ fromMs, look }: Effect, facts: Facts): boolean {
  if (facts.mayForget(fromMs, look.notedMs)) return false;
  return !facts.remarks.faults.some(({ beganMs, healedMs }) => healedMs >= fromMs && beganMs <= look.notedMs);
}

function lasts({ control, schedule, look }: Effect): boolean {
  const seen = look.schedules[schedule];
  switch (control) {
    case 'pause':
      return look.pausedAtMs > 0;
    case 'resume':
      return look.pausedAtMs === 0;
    case 'pause-schedule':
      return seen !== undefined && seen.pausedAtMs > 0 && seen.dueMs === 0;
    case 'resume-schedule':
      return seen?.pausedAtMs === 0 && seen.dueMs > 0;
    case 'remove-schedule':
      return seen === undefined;
    default:
      return seen !== undefined;
  }
}

function inWords({ control, schedule, look }: Effect): string {
  const seen = schedule === '' ? { pausedAtMs: look.pausedAtMs } : look.schedules[schedule];
  const what = schedule === '' ? 'the queue' : `the schedule ${schedule}`;
  return `operator: ${control} of ${what} was answered, and then it was ${JSON.stringify(seen ?? 'gone')}`;
}
