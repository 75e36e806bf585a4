import type { JobFilter, JobRecord } from '../model/job.js';

/** Which jobs of a state a slice looks for. */
export interface JobQuery extends JobFilter {
  /** Where the slice begins, and how many jobs it looks at. */
  place: number;
  looks: number;
  /** How many matches to pass over, and the most to return. */
  skip: number;
  most: number;
  mostBytes?: number | undefined;
}

export interface FoundJobs {
  jobs: JobRecord[];
  /** How many matches were passed over. */
  passed: number;
  /** Where the next slice begins; undefined when nothing is left. */
  next: number | undefined;
}
