import type { GroupStats } from '../queue/model/group.js';
import type { JobRecord } from '../queue/model/job.js';
import type { QueueSigns } from './queue-signs.js';
import { type InspectedQueue, readSigns } from './signs.js';

/** How many places at the front of a queue are read. */
const MOST_AHEAD = 100;
/** Leaves all values out, because only the place is needed. */
const MOST_BYTES = 0;

/** The facts about a job beside its record. */
export interface JobSigns extends QueueSigns {
  /** The number of jobs before this one. Absent if they are too many to count. */
  ahead?: number;
  /** The group of the job, if it has one. */
  group?: GroupStats;
}

/** A queue as far as the signs of its jobs are read; a JobQueue is one. */
interface InspectedJobs extends InspectedQueue {
  readonly groups: { get(name: string): Promise<GroupStats> };
  list(status: 'pending', options: { limit: number; mostBytes: number }): Promise<Pick<JobRecord, 'id'>[]>;
}

/** Reads what says why a job is not running: six script calls at most, whatever the length of the queue. */
export async function readJobSigns(
  queue: InspectedJobs,
  job: Pick<JobRecord, 'id' | 'status' | 'group'>,
): Promise<JobSigns> {
  const [signs, ahead, group] = await Promise.all([
    readSigns(queue),
    job.status === 'pending' ? jobsAhead(queue, job.id) : undefined,
    job.group === undefined ? undefined : queue.groups.get(job.group),
  ]);
  return { ...signs, ...(ahead !== undefined && { ahead }), ...(group && { group }) };
}

async function jobsAhead(queue: InspectedJobs, id: string): Promise<number | undefined> {
  const first = await queue.list('pending', { limit: MOST_AHEAD, mostBytes: MOST_BYTES });
  const place = first.findIndex((each) => each.id === id);
  return place < 0 ? undefined : place;
}
