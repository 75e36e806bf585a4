// The cases in which jobs wait and nobody takes them, or nobody will take them back.
import type { QueueSigns } from './queue-signs.js';
import { isEmpty, isOld, LONG_WAIT_MS, PATIENCE_MS, type Rule, waits } from './rule.js';
import { count, duration } from './words.js';

/** A sweep runs every 5 s by default; a fleet without one for this long has none, in ms. */
const UNMAINTAINED_MS = 60_000;

export function nobody(signs: QueueSigns): ReturnType<Rule> {
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

export function unserved(signs: QueueSigns): ReturnType<Rule> {
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

export function expired({ stats, sinceMaintenanceMs = 0 }: QueueSigns): ReturnType<Rule> {
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

export function stuckHandlers(signs: QueueSigns): ReturnType<Rule> {
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

export function slow(signs: QueueSigns): ReturnType<Rule> {
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

function workersIn({ stats }: QueueSigns): string {
  return stats.workers === 1 ? 'its worker takes' : `its ${count(stats.workers)} workers take`;
}

export function maintained({ sinceMaintenanceMs = 0, stats }: QueueSigns): ReturnType<Rule> {
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
