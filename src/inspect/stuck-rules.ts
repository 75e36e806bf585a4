// Rules for waiting jobs that no worker takes, and expired ones that no process reclaims.
import type { QueueSigns, SilentWorker } from './queue-signs.js';
import {
  closedUntil,
  isEmpty,
  isOld,
  isOverdue,
  LONG_WAIT_MS,
  PATIENCE_MS,
  type Rule,
  START_HANDLER,
  waits,
} from './rule.js';
import { inQuotes, count, duration, hostOf, namesOf } from './words.js';

/** A deploy replaces the last worker within this time, in ms. */
const DEPLOY_MS = 30_000;

export function noWorker(signs: QueueSigns): ReturnType<Rule> {
  const { queue, stats } = signs;
  const { foreignClaims = 0 } = stats; // clients of the Redis pattern announce nothing
  const waiting = stats.pausedAt === null && !isEmpty(signs) && isOld(signs, PATIENCE_MS);
  if (stats.workers > 0 || !waiting || foreignClaims > 0) {
    return undefined;
  }
  const goneMs = stats.lastWorkerAt && (signs.at ?? stats.at).getTime() - stats.lastWorkerAt.getTime();
  if (goneMs !== undefined && goneMs < DEPLOY_MS) {
    return {
      severity: 'notice',
      state: 'waiting',
      summary: `waiting: ${waits(signs)}, no worker for ${duration(goneMs)}`,
      cause: 'its last worker has stopped a moment ago, as in a deploy',
      next: `wait for the next worker: the queue is stuck if none comes within ${duration(DEPLOY_MS)}`,
      remedy: { at: 'workers' },
    };
  }
  return {
    severity: 'critical',
    state: 'stuck',
    summary: `stuck: ${waits(signs)}, no worker`,
    cause: `no live worker serves \`${queue}\`${silentWords(signs) ?? (goneMs === undefined ? '' : `; the last one was seen ${duration(goneMs)} ago`)}`,
    next: 'start a worker with its handler, or look for a misspelled name',
    remedy: { at: 'workers' },
  };
}

/** Finds jobs without a handler. Jobs of other names may flow, so the queue is not stuck. */
export function unserved(signs: QueueSigns): ReturnType<Rule> {
  const [first, ...others] = signs.unserved ?? [];
  if (first === undefined || signs.stats.pausedAt !== null) {
    return undefined;
  }
  const more = others.length === 1 ? '1 more name' : `${count(others.length)} more names`;
  const names = others.length > 0 ? `\`${first.name}\` and ${more}` : `\`${first.name}\``;
  const wait = `jobs named ${names} have waited for ${duration(first.waitingMs)}, no worker handles them`;
  return {
    ...(moves(signs)
      ? { severity: 'warning', state: 'waiting', summary: `flowing, but ${wait}` }
      : { severity: 'critical', state: 'stuck', summary: `stuck: ${wait}` }),
    cause: `the workers of the queue have no handler for ${names}`,
    next: START_HANDLER,
    remedy: { at: 'jobs', state: 'pending', search: `name:${inQuotes(first.name)}` },
  };
}

export function expired(signs: QueueSigns): ReturnType<Rule> {
  const { stats, sinceMaintenanceMs = 0 } = signs;
  if (stats.expiredClaims === 0 || sinceMaintenanceMs === 0) {
    return undefined;
  }
  return {
    severity: 'critical',
    state: 'unmaintained',
    summary: `stuck: ${count(stats.expiredClaims)} ${stats.expiredClaims === 1 ? 'job of a dead worker is' : 'jobs of dead workers are'} not reclaimed`,
    cause: `no process has maintained the queue for ${duration(sinceMaintenanceMs)}${silentWords(signs) ?? ''}`,
    next: 'start a process whose maintenance is on',
    remedy: { at: 'workers' },
  };
}

/** Returns the silent workers with the jobs that they hold, as the end of a sentence. Undefined for none. */
export function silentWords({ silent = [], at, stats }: QueueSigns): string | undefined {
  const [first, ...others] = silent;
  if (!first) {
    return undefined;
  }
  const silentMs = (at ?? stats.at).getTime() - first.seenAt.getTime();
  const more =
    others.length > 0
      ? `; ${count(others.length)} more ${others.length === 1 ? 'holds' : 'hold'} ${jobsOf(others)}`
      : '';
  return `; \`${hostOf(first.id).host}\`, last seen ${duration(silentMs)} ago, holds ${jobsOf([first])}${more}`;
}

function jobsOf(workers: readonly SilentWorker[]): string {
  const held = workers.reduce((sum, { holds }) => sum + holds, 0);
  return held === 1 ? '1 job' : `${count(held)} jobs`;
}

/** Returns whether any job runs, or ended in the last minutes or seconds. */
export function moves({ stats, rates, pace }: QueueSigns): boolean {
  return stats.processing > 0 || (rates?.out ?? 0) > 0 || (pace?.outPerS ?? 0) > 0;
}

export function takesNothing(signs: QueueSigns): ReturnType<Rule> {
  const { stats, rates } = signs;
  if ((signs.unserved ?? []).length > 0) {
    return undefined; // the jobs that wait have no handler, and the workers fetch well
  }
  if (moves(signs) || stats.workers === 0 || closedUntil(signs) || !isOverdue(signs, LONG_WAIT_MS)) {
    return undefined;
  }
  const paused = allPaused(signs);
  return {
    severity: rates ? 'critical' : 'warning', // without rates it may be a shrinking burst
    state: 'stuck',
    summary: `stuck: ${waits(signs)}, ${workersIn(signs)} nothing`,
    cause: paused ? 'all its workers are paused in their process' : 'the workers cannot fetch',
    next: paused
      ? 'resume them in their process, by `jobs.resumeWorker()`'
      : 'look at the log of the workers, and at their health',
    remedy: { at: 'workers' },
  };
}

export function allPaused({ stats, pausedWorkers = 0 }: QueueSigns): boolean {
  return stats.workers > 0 && pausedWorkers >= stats.workers;
}

function workersIn({ stats }: QueueSigns): string {
  return stats.workers === 1 ? 'its worker takes' : `its ${count(stats.workers)} workers take`;
}

const STUCK_CAUSE = 'handlers continue although their signal was aborted: by a timeout, a cancel, or a lost claim';
const STUCK_NEXT = 'restart the workers with stuck jobs, and let their handlers observe job.signal';

export function stuckHandlers(signs: QueueSigns): ReturnType<Rule> {
  const { kept, of } = keptOf(signs);
  if (kept === 0 || kept < of || signs.stats.pausedAt !== null || isEmpty(signs)) {
    return undefined;
  }
  return isOld(signs, PATIENCE_MS)
    ? {
        severity: 'critical',
        state: 'stuck',
        summary: `stuck: ${waits(signs)}, ${keptSlots(signs)}`,
        cause: STUCK_CAUSE,
        next: STUCK_NEXT,
        remedy: { at: 'workers' },
      }
    : undefined;
}

/** Finds the first handlers that do not end. Others still run, so the queue is not stuck. */
export function someStuck(signs: QueueSigns): ReturnType<Rule> {
  const { stuckSlots = 0 } = signs;
  return stuckSlots === 0
    ? undefined
    : {
        severity: 'warning',
        state: 'waiting',
        summary: `${moves(signs) ? 'flowing' : 'idle'}, but ${keptSlots(signs)}`,
        cause: STUCK_CAUSE,
        next: STUCK_NEXT,
        remedy: { at: 'workers' },
      };
}

/** The fewest deaths of a loop, and of one that needs action now. A single death is no sign: the job runs again. */
const FEWEST_DEATHS = 2;
const MANY_DEATHS = 5;

/** Finds jobs that end their workers, one after the other. */
export function crashing({ deaths = [], stats }: QueueSigns): ReturnType<Rule> {
  if (deaths.length < FEWEST_DEATHS) {
    return undefined;
  }
  const ran = deaths.flatMap((death) => death.ran);
  const common = [...new Set(ran.map(({ name }) => name))].filter((name) =>
    deaths.every((death) => death.ran.some((job) => job.name === name)),
  );
  const all = common.length > 0 ? `, all while running \`${common[0]}\`` : `, while running ${namesOf(ran)}`;
  const uncaught = /uncaught error in its process: (.*)$/.exec(deaths[0]!.how)?.[1];
  return {
    severity: deaths.length >= MANY_DEATHS ? 'critical' : 'warning',
    state: 'failing',
    summary: `crashing: ${count(deaths.length)} workers died in 10 min${all}`,
    cause:
      uncaught ??
      (common.length > 0
        ? 'the job ends its process, such as by too much memory or by process.exit()'
        : 'their processes were killed, or ran out of memory'),
    next: 'read the last lines of their processes; redrive a job that killed its workers alone, once that is mended',
    remedy: stats.failed > 0 ? { at: 'jobs', state: 'failed' } : { at: 'workers' },
  };
}

/** Returns how many slots are kept by handlers that do not end. */
export function keptSlots(signs: QueueSigns): string {
  const { kept, of } = keptOf(signs);
  return `${count(kept)} of ${count(of === Infinity ? kept : of)} slots are kept by handlers that do not end`;
}

/** Returns the kept slots of the fleet, or the kept part of `maxRunning`. It is the one that is nearer to its end. */
function keptOf({ stuckSlots = 0, stuckJobs = stuckSlots, slots = Infinity, maxRunning = Infinity }: QueueSigns) {
  return stuckJobs / maxRunning > stuckSlots / slots
    ? { kept: stuckJobs, of: maxRunning }
    : { kept: stuckSlots, of: slots };
}

/** Returns whether work flows in a queue that no process maintains. */
export function isUnmaintained({ sinceMaintenanceMs = 0, stats }: QueueSigns): boolean {
  return sinceMaintenanceMs > 0 && stats.workers + stats.processing > 0;
}

export function maintained(signs: QueueSigns): ReturnType<Rule> {
  const { sinceMaintenanceMs = 0, stats } = signs;
  if (!isUnmaintained(signs)) {
    return undefined;
  }
  return {
    severity: 'warning',
    state: 'unmaintained',
    summary: `flowing, but no process maintains the queue: ${count(stats.pending)} waiting`,
    cause: `no process has maintained the queue for ${duration(sinceMaintenanceMs)}`,
    next: 'start a process whose maintenance is on: it reclaims the jobs of dead workers',
    remedy: { at: 'workers' },
  };
}

/** Finds a batch whose member was deleted or lost. Maintenance counts such a member as removed, within a minute. */
export function waitsForNothing({ queue, lostMembers = [] }: QueueSigns): ReturnType<Rule> {
  const [first, ...others] = lostMembers;
  if (first === undefined) {
    return undefined;
  }
  const gone = others.length === 1 ? 'member that is gone' : 'members that are gone';
  const more = others.length > 0 ? `, and ${count(others.length)} more ${gone}` : '';
  const isUnchecked = lostMembers.some((member) => member.isUnchecked);
  return {
    severity: isUnchecked ? 'warning' : 'notice',
    state: 'waiting',
    summary: `batch \`${first.batch}\` waits for job \`${first.id}\` of queue \`${first.queue}\`, which is gone${more}`,
    cause: 'the job was deleted by hand, or Redis lost it',
    next: isUnchecked
      ? `start a process whose maintenance is on for \`${queue}\`: it counts the job as removed`
      : `wait a minute: maintenance of \`${queue}\` counts the job as removed`,
    remedy: { at: 'batch', id: first.batch },
  };
}
