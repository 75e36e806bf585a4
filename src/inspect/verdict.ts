import {
  behind,
  draining,
  dropped,
  dying,
  failing,
  flowing,
  idle,
  late,
  remembering,
  silentWorkers,
  slow,
} from './flow-rules.js';
import { full, givesNothing, heldByGroups, paused, rateLimited, resting } from './limit-rules.js';
import { costsMoreThanBurst, heldByKeys, heldBySharedLimit } from './shared-limit-rules.js';
import type { QueueSigns, QueueVerdict, Severity } from './queue-signs.js';
import { isOverdue, LONG_WAIT_MS, type Finding, type Rule } from './rule.js';
import { hangingSchedule, unrunSchedule } from './schedules/schedule-rules.js';
import {
  crashing,
  expired,
  maintained,
  noWorker,
  someStuck,
  stuckHandlers,
  takesNothing,
  unserved,
  waitsForNothing,
} from './stuck-rules.js';

const ORDER: readonly Severity[] = ['ok', 'notice', 'warning', 'critical'];

/**
 * The first of several rules with the same severity decides, because it is nearest to the cause. Handlers that do not end
 * come first: soon nothing runs, and other rules would name a wrong cause.
 */
export const RULES: readonly Rule[] = [
  stuckHandlers,
  paused,
  noWorker,
  unserved,
  givesNothing,
  takesNothing,
  expired,
  crashing,
  failing,
  silentWorkers,
  heldBySharedLimit,
  resting,
  rateLimited,
  full,
  heldByKeys,
  heldByGroups,
  unrunSchedule,
  hangingSchedule,
  behind,
  slow,
  late,
  maintained,
  someStuck,
  costsMoreThanBurst,
  draining,
  dying,
  waitsForNothing,
  dropped,
  remembering,
  flowing,
];

/** The rules that say why waiting jobs are not taken. */
const HOLDING: readonly Rule[] = [
  stuckHandlers,
  paused,
  noWorker,
  givesNothing,
  takesNothing,
  heldBySharedLimit,
  resting,
  rateLimited,
  full,
  heldByKeys,
  heldByGroups,
  behind,
  slow,
  late,
];

/**
 * Returns in words whether work flows through a queue, why not, and the next step. Health, CLI and dashboard use it. The
 * worst finding decides.
 *
 * @example
 * verdictOf({ queue: 'email', stats: await queue.stats() }).summary; // "flowing: 12 waiting, the oldest for 0.2 s"
 */
export function verdictOf(signs: QueueSigns): QueueVerdict {
  const { remedy: _ofDashboard, ...verdict } = findingOf(signs);
  return verdict;
}

/** Returns the verdict on a queue, with the place where its next step is taken. */
export function findingOf(signs: QueueSigns): Finding & { queue: string } {
  let worst: Finding | undefined;
  for (const rule of RULES) {
    const found = rule(signs);
    if (found && (!worst || rank(found) > rank(worst))) {
      worst = found;
    }
  }
  return { queue: signs.queue, ...(worst ?? idle(signs)) };
}

/** Returns what keeps the waiting jobs of a queue from being taken; undefined for nothing. */
export function holdingBack(signs: QueueSigns): Finding | undefined {
  for (const rule of HOLDING) {
    const found = rule(signs);
    if (found) {
      return found;
    }
  }
  return undefined;
}

function rank({ severity }: Pick<QueueVerdict, 'severity'>): number {
  return ORDER.indexOf(severity);
}

/** A queue as far as its place among others depends on it. */
export interface RankedQueue {
  name: string;
  verdict: { severity: Severity; state?: string };
  /** True if the app does not know it. */
  isOther?: boolean;
  /** The jobs that died or are late, see {@link harmOf}. Absent: unknown. */
  harm?: number;
}

/** The states that somebody wants: a pause and a limit. They come after all others of the same severity. */
const WANTED: readonly (string | undefined)[] = ['paused', 'limited'];

/**
 * Compares two queues, the worse first: by severity, then by harm, then by name. Dashboard, command line and `top` have
 * this order. Harm counts in coarse steps, so that rows stand still while figures change.
 */
export function worstFirst(a: RankedQueue, b: RankedQueue): number {
  return (
    rank(b.verdict) - rank(a.verdict) ||
    Number(WANTED.includes(a.verdict.state)) - Number(WANTED.includes(b.verdict.state)) ||
    Number(a.isOther ?? false) - Number(b.isOther ?? false) ||
    stepOf(b) - stepOf(a) ||
    a.name.localeCompare(b.name)
  );
}

function stepOf({ verdict, harm = 0 }: RankedQueue): number {
  return verdict.severity === 'ok' ? 0 : Math.floor(Math.log2(1 + harm) / 1.5);
}

/** Returns the jobs that died in the last ten minutes, and those that wait for too long now. */
export function harmOf(signs: QueueSigns): number {
  const { stats, diedLately = 0 } = signs;
  const waiting = isOverdue(signs, LONG_WAIT_MS) ? stats.pending - (stats.heldByGroups ?? 0) : 0;
  return Math.min(diedLately, stats.failed) + Math.max(0, waiting);
}

/** Returns the worst of some verdicts; `ok` of none. */
export function worstOf(verdicts: readonly Pick<QueueVerdict, 'severity'>[]): Severity {
  return ORDER[Math.max(0, ...verdicts.map(rank))]!;
}
