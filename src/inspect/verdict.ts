import { behind, dropped, dying, failing, flowing, idle, slow } from './flow-rules.js';
import { full, heldByGroups, paused, rateLimited, resting } from './limit-rules.js';
import type { QueueSigns, QueueVerdict, Severity } from './queue-signs.js';
import { type Finding, type Rule } from './rule.js';
import {
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
  takesNothing,
  expired,
  failing,
  resting,
  rateLimited,
  full,
  heldByGroups,
  behind,
  slow,
  maintained,
  someStuck,
  dying,
  waitsForNothing,
  dropped,
  flowing,
];

/** The rules that say why waiting jobs are not taken. */
const HOLDING: readonly Rule[] = [
  stuckHandlers,
  paused,
  noWorker,
  takesNothing,
  resting,
  rateLimited,
  full,
  heldByGroups,
  behind,
  slow,
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

/** Sorts verdicts, the worst first. */
export function worstFirst(a: Pick<QueueVerdict, 'severity'>, b: Pick<QueueVerdict, 'severity'>): number {
  return rank(b) - rank(a);
}

/** Returns the worst of some verdicts; `ok` of none. */
export function worstOf(verdicts: readonly Pick<QueueVerdict, 'severity'>[]): Severity {
  return ORDER[Math.max(0, ...verdicts.map(rank))]!;
}
