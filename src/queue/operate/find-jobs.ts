import { z } from 'zod';
import { metadataSchema } from '../model/metadata.js';
import { duration, wholeNumber } from '../validation/numbers.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import { checkOptions } from '../validation/validate-options.js';
import type { JobFilter, JobRecord, JobStatus } from '../model/job.js';
import type { QueueAccess } from '../store/queue-store.js';
import type { FoundJobs, JobQuery } from '../store/job-queries.js';

/** The most jobs that one script call looks at. */
const LOOKS = 500;

/** The jobs of a list; all fields must match. */
export interface ListOptions extends JobFilter {
  /** The number of matching jobs to skip. @default 0 */
  offset?: number | undefined;
  /** The most jobs to return, up to 1,000. @default 50 */
  limit?: number | undefined;
  /**
   * Leaves out payloads, results, progress and logs above this size in bytes. `leftOut` then has their length. @default
   * nothing is left out
   */
  mostBytes?: number | undefined;
}

/** The options of a list, with their defaults. */
export const listSchema = z
  .strictObject(
    {
      offset: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
      limit: wholeNumber(1, LARGEST_PAGE).default(50),
      mostBytes: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional(),
      name: z.string({ error: 'expected text' }).min(1, 'expected text').optional(),
      metadata: metadataSchema.optional(),
      olderThanMs: duration(0).optional(),
      newerThanMs: duration(0).optional(),
    },
    { error: 'expected an object of options' },
  )
  .refine(({ olderThanMs = 0, newerThanMs = olderThanMs }) => newerThanMs >= olderThanMs, {
    error: 'expected olderThanMs or more, since nothing is older and newer',
    path: ['newerThanMs'],
  });

/**
 * Lists jobs of one state; with a filter in slices of 500 jobs.
 *
 * @throws InvalidOptionError
 */
export async function findJobs(queue: QueueAccess, status: JobStatus, options: ListOptions): Promise<JobRecord[]> {
  const { offset, limit, mostBytes, ...filter } = checkOptions('list', listSchema, options);
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  if (!isFiltered) {
    return queue.exec((calls) => calls.list({ status, offset, limit, mostBytes }));
  }
  const found = new Map<string, JobRecord>();
  let skip = offset;
  for (let place: number | undefined = 0; place !== undefined && found.size < limit;) {
    const query: JobQuery = { ...filter, place, looks: LOOKS, skip, most: limit - found.size, mostBytes };
    const { jobs, passed, next }: FoundJobs = await queue.exec((calls) => calls.find({ status, query }));
    // A job that moved back in between is read twice.
    jobs.forEach((job) => found.set(job.id, job));
    skip -= passed;
    place = next;
  }
  return [...found.values()];
}
