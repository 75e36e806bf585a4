import type { JobQueue } from '../queue/job-queue.js';
import type { GroupStats } from '../queue/model/group.js';
import type { JobRecord } from '../queue/model/job.js';
import type { SharedLimitState } from '../queue/model/shared-limit.js';
import type { QueueSigns } from './queue-signs.js';
import { readFullKeys, readSigns } from './signs.js';

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
