// The profile of a job: what V8 measures while one attempt runs.

/** `cpu`: which functions took the time. `heap`: which functions allocated the memory. */
export type ProfileKind = 'cpu' | 'heap';

/** The options of a request for a profile. */
export interface ProfileOptions {
  /** The name of the jobs. @default any job of the queue */
  name?: string | undefined;
  /** What is measured. @default `cpu` */
  kind?: ProfileKind | undefined;
  /** How long is measured at most, in ms: from 100 to 300,000. @default 30,000 */
  forMs?: number | undefined;
}

/** A request as its worker gets it. */
export interface ProfileRequest {
  readonly id: string;
  /** '' for any name. */
  readonly name: string;
  readonly kind: ProfileKind;
  readonly forMs: number;
}

/** The last profile of a queue. */
export interface ProfileRecord {
  /** The id of the request. */
  id: string;
  /**
   * `asked`: no attempt has it yet. `running`: an attempt is measured. `done`: the profile can be downloaded. `failed`: `reason`
   * says why there is none.
   */
  state: 'asked' | 'running' | 'done' | 'failed';
  /** The name of the jobs; absent for any. */
  name?: string;
  /** What is measured. */
  kind: ProfileKind;
  /** How long is measured at most, in ms. */
  forMs: number;
  /** The time of the request. */
  askedAt: Date;
  /** The worker that measures. */
  worker?: string;
  /** The id of the measured job. */
  jobId?: string;
  /** The number of the measured attempt, from 1. */
  attempt?: number;
  /** The begin of the measurement. */
  startedAt?: Date;
  /** The time at which the profile was stored. */
  endedAt?: Date;
  /** Why there is no profile. */
  reason?: string;
  /** The bytes of the profile as stored. */
  bytes: number;
}

/** How long a request waits for an attempt, in ms. */
export const PROFILE_WAIT_MS = 600_000;

/** How long a profile is kept, in ms. */
export const PROFILE_KEPT_MS = 3_600_000;

/** How long a worker may take beyond the measured time until the request is over, in ms. */
export const PROFILE_GRACE_MS = 60_000;

/** The most bytes of a profile as stored: compressed, in base64. */
export const MOST_PROFILE_BYTES = 1_048_576;

/** The ending of the file, by which Chrome and speedscope know its kind. */
export const PROFILE_ENDINGS = { cpu: 'cpuprofile', heap: 'heapprofile' } as const;
