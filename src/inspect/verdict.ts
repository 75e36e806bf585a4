import { behind, failing, flowing, slow } from './flow-rules.js';
import { full, heldByGroups, paused, rateLimited, resting } from './limit-rules.js';
import type { QueueSigns, QueueVerdict, Severity } from './queue-signs.js';
import { deadLetters, type Finding, type Rule } from './rule.js';
import { expired, maintained, nobody, stuckHandlers, takesNothing, unserved } from './stuck-rules.js';

const ORDER: readonly Severity[] = ['ok', 'notice', 'warning', 'critical'];

/** Of rules that find the same severity the first decides: it is nearest to the cause. */
const RULES: readonly Rule[] = [
  paused,
  nobody,
  unserved,
  takesNothing,
  stuckHandlers,
  expired,
  failing,
  resting,
  rateLimited,
  full,
  heldByGroups,
  behind,
  slow,
  maintained,
  flowing,
];

/** The rules that say why waiting jobs are not taken. */
const HOLDING: readonly Rule[] = [
  paused,
  nobody,
  takesNothing,
  stuckHandlers,
  resting,
  rateLimited,
  full,
  heldByGroups,
  behind,
  slow,
];

/**
 * Says in words whether work flows through a queue, why not, and what to do. Health, CLI and dashboard all use it.
 * The worst finding decides, so that none hides a worse one.
 *
 * @example
 * verdictOf({ queue: 'email', stats: await queue.stats() }).summary; // "flowing: 12 waiting, the oldest for 0.2 s"
 */
export function verdictOf(signs: QueueSigns): QueueVerdict {
  const idle: Finding = { severity: 'ok', state: 'idle', summary: `idle: nothing waits${deadLetters(signs)}` };
  let worst: Finding | undefined;
  for (const rule of RULES) {
    const found = rule(signs);
    if (found && (!worst || rank(found) > rank(worst))) {
      worst = found;
    }
  }
  return { queue: signs.queue, ...(worst ?? idle) };
}

/** What keeps the waiting jobs of a queue from being taken; undefined where nothing does. */
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

/** The worst of some verdicts; `ok` of none. */
export function worstOf(verdicts: readonly Pick<QueueVerdict, 'severity'>[]): Severity {
  return ORDER[Math.max(0, ...verdicts.map(rank))]!;
}
