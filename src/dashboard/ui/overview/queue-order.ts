// Which queues the overview lists, and in which order.
import type { QueueView, QueueVerdictView } from '../../views/views.js';

/** A column by which the overview sorts. */
export type SortKey = 'name' | 'waiting' | 'oldest' | 'running' | 'in' | 'out' | 'wait' | 'run' | 'failed' | 'dead';

const FIGURES: Record<Exclude<SortKey, 'name'>, (queue: QueueView) => number> = {
  waiting: ({ depths }) => depths.pending,
  oldest: ({ depths, oldestPendingAgeMs }) => (depths.pending > 0 ? oldestPendingAgeMs : -1),
  running: ({ depths }) => depths.processing,
  in: ({ rates }) => rates?.inPerS ?? -1,
  out: ({ rates }) => rates?.outPerS ?? -1,
  wait: ({ lastHour }) => lastHour?.waitMs.p95 ?? -1,
  run: ({ lastHour }) => lastHour?.runMs.p95 ?? -1,
  failed: ({ lastHour }) => lastHour?.failureRate ?? -1,
  dead: ({ depths }) => depths.failed,
};

/** The chip of all queues that need a look. */
export const NEEDS_A_LOOK = 'needs a look';

function isTroubled({ verdict }: QueueVerdictView): boolean {
  return verdict.severity === 'critical' || verdict.severity === 'warning';
}

/** The states of queues that work. Their chip would leave out most of them, which need no notice. */
const WORKING: readonly string[] = ['idle', 'flowing'];

/** Returns the text of a chip. */
export function chipWords(chip: string): string {
  return chip.replaceAll('-', ' ');
}

/** Returns the chips with the number of their queues: a chip for each state of trouble, and the chosen one. */
export function chipsOf(
  queues: readonly QueueVerdictView[],
  chosen: string | null = null,
): [chip: string, count: number][] {
  const counts = new Map<string, number>();
  const troubled = queues.filter(isTroubled).length;
  if (troubled > 1) {
    counts.set(NEEDS_A_LOOK, troubled);
  }
  const add = (chip: string) => counts.set(chip, (counts.get(chip) ?? 0) + 1);
  for (const { verdict } of queues) {
    const { severity, state } = verdict;
    if (severity !== 'ok' && state !== undefined && !WORKING.includes(state)) {
      add(state);
    }
  }
  if (chosen !== null && !counts.has(chosen)) {
    counts.set(chosen, selected(queues, '', chosen).length);
  }
  return [...counts];
}

/** Returns the queues with this text in their names that the chip is for. */
export function selected<Queue extends QueueVerdictView>(
  queues: readonly Queue[],
  text: string,
  chip: string | null,
): Queue[] {
  const part = text.trim().toLowerCase();
  return queues.filter(
    (queue) =>
      queue.name.toLowerCase().includes(part) &&
      (chip === null || (chip === NEEDS_A_LOOK ? isTroubled(queue) : queue.verdict.state === chip)),
  );
}

/** Returns the queues by a column, the largest figure first, or by name. Equal ones keep the order of the worst first. */
export function sorted(queues: readonly QueueView[], key: string | null): QueueView[] {
  if (key === 'name') {
    return queues.toSorted((a, b) => a.name.localeCompare(b.name));
  }
  const known = key !== null && Object.hasOwn(FIGURES, key);
  const figure = known ? FIGURES[key as keyof typeof FIGURES] : undefined;
  return figure ? queues.toSorted((a, b) => figure(b) - figure(a)) : [...queues];
}

/** Returns the queues in an order of names, so that rows stand still. New ones come last. */
export function inOrder(queues: readonly QueueView[], names: readonly string[]): QueueView[] {
  const place = (name: string) => (names.includes(name) ? names.indexOf(name) : names.length);
  return queues.toSorted((a, b) => place(a.name) - place(b.name));
}
