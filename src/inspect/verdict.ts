import type { QueueSigns, QueueVerdict, Severity } from './queue-signs.js';
import { isOld, LONG_WAIT_MS, PATIENCE_MS, type Rule, waits } from './rule.js';
import { expired, maintained, nobody, slow, stuckHandlers, unserved } from './stuck-rules.js';
import { count, duration, rate } from './words.js';

/** A share of failed attempts from which on the queue is called failing. */
const FAILING_SHARE = 0.5;
/** Fewer attempts than this in the window are no basis for a share. */
const FEWEST_ATTEMPTS = 10;

/**
 * Says in words whether work flows through a queue, why not, and what to do. Health, CLI and dashboard all use it.
 * The first rule that fits decides, so the worst comes first.
 *
 * @example
 * verdictOf({ queue: 'email', stats: await queue.stats() }).summary; // "flowing: 12 waiting, the oldest for 0.2 s"
 */
export function verdictOf(signs: QueueSigns): QueueVerdict {
  for (const rule of RULES) {
    const verdict = rule(signs);
    if (verdict) {
      return { queue: signs.queue, ...verdict };
    }
  }
  return { queue: signs.queue, severity: 'ok', state: 'idle', summary: `idle: nothing waits${deadLetters(signs)}` };
}

const RULES: readonly Rule[] = [
  paused,
  nobody,
  unserved,
  expired,
  limited,
  heldByGroups,
  stuckHandlers,
  failing,
  behind,
  slow,
  maintained,
  flowing,
];

function deadLetters({ stats }: QueueSigns): string {
  return stats.failed > 0 ? `, ${count(stats.failed)} dead ${stats.failed === 1 ? 'letter' : 'letters'}` : '';
}

function paused({ queue, stats, at = new Date() }: QueueSigns): ReturnType<Rule> {
  if (!stats.pausedAt) {
    return undefined;
  }
  const since = duration(at.getTime() - stats.pausedAt.getTime());
  return {
    severity: stats.pending > 0 ? 'warning' : 'notice',
    state: 'paused',
    summary: `paused for ${since}: ${count(stats.pending)} waiting`,
    cause: `somebody paused the queue at ${stats.pausedAt.toISOString()}`,
    next: `resume \`${queue}\` when its jobs may run again`,
  };
}

function limited(signs: QueueSigns): ReturnType<Rule> {
  const { stats, limitedUntil, maxRunning, at = new Date() } = signs;
  if (stats.pending === 0) {
    return undefined;
  }
  if (limitedUntil && limitedUntil > at) {
    return {
      severity: 'notice',
      state: 'limited',
      summary: `rate limit: ${count(stats.pending)} wait until ${limitedUntil.toISOString()}`,
      cause: 'the queue has used up its rate limit',
      next: 'raise the limit if this is too slow',
    };
  }
  if (maxRunning !== undefined && stats.processing >= maxRunning && isOld(signs, PATIENCE_MS)) {
    return {
      severity: 'notice',
      state: 'limited',
      summary: `limited: ${count(stats.processing)} run, as many as may; ${waits(signs)}`,
      cause: `maxRunning is ${count(maxRunning)}`,
      next: 'raise maxRunning if this is too slow',
    };
  }
  return undefined;
}

function heldByGroups(signs: QueueSigns): ReturnType<Rule> {
  const { heldByGroups: held = 0, pending, processing } = signs.stats;
  if (held === 0 || held < pending || !isOld(signs, PATIENCE_MS)) {
    return undefined;
  }
  const running = processing > 0 ? `, ${count(processing)} running` : '';
  return {
    severity: 'notice',
    state: 'limited',
    summary: `limited: ${waits(signs)} in groups that may start none now${running}`,
    cause: 'each of their groups is paused, waits for a job of its own, or is at its limit',
    next: 'look at the groups whose jobs wait longest',
  };
}

function failing(signs: QueueSigns): ReturnType<Rule> {
  const { rates, stats } = signs;
  if (!rates || rates.failedShare < FAILING_SHARE || rates.attempts < FEWEST_ATTEMPTS) {
    return undefined;
  }
  const share = `${Math.round(rates.failedShare * 100)} %`;
  return {
    severity: 'warning',
    state: 'failing',
    summary: `failing: ${share} of the attempts of the last ${duration(rates.windowMs)} failed${deadLetters(signs)}`,
    cause: 'the handler throws, or a service behind it is down',
    next:
      stats.failed > 0
        ? 'read the errors of the dead letters, mend the cause, then redrive them'
        : 'read the errors of the scheduled jobs, which are tried again',
  };
}

function behind(signs: QueueSigns): ReturnType<Rule> {
  const { rates } = signs;
  if (!rates?.growing || !isOld(signs, LONG_WAIT_MS)) {
    return undefined;
  }
  return {
    severity: 'warning',
    state: 'falling-behind',
    summary: `falling behind: ${rate(rates.in)} in, ${rate(rates.out)} out, ${waits(signs)}`,
    cause: 'more jobs come than the workers end',
    next: 'add workers, or raise the concurrency',
  };
}

function flowing(signs: QueueSigns): ReturnType<Rule> {
  const { pending, processing, oldestPendingAgeMs } = signs.stats;
  if (pending === 0 && processing === 0) {
    return undefined;
  }
  const waiting = pending > 0 ? `${count(pending)} waiting, the oldest for ${duration(oldestPendingAgeMs)}` : '';
  const running = processing > 0 ? `${count(processing)} running` : '';
  return {
    severity: 'ok',
    state: 'flowing',
    summary: `flowing: ${[waiting, running].filter((part) => part !== '').join(', ')}${deadLetters(signs)}`,
  };
}

const ORDER: readonly Severity[] = ['ok', 'notice', 'warning', 'critical'];

/** The worst of some verdicts; `ok` of none. */
export function worstOf(verdicts: readonly Pick<QueueVerdict, 'severity'>[]): Severity {
  return ORDER[Math.max(0, ...verdicts.map(({ severity }) => ORDER.indexOf(severity)))]!;
}
