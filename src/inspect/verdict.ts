import type { QueueStats } from '../queue/model/job.js';
import { count, duration, rate } from './words.js';

/** How bad it is. `ok` and `notice` need nobody; `warning` needs somebody today; `critical` needs somebody now. */
export type Severity = 'ok' | 'notice' | 'warning' | 'critical';

/** What a queue does. */
export type QueueState =
  'idle' | 'flowing' | 'waiting' | 'paused' | 'limited' | 'falling-behind' | 'failing' | 'unmaintained' | 'stuck';

/** What is known of a queue beside its stats. */
export interface QueueSigns {
  queue: string;
  stats: QueueStats;
  /** What moved lately. Absent where nothing recorded it. */
  rates?: RecentRates;
  /** Names among the waiting jobs that no live worker handles. */
  unserved?: readonly string[];
  /** Until when a rate limit, or a handler that met one, holds the queue back. */
  limitedUntil?: Date;
  /** How many jobs the whole fleet may run at once. */
  maxRunning?: number;
  /** How many jobs this queue's workers may run at once. Absent where it is not known. */
  slots?: number;
  /** How many of these slots are kept by handlers that go on although their signal was aborted. */
  stuckSlots?: number;
  /** When the reclaim last ran on this queue, in ms ago. Absent where it is not known. */
  sinceMaintenanceMs?: number;
  /** By when the figures were taken. */
  at?: Date;
}

/** Jobs per second over the last minutes. */
export interface RecentRates {
  windowMs: number;
  in: number;
  /** Jobs that ended, well or badly. */
  out: number;
  /** Attempts that failed, as a share of those that ended: 0 to 1. */
  failedShare: number;
  /** Whether more came than ended in each single minute of the window. A burst that is worked off does not grow. */
  growing: boolean;
}

/** One sentence on a queue, with its likely cause and the next thing to do. */
export interface QueueVerdict {
  queue: string;
  severity: Severity;
  state: QueueState;
  /** @example "stuck: 1,204 waiting for 6 min, no worker" */
  summary: string;
  /** The likely cause. Absent where all is well. */
  cause?: string;
  /** What to do next. Absent where there is nothing to do. */
  next?: string;
}

/** A job that waits for less than this is no sign of anything, in ms. */
const PATIENCE_MS = 10_000;
/** With a worker at work, a wait longer than this deserves a word, in ms. */
const LONG_WAIT_MS = 60_000;
/** A sweep runs every 5 s by default; a fleet without one for this long has none, in ms. */
const UNMAINTAINED_MS = 60_000;
/** A share of failed attempts from which on the queue is called failing. */
const FAILING_SHARE = 0.5;
/** Fewer ends than this in the window are no basis for a share. */
const FEWEST_ENDS = 10;

type Rule = (signs: QueueSigns) => Omit<QueueVerdict, 'queue'> | undefined;

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

function waits({ stats }: QueueSigns): string {
  const { pending, oldestPendingAgeMs } = stats;
  return pending > 0
    ? `${count(pending)} waiting for ${duration(oldestPendingAgeMs)}`
    : `scheduled jobs have been due for ${duration(oldestPendingAgeMs)}`;
}

/** A scheduled job that is due has an age, and is not pending until a claim or a sweep makes it so. */
function isEmpty({ stats }: QueueSigns): boolean {
  return stats.pending === 0 && (stats.scheduled === 0 || stats.oldestPendingAgeMs === 0);
}

function deadLetters({ stats }: QueueSigns): string {
  return stats.failed > 0 ? `, ${count(stats.failed)} dead ${stats.failed === 1 ? 'letter' : 'letters'}` : '';
}

function workersIn({ stats }: QueueSigns): string {
  return stats.workers === 1 ? 'its worker takes' : `its ${count(stats.workers)} workers take`;
}

function isOld({ stats }: QueueSigns, ms: number): boolean {
  return stats.oldestPendingAgeMs > ms;
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

function nobody(signs: QueueSigns): ReturnType<Rule> {
  const { queue, stats } = signs;
  const foreign = stats.processing > 0; // clients of the Redis pattern announce nothing
  if (stats.workers > 0 || isEmpty(signs) || !isOld(signs, PATIENCE_MS) || foreign) {
    return undefined;
  }
  return {
    severity: 'critical',
    state: 'stuck',
    summary: `stuck: ${waits(signs)}, no worker`,
    cause: `no live worker serves \`${queue}\``,
    next: 'start a worker with its handler, or look for a misspelled name',
  };
}

function unserved(signs: QueueSigns): ReturnType<Rule> {
  const [first, ...others] = signs.unserved ?? [];
  if (first === undefined || !isOld(signs, PATIENCE_MS)) {
    return undefined;
  }
  const names = others.length > 0 ? `\`${first}\` and ${count(others.length)} more names` : `\`${first}\``;
  return {
    severity: 'critical',
    state: 'stuck',
    summary: `stuck: ${waits(signs)}, no worker handles ${names}`,
    cause: `the workers of the queue have no handler for ${names}`,
    next: 'start a worker with that handler, or look for a misspelled name',
  };
}

function expired({ stats, sinceMaintenanceMs = 0 }: QueueSigns): ReturnType<Rule> {
  if (stats.expiredClaims === 0 || sinceMaintenanceMs < UNMAINTAINED_MS) {
    return undefined;
  }
  return {
    severity: 'critical',
    state: 'unmaintained',
    summary: `stuck: ${count(stats.expiredClaims)} jobs of dead workers are not taken back`,
    cause: `no process has maintained the queue for ${duration(sinceMaintenanceMs)}`,
    next: 'start a process whose maintenance is on',
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

function stuckHandlers(signs: QueueSigns): ReturnType<Rule> {
  const { slots = 0, stuckSlots = 0 } = signs;
  if (stuckSlots === 0 || stuckSlots < slots || isEmpty(signs) || !isOld(signs, PATIENCE_MS)) {
    return undefined;
  }
  return {
    severity: 'critical',
    state: 'stuck',
    summary: `stuck: ${waits(signs)}, ${keptSlots(signs)}`,
    cause: 'handlers go on although their signal was aborted: by a timeout, a cancel, or a lost claim',
    next: 'restart the workers with stuck jobs, and let their handlers observe job.signal',
  };
}

function keptSlots({ slots = 0, stuckSlots = 0 }: QueueSigns): string {
  return `${count(stuckSlots)} of ${count(slots)} slots are kept by handlers that do not end`;
}

function failing({ rates, stats }: QueueSigns): ReturnType<Rule> {
  if (!rates || rates.failedShare < FAILING_SHARE || (rates.out * rates.windowMs) / 1_000 < FEWEST_ENDS) {
    return undefined;
  }
  const share = `${Math.round(rates.failedShare * 100)} %`;
  return {
    severity: 'warning',
    state: 'failing',
    summary: `failing: ${share} of the attempts of the last ${duration(rates.windowMs)} failed, ${count(stats.failed)} dead letters`,
    cause: 'the handler throws, or a service behind it is down',
    next: 'read the errors of the dead letters, then redrive them',
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

function slow(signs: QueueSigns): ReturnType<Rule> {
  const { stats, rates } = signs;
  if (isEmpty(signs) || !isOld(signs, LONG_WAIT_MS) || (rates && rates.out > 0)) {
    return undefined;
  }
  if (stats.processing === 0) {
    return {
      severity: rates ? 'critical' : 'warning', // without rates it may be a burst that is worked off
      state: 'stuck',
      summary: `stuck: ${waits(signs)}, ${workersIn(signs)} nothing`,
      cause: 'the workers are paused in their process, or cannot fetch',
      next: 'look at the log of the workers, and at their health',
    };
  }
  return {
    severity: rates ? 'warning' : 'notice',
    state: 'waiting',
    summary: `slow: ${waits(signs)}, ${count(stats.processing)} running`,
    cause: slowCause(signs),
    next: 'look at what runs; add workers, or raise the concurrency',
  };
}

function slowCause(signs: QueueSigns): string {
  const { stats, slots, stuckSlots = 0 } = signs;
  if (stuckSlots > 0) {
    return keptSlots(signs);
  }
  return slots !== undefined && stats.processing >= slots ? 'all slots are busy' : 'the jobs that run take long';
}

function maintained({ sinceMaintenanceMs = 0, stats }: QueueSigns): ReturnType<Rule> {
  if (sinceMaintenanceMs < UNMAINTAINED_MS || stats.workers === 0) {
    return undefined;
  }
  return {
    severity: 'warning',
    state: 'unmaintained',
    summary: `flowing, but nobody maintains the queue: ${count(stats.pending)} waiting`,
    cause: `no process has maintained the queue for ${duration(sinceMaintenanceMs)}`,
    next: 'start a process whose maintenance is on: it takes back the jobs of dead workers',
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
