import { LATE_AFTER_MS } from '../queue/model/queue-options.js';
import {
  full,
  givesNothing,
  heldByGroups,
  paused,
  rateLimited,
  resting,
  costsMoreThanBurst,
  heldByKeys,
  heldBySharedLimit,
} from './limit-rules.js';
import type { QueueSigns, QueueVerdict, Severity } from './queue-signs.js';
import {
  isOverdue,
  LONG_WAIT_MS,
  type Finding,
  type Rule,
  closedUntil,
  deadLetters,
  drainClause,
  changeWords,
  drainsInMs,
  drainsNowInMs,
  isBusy,
  isLate,
  ratesNow,
  waits,
} from './rule.js';
import { hangingSchedule, unrunSchedule } from './schedule-rules.js';
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
  keptSlots,
  silentWords,
} from './stuck-rules.js';
import { asCommand, count, duration, rate } from './words.js';

const SEVERITY_ORDER: readonly Severity[] = ['ok', 'notice', 'warning', 'critical'];

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
const HOLDING_RULES: readonly Rule[] = [
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
  for (const rule of HOLDING_RULES) {
    const found = rule(signs);
    if (found) {
      return found;
    }
  }
  return undefined;
}

function rank({ severity }: Pick<QueueVerdict, 'severity'>): number {
  return SEVERITY_ORDER.indexOf(severity);
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
  return SEVERITY_ORDER[Math.max(0, ...verdicts.map(rank))]!;
}

// Rules for queues in which work flows, and how well.

/** The share of failed attempts from which a queue is called failing. */
const FAILING_SHARE = 0.5;
/** Fewer attempts than this in the window are no basis for a share. */
const FEWEST_ATTEMPTS = 10;
/** The time running jobs of unknown duration may keep others waiting, in ms. */
const UNKNOWN_RUN_MS = 1_800_000;
/** The time for which deleted dead letters are reported, in ms: a day. */
const DROPPED_SHOWN_MS = 86_400_000;

/** The fewest dead letters in an hour of a failing queue, and their least share of all jobs that ended. */
const MANY_DEAD = 20;
const DYING_SHARE = 0.1;

export function failing(signs: QueueSigns): ReturnType<Rule> {
  const { rates } = signs;
  if (!rates || rates.failedShare < FAILING_SHARE || rates.attempts < FEWEST_ATTEMPTS) {
    return undefined;
  }
  const share = `${Math.round(rates.failedShare * 100)} %`;
  return {
    severity: (signs.lastHour?.died ?? 0) >= MANY_DEAD && signs.stats.failed > 0 ? 'critical' : 'warning',
    state: 'failing',
    summary: `failing: ${share} of the attempts of the last ${duration(rates.windowMs)} failed${deadLetters(signs)}`,
    cause: 'the handler throws, or a service behind it is down',
    ...whereErrorsAre(signs),
  };
}

const READ_DEAD_LETTERS = 'read the errors of the dead letters, fix the cause, then redrive them';

function whereErrorsAre({ stats }: QueueSigns): Required<Pick<Finding, 'next' | 'remedy'>> {
  if (stats.failed > 0) {
    return { next: READ_DEAD_LETTERS, remedy: { at: 'jobs', state: 'failed' } };
  }
  return stats.scheduled > (stats.parked ?? 0)
    ? {
        next: 'read the errors of the scheduled jobs, which are tried again',
        remedy: { at: 'jobs', state: 'scheduled' },
      }
    : {
        next: 'read the errors in the log of the workers: no failed job is left in the queue',
        remedy: { at: 'workers' },
      };
}

export function behind(signs: QueueSigns): ReturnType<Rule> {
  const rates = ratesNow(signs);
  if (!rates?.growing || !isOverdue(signs, LONG_WAIT_MS) || drainsNowInMs(signs) !== undefined) {
    return undefined;
  }
  return {
    severity: 'warning',
    state: 'falling-behind',
    summary: `falling behind: ${rate(rates.in)} in, ${rate(rates.out)} out, ${waits(signs)}${drainClause(signs)}`,
    ...causeOr(signs, 'more jobs come than the workers end', 'add workers, or raise the concurrency'),
  };
}

/** Returns what changed as the cause. A slower handler is no reason to add workers. */
function causeOr(signs: QueueSigns, cause: string, next: string): Pick<Finding, 'cause' | 'next' | 'remedy'> {
  const words = changeWords(signs);
  return signs.change?.of === 'run'
    ? { cause: words!, next: 'look at what the handler waits for', remedy: { at: 'jobs', state: 'processing' } }
    : { cause: words ?? cause, next, remedy: { at: 'workers' } };
}

/** Finds a backlog that shrinks by the pace of the last seconds, whatever the last minutes say. */
export function draining(signs: QueueSigns): ReturnType<Rule> {
  const ms = drainsNowInMs(signs);
  if (ms === undefined || !isOverdue(signs, LONG_WAIT_MS)) {
    return undefined;
  }
  return {
    severity: 'notice',
    state: 'flowing',
    summary: `draining: ${rate(signs.pace!.outPerS)} out, ${waits(signs)}, done in ${duration(ms)}${deadLetters(signs)}`,
    next: 'wait until the backlog is gone',
    remedy: { at: 'jobs', state: 'pending' },
  };
}

/** Finds jobs that wait for too long although as many end as come. */
export function late(signs: QueueSigns): ReturnType<Rule> {
  if (!isLate(signs) || closedUntil(signs) || slow(signs) || drainsNowInMs(signs) !== undefined) {
    return undefined;
  }
  const { usualWaitMs } = signs;
  const rates = ratesNow(signs);
  const pace = rates ? `${rate(rates.in)} in, ${rate(rates.out)} out, ` : '';
  const usual = usualWaitMs === undefined ? '' : `, usually ${duration(usualWaitMs)}`;
  const drainsSoon = (drainsInMs(signs) ?? Infinity) < LATE_AFTER_MS;
  return {
    severity: drainsSoon ? 'notice' : 'warning',
    state: 'late',
    summary: `late: ${pace}${waits(signs)}${usual}${drainClause(signs)}`,
    ...causeOr(
      signs,
      isBusy(signs) ? 'all slots are busy, and a backlog is left from before' : 'a backlog is left from before',
      'add workers, or raise the concurrency, until the backlog is gone',
    ),
  };
}

export function slow(signs: QueueSigns): ReturnType<Rule> {
  const { stats, rates, pace, hasEnded = false } = signs;
  const ends = (rates ? rates.out > 0 : hasEnded) || (pace?.outPerS ?? 0) > 0;
  if (
    ends ||
    drainsNowInMs(signs) !== undefined ||
    stats.processing === 0 ||
    closedUntil(signs) ||
    !isOverdue(signs, LONG_WAIT_MS)
  ) {
    return undefined;
  }
  return {
    severity: slowSeverity(signs),
    state: 'waiting',
    summary: `slow: ${waits(signs)}, ${count(stats.processing)} running`,
    cause: changeWords(signs) ?? slowCause(signs),
    next: 'look at what runs; add workers, or raise the concurrency',
    remedy: { at: 'jobs', state: 'processing' },
  };
}

/**
 * Returns how bad a slow queue is. The window fits three usual jobs, so a window without an end is bad. If no job has
 * ended yet, jobs may be long.
 */
function slowSeverity({ rates, usualRunMs, stats, stuckSlots = 0 }: QueueSigns): Severity {
  const isUnusual = usualRunMs !== undefined || stats.oldestUnheldAgeMs > UNKNOWN_RUN_MS || stuckSlots > 0;
  return rates && isUnusual ? 'warning' : 'notice';
}

function slowCause(signs: QueueSigns): string {
  if ((signs.stuckSlots ?? 0) > 0) {
    return keptSlots(signs);
  }
  return isBusy(signs) ? 'all slots are busy' : 'the jobs that run take long';
}

/** Finds workers that are silent although they hold jobs. Others may serve the queue. */
export function silentWorkers(signs: QueueSigns): ReturnType<Rule> {
  const words = silentWords(signs);
  if (words === undefined) {
    return undefined;
  }
  const otherwise = flowing(signs) ?? idle(signs);
  return {
    ...otherwise,
    severity: 'notice',
    summary: `${otherwise.summary}${words}`,
    cause: 'its process died, hangs, or cannot reach Redis',
    next: 'look at its process; other workers run these jobs once their claims expire',
    remedy: { at: 'workers' },
  };
}

/** Finds dead letters of the last hour: a notice from the first, a warning where many jobs die. */
export function dying(signs: QueueSigns): ReturnType<Rule> {
  const { stats, lastHour } = signs;
  const died = Math.min(lastHour?.died ?? 0, stats.failed); // what was redriven or discarded needs nobody
  if (!lastHour || died === 0) {
    return undefined;
  }
  const otherwise = flowing(signs) ?? idle(signs);
  const isMany = died >= MANY_DEAD && died >= lastHour.ended * DYING_SHARE;
  return {
    ...otherwise,
    severity: isMany ? (died >= lastHour.ended * FAILING_SHARE ? 'critical' : 'warning') : 'notice',
    state: isMany ? 'failing' : otherwise.state,
    summary: isMany
      ? `failing: ${Math.round((died / lastHour.ended) * 100)} % of the jobs of the last hour died, ${count(died)}; ${otherwise.summary}`
      : `${otherwise.summary}; ${count(died)} died in the last hour`,
    cause: 'their attempts are used up, or their error is one that no retry mends',
    next: READ_DEAD_LETTERS,
    remedy: { at: 'jobs', state: 'failed' },
  };
}

/** Finds that the cap deleted dead letters lately, whose payloads are gone. */
export function dropped(signs: QueueSigns): ReturnType<Rule> {
  const { droppedAt, totals } = signs.stats;
  const ago = droppedAt && (signs.at ?? new Date()).getTime() - droppedAt.getTime();
  if (ago === undefined || ago > DROPPED_SHOWN_MS) {
    return undefined;
  }
  const otherwise = flowing(signs) ?? idle(signs);
  const others = `\`deadLetterCap\` deleted ${count(totals['dropped'] ?? 0)}, the last ${duration(ago)} ago`;
  return {
    ...otherwise,
    severity: 'notice',
    summary: `${otherwise.summary}; ${others}`,
    cause:
      'the queue has more dead letters than `deadLetterCap` keeps, so the oldest are deleted with their payloads',
    next: 'fix the cause of the failures, then redrive or discard dead letters; or raise `deadLetterCap`',
    remedy: { at: 'jobs', state: 'failed' },
  };
}

/** The share of the bound from which on the verdict names the remembered ids. */
const MANY_IDS = 0.8;

/** Finds that the ids of ended jobs are soon free before their time, or already are. */
export function remembering(signs: QueueSigns): ReturnType<Rule> {
  const { count: ids = 0, bound } = signs.stats.rememberedIds ?? {};
  if (bound === undefined || ids < MANY_IDS * bound) {
    return undefined;
  }
  const otherwise = flowing(signs) ?? idle(signs);
  return {
    ...otherwise,
    severity: 'notice',
    summary: `${otherwise.summary}; remembers ${count(ids)} of at most ${count(bound)} ids of ended jobs`,
    cause: 'beyond `rememberedIds` the ids that expire first are free before `resultTtlMs` is over',
    next: 'raise `rememberedIds`, or lower `resultTtlMs`',
    remedy: { at: 'command', command: asCommand('stats', signs.queue) },
  };
}

export function flowing(signs: QueueSigns): Finding | undefined {
  const { pending, processing } = signs.stats;
  if (pending === 0 && processing === 0) {
    return undefined;
  }
  const running = processing > 0 ? `${count(processing)} running` : '';
  return {
    severity: 'ok',
    state: 'flowing',
    summary: `flowing: ${[waitingIn(signs), running].filter((part) => part !== '').join(', ')}${drainClause(signs)}${deadLetters(signs)}`,
  };
}

/** Returns the finding on a queue without a problem and without work. */
export function idle(signs: QueueSigns): Finding {
  const { parked = 0 } = signs.stats;
  const waiting = parked > 0 ? ` for a worker, ${count(parked)} for a signal or a time` : '';
  return { severity: 'ok', state: 'idle', summary: `idle: nothing waits${waiting}${deadLetters(signs)}` };
}

function waitingIn({ stats }: QueueSigns): string {
  const { pending, oldestPendingAgeMs, oldestUnheldAgeMs } = stats;
  if (pending === 0) {
    return '';
  }
  const held = oldestUnheldAgeMs < oldestPendingAgeMs ? ', held back by its group' : '';
  return `${count(pending)} waiting, the oldest for ${duration(oldestPendingAgeMs)}${held}`;
}
