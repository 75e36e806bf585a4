// Rules for jobs that wait by intention: a pause, a limit, a rest, the order of a group.
import type { RuntimeLimits } from '../queue/model/limits.js';
import { asCommand } from './display/as-command.js';
import type { QueueSigns, Severity } from './queue-signs.js';
import {
  closedUntil,
  holdingLimits,
  isOld,
  isOverdue,
  LONG_WAIT_MS,
  PATIENCE_MS,
  type Rule,
  waits,
} from './rule.js';
import { onClock } from './schedules/clock.js';
import { allPaused, moves, silentWords } from './stuck-rules.js';
import { count, duration, rate } from './words.js';

/** A rate whose next start is sooner than this does not hold jobs back by itself, in ms. */
const FAR_MS = 1_000;
/** The share of its rate from which a queue counts as held back by it. */
const NEAR_RATE = 0.9;

export function paused({ queue, stats, at = new Date() }: QueueSigns): ReturnType<Rule> {
  if (!stats.pausedAt) {
    return undefined;
  }
  const { pausedBy, pauseReason, pausedUntil } = stats;
  const since = duration(at.getTime() - stats.pausedAt.getTime());
  const by = pausedBy === undefined ? '' : ` by ${pausedBy}`;
  const why = pauseReason === undefined ? '' : `: ${pauseReason}`;
  const because = pauseReason === undefined ? '' : ` (${pauseReason})`;
  return {
    severity: stats.pending > 0 ? 'warning' : 'notice',
    state: 'paused',
    summary: `paused${by} for ${since}${because}${pausedUntil ? `, for another ${left(pausedUntil, at)}` : ''}: ${count(stats.pending)} waiting`,
    cause: `the queue was paused${by} at ${utc(stats.pausedAt)}${why}`,
    next: pausedUntil
      ? `it resumes by itself at ${utc(pausedUntil)}; resume \`${queue}\` to end it now`
      : `resume \`${queue}\` when its jobs may run again`,
    remedy: { at: 'resume' },
  };
}

/** Returns an instant as people read it: Fri 27 Nov 2026, 07:50:38 UTC. */
export function utc(at: Date): string {
  return `${onClock(at.getTime(), 'UTC')} UTC`;
}

export function resting(signs: QueueSigns): ReturnType<Rule> {
  const { queue, stats, restsUntil, at = new Date() } = signs;
  if (!restsUntil || restsUntil <= at || stats.pending === 0 || stats.pausedAt) {
    return undefined;
  }
  return {
    severity: heldSeverity(signs),
    state: 'limited',
    summary: `resting: ${count(stats.pending)} wait for another ${left(restsUntil, at)}`,
    cause: 'a handler threw a RateLimitedError, or Redis refused its calls, so the whole queue rests',
    next: `wait for its end; clearing the limits of \`${queue}\` ends it now`,
    remedy: { at: 'command', command: asCommand('limits', queue, '--clear') },
  };
}

/**
 * Finds a rate under which nothing starts. It depends on ages and counts alone. The time of the next start, as the rate
 * has it, would be wrong in such a case.
 */
export function givesNothing(signs: QueueSigns): ReturnType<Rule> {
  const { queue, stats, rateLimit, restsUntil, hasEnded = false, rates, at = new Date() } = signs;
  if (!rateLimit || stats.workers === 0 || hasEnded || moves(signs) || allPaused(signs)) {
    return undefined;
  }
  const { limit, periodMs, burst = 1 } = rateLimit;
  // Twice the longest time until a job of any cost is earned.
  const longestMs = LONG_WAIT_MS + (2 * burst * periodMs) / limit;
  if ((restsUntil && restsUntil > at) || holdingLimits(signs).length > 0 || !isOverdue(signs, longestMs)) {
    return undefined;
  }
  const may = `${count(limit)} in ${duration(periodMs)}`;
  return {
    severity: rates ? 'critical' : 'warning',
    state: 'stuck',
    summary: `stuck: ${waits(signs)}, nothing starts although its rate limit lets ${may} start`,
    cause: `the rate limit of ${may} gives no start, or the workers cannot fetch`,
    next: `look at the log of the workers; if it has no error, set another rate limit for \`${queue}\`, and report this one`,
    remedy: { at: 'limits' },
  };
}

export function rateLimited(signs: QueueSigns): ReturnType<Rule> {
  const { stats, rates, nextStartAt, at = new Date() } = signs;
  if (stats.pending === 0 || stats.pausedAt) {
    return undefined;
  }
  const isFar = nextStartAt !== undefined && nextStartAt.getTime() - at.getTime() > FAR_MS;
  if (!isFar && !(isOld(signs, PATIENCE_MS) && isAtRate(signs))) {
    return undefined;
  }
  const [comes, may] = [rates ? `${rate(rates.in)} in, ` : '', mayStart(signs)];
  return {
    severity: heldSeverity(signs),
    state: 'limited',
    summary: isFar
      ? `limited by its rate: ${count(stats.pending)} wait, the next may start in ${left(nextStartAt, at)}`
      : `limited by its rate: ${comes}${may} may start, ${waits(signs)}`,
    cause: `the queue has used up its rate limit${may === '' ? '' : ` of ${may}`}${isFar ? `; the next job may start in ${left(nextStartAt, at)}` : ''}${setBy(signs, 'rateLimit')}`,
    next: 'raise the rate limit if this is too slow',
    remedy: { at: 'limits' },
  };
}

/** Returns the time from one instant until another, in words. */
export function left(until: Date, at: Date): string {
  return duration(until.getTime() - at.getTime());
}

/** Returns whether as many attempts end as may start, or slots are free and the rate lets none start. */
function isAtRate(signs: QueueSigns): boolean {
  const { rateLimit, rates, stats, slots, usedSlots = stats.processing } = signs;
  if (!rateLimit) {
    return false;
  }
  const perSecond = rates ? rates.attempts / (rates.windowMs / 1_000) : 0;
  const isFull = slots === undefined || usedSlots >= slots;
  return (
    perSecond >= NEAR_RATE * (rateLimit.limit / (rateLimit.periodMs / 1_000)) || (!isFull && !!closedUntil(signs))
  );
}

function mayStart({ rateLimit }: QueueSigns): string {
  return rateLimit ? rate(rateLimit.limit / (rateLimit.periodMs / 1_000)) : '';
}

export function full(signs: QueueSigns): ReturnType<Rule> {
  const { stats, maxRunning = Infinity } = signs;
  if (stats.pending === 0 || stats.pausedAt || stats.processing < maxRunning || !isOld(signs, PATIENCE_MS)) {
    return undefined;
  }
  return {
    severity: heldSeverity(signs),
    state: 'limited',
    summary: `limited: ${count(stats.processing)} run, as many as may; ${waits(signs)}`,
    cause: `maxRunning is ${count(maxRunning)}${setBy(signs, 'maxRunning')}${silentWords(signs) ?? ''}`,
    next: 'raise maxRunning if this is too slow',
    remedy: { at: 'limits' },
  };
}

export function heldByGroups(signs: QueueSigns): ReturnType<Rule> {
  const { heldByGroups: held = 0, pending, processing, pausedAt } = signs.stats;
  if (held === 0 || held < pending || pausedAt || !isOld(signs, PATIENCE_MS)) {
    return undefined;
  }
  const running = processing > 0 ? `, ${count(processing)} running` : '';
  const first = (signs.waitingGroups ?? []).map((group) => `${group.name}: ${count(group.pending)} wait`);
  const named = first.length > 0 ? ` (${first.join(', ')})` : '';
  return {
    severity: heldSeverity(signs),
    state: 'limited',
    summary: `limited: ${waits(signs)} in groups that may start none now${named}${running}`,
    cause: 'each of their groups is paused, waits for a job of its own, or is at its limit',
    next: 'look at the groups whose jobs wait longest',
    remedy: { at: 'groups' },
  };
}

/**
 * Returns the severity of a limit. An intended limit is a notice, unless more jobs are added than it ever lets through.
 */
export function heldSeverity(signs: QueueSigns): Severity {
  return signs.rates?.growing && isOld(signs, LONG_WAIT_MS) ? 'warning' : 'notice';
}

/** Returns who set a limit at run time, when, and the limit of the code. Empty while that of the code holds. */
function setBy({ limitsSet, configured, at = new Date() }: QueueSigns, limit: 'maxRunning' | 'rateLimit'): string {
  if (!limitsSet) {
    return '';
  }
  const entry = limitsSet.find(({ what }) => what.includes(limit));
  const by = entry ? `, set by ${entry.by} ${left(at, entry.at)} ago` : ', set at run time';
  return `${by}${configured ? `; the code says ${ofCode(configured, limit)}` : ''}`;
}

function ofCode({ maxRunning, rateLimit }: RuntimeLimits, limit: 'maxRunning' | 'rateLimit'): string {
  if (limit === 'maxRunning') {
    return maxRunning === undefined ? 'none' : count(maxRunning);
  }
  return rateLimit ? rate(rateLimit.limit / (rateLimit.periodMs / 1_000)) : 'none';
}
