import { openWaits } from './display/open-waits.js';
import type { JobReference } from '../queue/model/batch.js';
import type { JobFacts } from '../queue/store/shown-content.js';
import { groupHoldOf, pauseNote } from './group-hold.js';
import { HIDDEN, type JobSigns } from './job-signs.js';
import type { QueueState } from './queue-signs.js';
import { START_HANDLER, type Finding, type Remedy } from './rule.js';
import { holdingBack } from './verdict.js';
import { sharedLimitInWords } from './shared-limit-rules.js';
import { count, duration } from './words.js';

/** A claim of a Redis pattern's client that is older than this may have lost its owner, in ms. */
const LONG_CLAIM_MS = 60_000;

const WORKERS: Remedy = { at: 'workers' };
const GROUPS: Remedy = { at: 'groups' };

/** Why a job does not run now, in words; undefined for one that runs. */
export type Reason = { because: string; next?: string; remedy?: Remedy } | undefined;

/**
 * Returns why a job is not running: when it starts, what it waits for, or how it ended.
 *
 * @example whyNotRunning(job, { queue: 'email', stats }); // { because: 'it starts in 3 min, as its delay asks' }
 */
export function whyNotRunning(job: JobFacts, signs: JobSigns): Reason {
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
      return { because: cancelOf(job) };
    case 'failed':
      return dead(job);
  }
}

function cancelOf({ supersededBy }: JobFacts): string {
  return supersededBy === undefined
    ? 'it was cancelled'
    : `it was cancelled, because the newer job ${supersededBy} took its unique key`;
}

function running(job: JobFacts, signs: JobSigns): Reason {
  const { stats, at = new Date() } = signs;
  if (signs.hasExpired) {
    const owner = job.worker === undefined ? 'its worker' : `worker ${job.worker}`;
    return {
      because: `its claim has expired: ${owner} died, hangs, or is cut off`,
      next: reclaimOf(signs),
      remedy: WORKERS,
    };
  }
  if (job.isolated) {
    return {
      because: `claimed by ${job.worker ?? 'a worker'}, it waits there to run alone, because its worker died ${times(job.crashes)}`,
      next: 'look at what else runs there',
      remedy: WORKERS,
    };
  }
  if (job.unstarted) {
    return {
      because: `claimed by ${job.worker ?? 'a worker'}, it waits there for a slot`,
      next: 'look at what runs there; `prefetch: 0` leaves such jobs to other workers',
      remedy: WORKERS,
    };
  }
  if (job.cancelRequestedAt) {
    const since = duration(at.getTime() - job.cancelRequestedAt.getTime());
    return {
      because: `it runs; a cancel was asked for ${since} ago${job.supersededBy === undefined ? '' : `, because the newer job ${job.supersededBy} took its unique key`}`,
      next: 'its handler decides: it should stop when its signal aborts',
    };
  }
  const claimedForMs = at.getTime() - (job.claimedAt?.getTime() ?? 0);
  return stats.foreignClaims !== undefined && job.worker === undefined && claimedForMs > LONG_CLAIM_MS
    ? {
        because: 'a client of the Redis pattern claimed it and has not ended it',
        next: reclaimOf(signs),
        remedy: WORKERS,
      }
    : undefined;
}

function reclaimOf({ stats, sinceMaintenanceMs = 0 }: JobSigns): string {
  return sinceMaintenanceMs > 0 || stats.maintainedAt === null
    ? 'start a process whose maintenance is on: no process maintains the queue'
    : 'wait for the next maintenance, which reclaims it';
}

function scheduled(job: JobFacts, signs: JobSigns): Reason {
  const { at = new Date() } = signs;
  if (job.after) {
    return after(job.queue, job.after, signs.hiddenBefore);
  }
  const parked = waiting(job, at);
  if (parked) {
    return parked;
  }
  const inMs = (job.dueAt?.getTime() ?? 0) - at.getTime();
  if (inMs > 0) {
    return { because: `it starts in ${duration(inMs)}: ${delayOf(job)}`, next: 'promote it to start it now' };
  }
  const hold = holdingBack(signs);
  return hold?.cause === undefined
    ? {
        because: 'it is due, and the next claim or sweep takes it',
        next: 'look for a worker if it stays',
        remedy: WORKERS,
      }
    : heldBy(hold);
}

/** Returns what a parked job waits for; undefined for any other. Its last attempt has ended by the wait. */
function waiting(job: JobFacts, at: Date): Reason {
  const open = openWaits(job);
  if (open.length === 0) {
    return undefined;
  }
  const names = open.map(({ name, kind, since, until }) => {
    const limit = until === undefined ? '' : `, ${duration(until.getTime() - at.getTime())} more`;
    const what = kind === 'sleep' ? `sleeps: ${name}` : `waits for the signal ${name}`;
    return `${what}, since ${duration(at.getTime() - since.getTime())}${limit}`;
  });
  const isAsleep = open.every(({ kind }) => kind === 'sleep');
  return {
    because: `it ${names.join('; it ')}`,
    ...(!isAsleep && { next: 'send the signal, or cancel the job' }),
  };
}

function after(home: string, [first, ...others]: readonly JobReference[], hidden = 0): Reason {
  if (first === undefined) {
    const jobs = hidden === 1 ? 'a job that you may not see' : `${count(hidden)} jobs that you may not see`;
    return { because: `it starts after ${jobs}` };
  }
  const left = others.length + hidden;
  const place = first.queue === home ? '' : ` of the queue ${first.queue}`;
  return {
    because: `it starts after job ${first.id}${place}${left === 0 ? '' : ` and ${count(left)} more`}`,
    next: 'look at that job if it takes long',
  };
}

function delayOf({ attempts, errors, crashes, attemptLog }: JobFacts): string {
  if (attemptLog.at(-1)?.outcome === 'snooze') {
    return 'its handler snoozed it';
  }
  return errors + crashes > 0 ? `attempt ${attempts} failed, and its backoff is not over` : 'its delay asks so';
}

/** A hold of the whole queue comes before a hold of one group. */
const HOLD_ALL: readonly QueueState[] = ['paused', 'stuck'];

function pending(job: JobFacts, signs: JobSigns): Reason {
  const hold = holdingBack(signs);
  if (signs.unserved?.some(({ name }) => name === job.name) && hold?.state !== 'paused') {
    return {
      because: `no live worker handles \`${job.name}\``,
      next: START_HANDLER,
      remedy: WORKERS,
    };
  }
  const inGroup = groupReason(signs);
  if (inGroup && !(hold && HOLD_ALL.includes(hold.state))) {
    return inGroup;
  }
  return hold?.cause === undefined ? waitsItsTurn(signs) : heldBy(hold);
}

/** Returns the reason of a job that the whole queue holds back. */
function heldBy({ cause = '', next, remedy }: Finding): Reason {
  return { because: cause, ...(next !== undefined && { next }), ...(remedy && { remedy }) };
}

function waitsItsTurn(signs: JobSigns): Reason {
  const { ahead } = signs;
  const before =
    ahead === undefined
      ? 'other jobs are before it'
      : `${count(ahead)} ${ahead === 1 ? 'job is' : 'jobs are'} before it`;
  const busy = takesNone(signs);
  if (busy !== undefined) {
    return { because: ahead === 0 ? `${busy}; it is next` : `${busy}, and ${before}` };
  }
  return { because: ahead === 0 ? 'it is next' : before };
}

function takesNone({
  stats,
  slots = Infinity,
  maxRunning = Infinity,
  usedSlots = stats.processing,
  pausedWorkers = 0,
}: JobSigns): string | undefined {
  const { workers, processing } = stats;
  if (workers === 0 && stats.foreignClaims === undefined) {
    return 'no worker serves the queue now';
  }
  if (workers > 0 && pausedWorkers >= workers) {
    return 'all workers of the queue are paused in their process';
  }
  if (processing >= maxRunning) {
    return `${processing === 1 ? '1 job of the queue runs' : `${count(processing)} jobs of the queue run`}, as many as may`;
  }
  const all = slots === 1 ? 'the only slot is busy' : `all ${count(slots)} slots are busy`;
  return usedSlots >= slots ? all : undefined;
}

/** Returns what keeps all jobs of its group from running, in words; undefined for nothing. */
function groupReason({ group, groupLimits, fullKeys, at = new Date() }: JobSigns): Reason {
  const hold = group && groupHoldOf(group, groupLimits, at);
  if (!hold) {
    return undefined;
  }
  const name = group.name === HIDDEN ? 'its group' : `its group \`${group.name}\``;
  switch (hold.by) {
    case 'pause':
      return {
        because: `${name} has been paused for ${duration(at.getTime() - hold.since.getTime())}${pauseNote(hold)}`,
        next: 'resume the group when its jobs may run again',
        remedy: GROUPS,
      };
    case 'job':
      if (hold.id === undefined) {
        return { because: `${name} waits for a job that you may not see` };
      }
      return {
        because: `${name} waits for job ${hold.id}`,
        next: 'look at that job: redrive or discard it where it failed',
        remedy: GROUPS,
      };
    case 'rate':
      if (fullKeys) {
        const held = fullKeys.map((key) => `${key.name}: ${sharedLimitInWords(key, at)}`).join('; ');
        return {
          because: `${name} waits for a permit of its key of the limit ${held}`,
          next: 'raise the limit of this key if this is too slow',
          remedy: { at: 'shared-limit' },
        };
      }
      return { because: `${name} rests for ${duration(hold.until.getTime() - at.getTime())}, as its rate asks` };
    case 'max-running':
      return {
        because: `${hold.running === 1 ? `1 job of ${name} runs` : `${count(hold.running)} jobs of ${name} run`}, as many as may`,
        next: 'raise `maxRunning` of the group if this is too slow',
        remedy: GROUPS,
      };
  }
}

const times = (number: number) => (number === 1 ? 'once' : `${count(number)} times`);

function dead(job: JobFacts): Reason {
  const { crashes, lastError, attempts, maxAttempts } = job;
  const of = maxAttempts === undefined ? '' : ` of ${maxAttempts}`;
  return {
    because: `it failed for good in attempt ${attempts}${of}${lastError ? `: ${lastError}` : ''}`,
    next:
      crashes > 0
        ? `find why its worker died ${times(crashes)}, before it kills another; a redrive runs it alone in its worker`
        : 'fix the cause, then redrive it',
  };
}
