import type { JobFilter, JobRecord } from '../model/job.js';

/** The jobs of a state that a slice searches for. */
export interface JobQuery extends JobFilter {
  /** The beginning of the slice, and the number of jobs to read. */
  place: number;
  looks: number;
  /** The number of matches to skip, and the most to return. */
  skip: number;
  most: number;
  mostBytes?: number | undefined;
}

export interface FoundJobs {
  jobs: JobRecord[];
  /** The number of skipped matches. */
  passed: number;
  /** The beginning of the next slice; undefined if nothing is left. */
  next: number | undefined;
}
