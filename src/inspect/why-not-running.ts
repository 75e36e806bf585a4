// Why a job is not running: what is read of it, and the reason in words.
import type { JobQueue } from '../queue/job-queue.js';
import type { JobReference } from '../queue/model/batch.js';
import type { GroupStats } from '../queue/model/group.js';
import type { JobRecord } from '../queue/model/job.js';
import type { GroupLimits } from '../queue/model/limits.js';
import type { SharedLimitState } from '../queue/model/shared-limit.js';
import type { JobFacts } from '../queue/store/shown-content.js';
import { openWaits } from './job-words.js';
import { sharedLimitInWords } from './limit-rules.js';
import type { QueueState, QueueSigns } from './queue-signs.js';
import { START_HANDLER, type Finding, type Remedy } from './rule.js';
import { readFullKeys, readSigns } from './signs.js';
import { holdingBack } from './verdict.js';
import { count, duration } from './words.js';

/** A claim of a Redis pattern's client that is older than this may have lost its owner, in ms. */
const LONG_CLAIM_MS = 60_000;

const AT_WORKERS: Remedy = { at: 'workers' };
const AT_GROUPS: Remedy = { at: 'groups' };

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
      return runs(job, signs);
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

function runs(job: JobFacts, signs: JobSigns): Reason {
  const { stats, at = new Date() } = signs;
  if (signs.hasExpired) {
    const owner = job.worker === undefined ? 'its worker' : `worker ${job.worker}`;
    return {
      because: `its claim has expired: ${owner} died, hangs, or is cut off`,
      next: reclaimOf(signs),
      remedy: AT_WORKERS,
    };
  }
  if (job.isolated) {
    return {
      because: `claimed by ${job.worker ?? 'a worker'}, it waits there to run alone, because its worker died ${times(job.crashes)}`,
      next: 'look at what else runs there',
      remedy: AT_WORKERS,
    };
  }
  if (job.unstarted) {
    return {
      because: `claimed by ${job.worker ?? 'a worker'}, it waits there for a slot`,
      next: 'look at what runs there; `prefetch: 0` leaves such jobs to other workers',
      remedy: AT_WORKERS,
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
        remedy: AT_WORKERS,
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
        remedy: AT_WORKERS,
      }
    : heldByQueue(hold);
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
      remedy: AT_WORKERS,
    };
  }
  const inGroup = groupReason(signs);
  if (inGroup && !(hold && HOLD_ALL.includes(hold.state))) {
    return inGroup;
  }
  return hold?.cause === undefined ? waitsItsTurn(signs) : heldByQueue(hold);
}

/** Returns the reason of a job that the whole queue holds back. */
function heldByQueue({ cause = '', next, remedy }: Finding): Reason {
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
        remedy: AT_GROUPS,
      };
    case 'job':
      if (hold.id === undefined) {
        return { because: `${name} waits for a job that you may not see` };
      }
      return {
        because: `${name} waits for job ${hold.id}`,
        next: 'look at that job: redrive or discard it where it failed',
        remedy: AT_GROUPS,
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
        remedy: AT_GROUPS,
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

/** The reasons why a group runs no job. */
export type GroupHold =
  | { by: 'pause'; since: Date; until?: Date; who?: string; why?: string }
  /** Without an id: a job that the viewer may not see. */
  | { by: 'job'; id?: string }
  | { by: 'rate'; until: Date }
  | { by: 'max-running'; running: number };

/** Returns what holds a group back; undefined for nothing. @param limits of each group without limits of its own */
export function groupHoldOf(group: ShownGroup, limits: GroupLimits = {}, at = new Date()): GroupHold | undefined {
  const { pausedAt, pausedBy, pauseReason, pausedUntil, heldBy, opensAt, running } = group;
  if (pausedAt) {
    const note = {
      ...(pausedBy !== undefined && { who: pausedBy }),
      ...(pauseReason !== undefined && { why: pauseReason }),
      ...(pausedUntil !== undefined && { until: pausedUntil }),
    };
    return { by: 'pause', since: pausedAt, ...note };
  }
  if (heldBy !== null) {
    return { by: 'job', ...(heldBy !== HIDDEN && { id: heldBy }) };
  }
  if (opensAt && opensAt > at) {
    return { by: 'rate', until: opensAt };
  }
  return isFull(group, limits) ? { by: 'max-running', running } : undefined;
}

/** Returns whether a group runs as many jobs as it may. @param ofAll the limits of each group without its own */
export function isFull({ running, limits }: Pick<GroupStats, 'running' | 'limits'>, ofAll: GroupLimits): boolean {
  const { maxRunning = ofAll.maxRunning ?? Infinity } = limits;
  return running >= maxRunning;
}

/** Returns who paused it and why, as far as it is known: ` by ada: a leak`. */
export function pauseNote({ who, why }: { who?: string; why?: string }): string {
  return `${who === undefined ? '' : ` by ${who}`}${why === undefined ? '' : `: ${why}`}`;
}

/** The number of places that are read at the front of a queue. */
const MOST_AHEAD = 100;
/** Leaves all values out, because only the place is needed. */
const MOST_BYTES = 0;

/** The number of expired claims that are read, the oldest first. */
const MOST_EXPIRED = 100;

/** Stands for a name that the viewer may not see. */
export const HIDDEN = Symbol('hidden');

/** A group as a viewer may see it. */
export type ShownGroup = Omit<GroupStats, 'name' | 'heldBy'> & {
  name: string | typeof HIDDEN;
  heldBy: string | typeof HIDDEN | null;
};

/** The facts about a job beside its record. */
export interface JobSigns extends QueueSigns {
  /** The number of jobs in its `after` that the viewer may not see, and the record lacks. */
  hiddenBefore?: number;
  /** The number of jobs before this one. Absent if they are too many to count. */
  ahead?: number;
  /** True if its claim has expired, and maintenance has not reclaimed the job. */
  hasExpired?: true;
  /** The attempts that the handler allows. Absent if the job has its own number, or no worker has announced one. */
  maxAttempts?: number;
  /** The group of the job, if it has one. */
  group?: ShownGroup;
  /** The limits of which the key of its group has no free permit. Absent for none. */
  fullKeys?: readonly SharedLimitState[];
}

/** Reads what says why a job is not running: eight script calls at most, whatever the length of the queue. One more for each limit with a key. */
export async function readJobSigns(
  queue: JobQueue,
  job: Pick<JobRecord, 'id' | 'name' | 'status' | 'group' | 'maxAttempts'>,
): Promise<JobSigns> {
  const [signs, ahead, group, ofHandler] = await Promise.all([
    readSigns(queue),
    job.status === 'pending' ? jobsAhead(queue, job.id) : undefined,
    job.group === undefined ? undefined : queue.groups.get(job.group),
    job.maxAttempts === undefined
      ? queue.exec((calls) => calls.workers.handlerLimits({ name: job.name }))
      : undefined,
  ]);
  const fullKeys = group?.opensAt ? await readFullKeys(queue, signs.sharedLimits ?? [], group.name) : [];
  const hasExpired =
    job.status === 'processing' && (await isAmongExpired(queue, job.id, signs.stats.expiredClaims));
  return {
    ...signs,
    ...(ahead !== undefined && { ahead }),
    ...(ofHandler && { maxAttempts: ofHandler.maxAttempts }),
    ...(hasExpired && { hasExpired: true as const }),
    ...(group && { group }),
    ...(fullKeys.length > 0 && { fullKeys }),
  };
}

async function jobsAhead(queue: JobQueue, id: string): Promise<number | undefined> {
  const first = await queue.list('pending', { limit: MOST_AHEAD, mostBytes: MOST_BYTES });
  const place = first.findIndex((each) => each.id === id);
  return place < 0 ? undefined : place;
}

/**
 * Returns true if the job's claim has expired. The list of claimed jobs begins with the claims that expire first.
 */
async function isAmongExpired(queue: JobQueue, id: string, expired: number): Promise<boolean> {
  if (expired === 0) {
    return false;
  }
  const limit = Math.min(expired, MOST_EXPIRED);
  return (await queue.list('processing', { limit, mostBytes: MOST_BYTES })).some((each) => each.id === id);
}
