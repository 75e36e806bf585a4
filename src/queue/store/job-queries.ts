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

/** The filter of dead letters. */
export interface DeadLetterQuery {
  order: 'oldest' | 'newest';
  name?: string;
  error?: string;
  /** The kind of the last error, as `kinds` counts it. */
  kind?: string;
  olderThanMs?: number;
  newerThanMs?: number;
  /** The last time of failure that counts, server time in ms. */
  untilMs?: number;
  /** The place to continue from; absent: from the beginning. */
  place?: DeadLetterPlace;
  /** The most bytes of a page, as in `list`. */
  mostBytes?: number;
}

/** The place of the dead letter that was read last. */
export interface DeadLetterPlace {
  at: string;
  id: string;
}

export interface DeadLetterSlice {
  /** Server time, in ms. */
  nowMs: number;
  /** The place to continue from; undefined if nothing is left. */
  next: DeadLetterPlace | undefined;
  /** The matches. `job` is there if it was requested and its hash exists. */
  found: { id: string; at: string; job?: JobRecord }[];
}

/** A kind of error among the dead letters, as it was counted when each job died. */
export interface KindCount {
  /** The fingerprint of the error; or @ and a word, for an end that no handler caused. */
  kind: string;
  count: number;
  firstAtMs: number;
  lastAtMs: number;
  /** About how many died in the last hour. */
  lastHour: number;
  /** The last job of the kind, and the bytes of its payload. Absent if it is no dead letter of the kind any more. */
  sample?: { id: string; payloadBytes: number };
  /** What people said of it. Absent for nothing. */
  mark?: MarkWords & { atMs: number; quietUntilMs?: number };
}

/** What people say of a kind of error, without its times. */
export interface MarkWords {
  known?: boolean | undefined;
  note?: string | undefined;
  by?: string | undefined;
}

/** The outcome of a redrive as a new job. */
export interface RedriveAsNewReply {
  /** `known`: it was redriven before, as a job that is still known. `missing`: there is no such dead letter. */
  outcome: 'redriven' | 'known' | 'missing';
  /** The id of the new job, or of the known one; empty if it is missing. */
  id: string;
}
