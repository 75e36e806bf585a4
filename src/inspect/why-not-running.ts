import type { GroupStats } from '../queue/model/group.js';
import type { JobRecord } from '../queue/model/job.js';
import type { QueueSigns, QueueState } from './queue-signs.js';
import { verdictOf } from './verdict.js';
import { count, duration } from './words.js';

/** Why a job does not run now, in words; undefined for one that runs. */
export type Reason = { because: string; next?: string } | undefined;

/** What is known of a waiting job beside its record. */
export interface JobSigns extends QueueSigns {
  /** How many jobs of the queue come before this one. Absent where it was not counted. */
  ahead?: number;
  /** The group of the job, where it has one. */
  group?: GroupStats;
}

/**
 * Says why a job is not running: when it starts, what it waits for, or how it ended.
 *
 * @example whyNotRunning(job, { queue: 'email', stats }); // { because: 'it starts in 3 min, as its delay asks' }
 */
export function whyNotRunning(job: JobRecord, signs: JobSigns): Reason {
  switch (job.status) {
    case 'processing':
      return running(job, signs);
    case 'scheduled':
      return scheduled(job, signs);
    case 'pending':
      return pending(job, signs);
    case 'completed':
      return { because: `it completed in attempt ${job.attempts}` };
    case 'cancelled':
      return { because: 'it was cancelled' };
    case 'failed':
      return dead(job);
  }
}

function running(job: JobRecord, { stats, at = new Date() }: JobSigns): Reason {
  if (job.cancelRequestedAt) {
    const since = duration(at.getTime() - job.cancelRequestedAt.getTime());
    return {
      because: `it runs; a cancel was asked for ${since} ago`,
      next: 'its handler decides: it should stop when its signal aborts',
    };
  }
  return stats.expiredClaims > 0 && job.worker === undefined
    ? { because: 'a client of the Redis pattern claimed it and does not answer', next: 'wait for the reclaim' }
    : undefined;
}

function scheduled(job: JobRecord, signs: JobSigns): Reason {
  const { at = new Date() } = signs;
  if (job.after) {
    const [first, ...others] = job.after;
    const more = others.length === 0 ? '' : ` and ${count(others.length)} more`;
    return { because: `it starts after job ${first}${more}`, next: 'look at that job if it takes long' };
  }
  const inMs = (job.dueAt?.getTime() ?? 0) - at.getTime();
  const why =
    job.errors + job.crashes > 0
      ? `attempt ${job.attempts} failed, and its backoff is not over`
      : 'its delay asks so';
  if (inMs > 0) {
    return { because: `it starts in ${duration(inMs)}: ${why}`, next: 'promote it to start it now' };
  }
  const { state, cause, next } = verdictOf(signs);
  return cause !== undefined && HOLD_ALL.includes(state)
    ? { because: cause, next }
    : { because: 'it is due, and the next claim or sweep takes it', next: 'look for a worker if it stays' };
}

/** What holds the whole queue is said before what holds a group of it. */
const HOLD_ALL: readonly QueueState[] = ['paused', 'stuck', 'unmaintained'];

function pending(job: JobRecord, signs: JobSigns): Reason {
  const verdict = verdictOf(signs);
  if (signs.unserved?.includes(job.name)) {
    return {
      because: `no live worker handles \`${job.name}\``,
      next: 'start a worker with that handler, or look for a misspelled name',
    };
  }
  const held = signs.group && groupHolds(signs.group, signs.at ?? new Date());
  if (held && !HOLD_ALL.includes(verdict.state)) {
    return held;
  }
  if (verdict.cause !== undefined && verdict.state !== 'failing') {
    return { because: verdict.cause, next: verdict.next };
  }
  const { ahead } = signs;
  return ahead === undefined || ahead > 0
    ? { because: ahead === undefined ? 'other jobs are before it' : `${count(ahead)} jobs are before it` }
    : { because: 'it is next' };
}

/** What keeps all jobs of a group from running; undefined where nothing does. */
function groupHolds(stats: GroupStats, at: Date): Reason {
  const { name, pausedAt, heldBy, opensAt, limits } = stats;
  const group = `its group \`${name}\``;
  if (pausedAt) {
    const since = duration(at.getTime() - pausedAt.getTime());
    return {
      because: `${group} has been paused for ${since}`,
      next: 'resume the group when its jobs may run again',
    };
  }
  if (heldBy !== null) {
    return {
      because: `${group} waits for job ${heldBy}`,
      next: 'look at that job: redrive or discard it where it failed',
    };
  }
  if (opensAt && opensAt > at) {
    return { because: `${group} rests for ${duration(opensAt.getTime() - at.getTime())}, as its rate asks` };
  }
  const { maxRunning } = limits;
  return maxRunning !== undefined && stats.running >= maxRunning
    ? { because: `${count(stats.running)} jobs of ${group} run, as many as may` }
    : undefined;
}

function dead(job: JobRecord): Reason {
  const { lastError, attempts, maxAttempts } = job;
  const of = maxAttempts === undefined ? '' : ` of ${maxAttempts}`;
  return {
    because: `it failed for good in attempt ${attempts}${of}${lastError ? `: ${lastError}` : ''}`,
    next: 'mend the cause, then redrive it',
  };
}
