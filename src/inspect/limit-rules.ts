// Rules for jobs that wait by intention: a pause, a limit, a rest, the order of a group.
import type { RuntimeLimits, RateLimit } from '../queue/model/limits.js';
import {
  type PermitHolder,
  queueOfLimit,
  type SharedLimitState,
  smallestBurst,
  type WaitingKeys,
} from '../queue/model/shared-limit.js';
import { wholeOfShard, wholesOf } from '../queue/model/spread.js';
import { groupBy } from '../queue/runtime/collections.js';
import { onClock } from './clock.js';
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
  awaitsPermits,
  type Finding,
} from './rule.js';
import { allPaused, moves, silentWords } from './stuck-rules.js';
import { asCommand, count, duration, rate } from './words.js';

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
function utc(at: Date): string {
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
  const areSlotsFull = slots === undefined || usedSlots >= slots;
  return (
    perSecond >= NEAR_RATE * (rateLimit.limit / (rateLimit.periodMs / 1_000)) ||
    (!areSlotsFull && !!closedUntil(signs))
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
function heldSeverity(signs: QueueSigns): Severity {
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

// Rules for jobs that wait for a limit which several queues share, and such a limit in words.

/** The most queues or workers that a sentence names. */
const MOST_NAMED = 3;

/** The most groups whose waiting jobs `lua/group/awaiting-permit` counts. */
const MOST_COUNTED = 1_000;

/** Returns a limit with the names of queues, instead of those of their shards. */
export function limitOfWholes(limit: SharedLimitState): SharedLimitState {
  return {
    ...limit,
    holders: limit.holders.map((holder) => ({ ...holder, queue: wholeOfShard(holder.queue) })),
    waiting: wholesOf(limit.waiting),
    queues: wholesOf(limit.queues),
  };
}

/** Finds the limits that hold the jobs of the queue back. It names each, and who holds it. A pause comes before a rest. */
export function heldBySharedLimit(signs: QueueSigns): ReturnType<Rule> {
  const limits = holdingLimits(signs);
  const limit = limits.find(({ pausedAt }) => pausedAt) ?? limits.find(({ restsUntil }) => restsUntil);
  if (limits.length === 0 || signs.stats.pending === 0 || signs.stats.pausedAt) {
    return undefined;
  }
  if (limit === undefined) {
    return isOld(signs, PATIENCE_MS) ? fullLimits(signs, limits) : undefined;
  }
  const { at = new Date() } = signs;
  const { name, pausedAt, pausedUntil, restsUntil } = limit;
  const others = limits.filter((each) => each !== limit).map((each) => each.name);
  const too = others.length > 0 ? `; held by ${listed(others)} too` : '';
  const waiting = `${count(signs.stats.pending)} waiting${too}`;
  if (pausedAt) {
    const by = limit.pausedBy === undefined ? '' : ` by ${limit.pausedBy}`;
    const why = limit.pauseReason === undefined ? '' : ` (${limit.pauseReason})`;
    const until = pausedUntil ? `, for another ${left(pausedUntil, at)}` : '';
    return {
      severity: 'warning',
      state: 'limited',
      summary: `limited: the shared limit ${name} is paused${by} for ${left(at, pausedAt)}${why}${until}: ${waiting}`,
      cause: `the shared limit \`${name}\` was paused${by} at ${utc(pausedAt)}${why}`,
      next: 'resume the limit when the jobs of its queues may run again',
      remedy: { at: 'shared-limit' },
    };
  }
  return {
    severity: heldSeverity(signs),
    state: 'limited',
    summary: `resting: the shared limit ${name} rests for another ${left(restsUntil!, at)}: ${waiting}`,
    cause: `a handler threw a RateLimitedError of the shared limit \`${name}\`, so all its queues rest`,
    next: 'wait for its end; clearing the limit ends it now',
    remedy: { at: 'shared-limit' },
  };
}

/** Returns the finding of limits that have too few permits. A job needs one of each, so all are named. */
function fullLimits(signs: QueueSigns, limits: readonly SharedLimitState[]): Finding {
  const held = limits.map((limit) => {
    if (isFull(limit)) {
      return `the shared limit ${limit.name}: ${count(limit.running)} run, as many as may (${holdersInWords(limit.holders)})`;
    }
    return queueOfLimit(limit.name) === undefined ? `the shared limit ${limit.name}, by its rate` : 'its rates';
  });
  const causes = limits.map((limit) => {
    if (isFull(limit)) {
      return `the shared limit \`${limit.name}\` lets ${count(limit.maxRunning!)} run; the jobs of ${holdersInWords(limit.holders)} do`;
    }
    return queueOfLimit(limit.name) === undefined
      ? `the queues of the shared limit \`${limit.name}\` have used up its rate`
      : `the queue has used up one of its rates: ${limit.rateLimit.map(rateInWords).join('; ')}`;
  });
  return {
    severity: heldSeverity(signs),
    state: 'limited',
    summary: `limited by ${held.join('; ')}; ${waits(signs)}`,
    cause: causes.join('; '),
    next: limits.length === 1 ? 'raise the limit if this is too slow' : 'raise each of them if this is too slow',
    remedy: { at: 'shared-limit' },
  };
}

/** Finds the keys of shared limits for whose permits most jobs wait. It names some of them, and who holds each. */
export function heldByKeys(signs: QueueSigns): ReturnType<Rule> {
  const { awaitedKeys, at = new Date() } = signs;
  const { pending, pausedAt, heldByGroups: inGroups = 0 } = signs.stats;
  if (!awaitedKeys || !awaitsPermits(signs) || pausedAt || !isOld(signs, PATIENCE_MS)) {
    return undefined;
  }
  const { groups, jobs, keys } = awaitedKeys;
  const shown = keys.filter(({ key }) => key !== undefined).slice(0, MOST_NAMED);
  const byLimit = [...groupBy(keys, ({ name }) => name)];
  const held = byLimit.map(([limit, ofLimit]) => {
    const named = ofLimit
      .filter((key) => shown.includes(key))
      .map((key) => `${key.key!} (${keyHoldInWords(key, at)})`);
    return [limit, named.join(', ')].filter(Boolean).join(': ');
  });
  const named = new Set(shown.map(({ key }) => key)).size;
  const which = named > 0 ? 'keys' : groups === 1 ? 'a key' : `${count(groups)} keys`;
  const more = named > 0 && groups > named ? ` and ${count(groups - named)} more` : '';
  const limits = byLimit.length === 1 ? 'the shared limit' : 'the shared limits';
  const hasOthers = inGroups >= pending && jobs < pending && groups <= MOST_COUNTED;
  const others = hasOthers
    ? '; the other groups are paused, wait for a job of their own, or are at their limit'
    : '';
  return {
    severity: heldSeverity(signs),
    state: 'limited',
    summary: `limited by ${which} of ${limits} ${held.join('; ')}${more}; ${waits(signs)}`,
    cause: `each group rests until its key of ${limits} ${listed(byLimit.map(([limit]) => `\`${limit}\``))} has a free permit${others}`,
    next: 'raise the limit, or that of one key, if this is too slow',
    remedy: { at: 'shared-limit' },
  };
}

/** Returns what keeps a key from giving a permit, in words. */
function keyHoldInWords(key: SharedLimitState, at: Date): string {
  const holds = holdsOf(key, at);
  if (holds.length > 0) {
    return holds.join('; ');
  }
  return isFull(key)
    ? `${count(key.running)} ${key.running === 1 ? 'runs' : 'run'}, as many as may: ${holdersInWords(key.holders)}`
    : 'its rate is used up';
}

/**
 * Finds a limit of which a job costs more than the burst of a rate. Such a job counts as the burst, so the rate does not
 * hold. The code of an app is checked at its boot, but an operator or another app may have other values.
 */
export function costsMoreThanBurst({ queue, sharedLimits = [], limitCosts = {} }: QueueSigns): ReturnType<Rule> {
  for (const limit of sharedLimits) {
    const [cost, burst] = [limitCosts[limit.name] ?? 1, smallestBurst(limit)];
    if (cost > burst) {
      const by = limit.source === 'set' ? ', as set at run time' : '';
      return {
        severity: 'warning',
        state: 'limited',
        summary: `exceeds the shared limit ${limit.name}: a job costs ${count(cost)} and counts as ${count(burst)}, its burst`,
        cause: `a rate of the shared limit \`${limit.name}\` has the burst ${count(burst)}${by}, and a job of \`${queue}\` costs ${count(cost)}`,
        next: `raise the burst to ${count(cost)}, or lower the cost in the code`,
        remedy: { at: 'shared-limit' },
      };
    }
  }
  return undefined;
}

function isFull({ running, maxRunning = Infinity }: SharedLimitState): boolean {
  return running >= maxRunning;
}

/** Returns names as the end of a list: a, b and c. */
function listed(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' and ');
}

/** Returns which queues hold how many permits, the largest number first. */
function holdersInWords(holders: readonly PermitHolder[]): string {
  const byQueue = new Map<string, number>();
  for (const { queue: name, permits } of holders) {
    const queue = wholeOfShard(name);
    byQueue.set(queue, (byQueue.get(queue) ?? 0) + permits);
  }
  const sorted = [...byQueue].toSorted((a, b) => b[1] - a[1]);
  const named = sorted.slice(0, MOST_NAMED).map(([queue, permits]) => `${queue} ${count(permits)}`);
  const more = sorted.length - named.length;
  return [...named, ...(more > 0 ? [`${count(more)} more`] : [])].join(', ');
}

/** Returns the rates that a queue has by itself, in words; undefined for a queue with one or none. */
export function ownRatesInWords({ sharedLimits = [] }: Pick<QueueSigns, 'sharedLimits'>): string | undefined {
  const own = sharedLimits.find(({ name }) => queueOfLimit(name) !== undefined);
  return own?.rateLimit.map((each) => `${rateInWords(each)} start`).join(', ');
}

/** Returns a rate in words. */
export function rateInWords({ limit, periodMs, burst = 1 }: RateLimit): string {
  return `${count(limit)} in ${duration(periodMs)}${burst > 1 ? `, ${count(burst)} at once` : ''}`;
}

/** Returns how many jobs run by a limit, of how many. */
export function runningInWords({ running, maxRunning }: SharedLimitState): string {
  return `${count(running)}${maxRunning === undefined ? '' : ` of ${count(maxRunning)}`}`;
}

/** Returns the pause and the rest of a limit, in words. */
export function holdsOf(limit: SharedLimitState, at: Date): string[] {
  const { pausedAt, pausedUntil, restsUntil } = limit;
  const pause = [
    'paused',
    ...(limit.pausedBy === undefined ? [] : [`by ${limit.pausedBy}`]),
    ...(limit.pauseReason === undefined ? [] : [`(${limit.pauseReason})`]),
    ...(pausedUntil ? [`for another ${left(pausedUntil, at)}`] : []),
  ].join(' ');
  return [...(pausedAt ? [pause] : []), ...(restsUntil ? [`rests for another ${left(restsUntil, at)}`] : [])];
}

/** Returns words about the keys of a limit. They name none that the viewer may not see. */
function keysInWords({ keys = [], waitingKeys }: SharedLimitState): string {
  const named = keys.length > 0 ? `: ${listed(keys.slice(0, MOST_NAMED))}` : '';
  const waiting = waitingKeysInWords(waitingKeys);
  return `each key by itself${named}${keys.length > MOST_NAMED ? ', …' : ''}${waiting && `; ${waiting}`}`;
}

/** Returns how many keys of a limit jobs wait for, in words; empty for none. */
export function waitingKeysInWords({ full: taken, closed }: WaitingKeys = { full: 0, closed: 0 }): string {
  const words = [
    ...(taken > 0 ? [`${count(taken)} full`] : []),
    ...(closed > 0 ? [`${count(closed)} paused or resting`] : []),
  ];
  return words.length > 0 ? `jobs wait for keys: ${words.join(', ')}` : '';
}

/** Returns the values of a shared limit, and what holds it, in words. */
export function sharedLimitInWords(limit: SharedLimitState, at: Date): string {
  const { rateLimit, holders, waiting } = limitOfWholes(limit);
  const held = holders.length > 0 ? ` (${holdersInWords(holders)})` : '';
  const parts = [
    `${runningInWords(limit)} run${held}`,
    ...rateLimit.map(rateInWords),
    ...holdsOf(limit, at),
    ...(limit.keys ? [keysInWords(limit)] : []),
    ...(waiting.length > 0 ? [`waiting: ${waiting.slice(0, MOST_NAMED).join(', ')}`] : []),
    ...(limit.source === 'set' ? ['set at run time'] : []),
  ];
  return parts.join('; ');
}
