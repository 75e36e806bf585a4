// A job as the model knows it. Instants are ms of the server's clock, with the time that the test let pass on top.
import type { JobStatus } from '#queue/model/job.js';
import type { JobMetadata } from '#queue/model/metadata.js';

export interface ModelJob {
  id: string;
  name: string;
  payload: unknown;
  /** Says in which one place the job is; see places.ts. */
  status: JobStatus;

  // What it was asked for.
  priority: number;
  maxAttempts?: number;
  maxCrashes?: number;
  backoffMs?: number;
  metadata?: JobMetadata;
  expiresAt?: number;
  /** The unique key that it holds until it is claimed or ends. */
  unique?: string;
  uniqueFor?: 'pending' | 'unfinished';
  /** The unique key that it holds for a time. */
  window?: string;
  schedule?: string;

  // Where it stands.
  enqueuedAt: number;
  /** When it became claimable again. */
  readyAt?: number;
  /** Its place among the jobs with a priority. */
  rank?: number;
  dueAt?: number;

  // Its claim. The token is '' while it has none; the fence is that of the last one.
  token: string;
  fence?: number;
  worker?: string;
  claimExpiresAt?: number;
  cancelRequested: boolean;

  // What became of its attempts.
  attempts: number;
  errors: number;
  crashes: number;
  interruptions: number;
  snoozes: number;
  /** How the claims ended that did not complete, the newest 20. */
  outcomes: { fence: number; outcome: string }[];
  lastError?: string;
  progress?: unknown;
  log: string[];

  // Its end.
  result?: unknown;
  endedAt?: number;
  /** When Redis forgets it; a dead letter is never forgotten so. */
  forgottenAt?: number;
}

export function freshJob(id: string, name: string, payload: unknown, now: number): ModelJob {
  return {
    id,
    name,
    payload,
    status: 'pending',
    priority: 0,
    enqueuedAt: now,
    token: '',
    cancelRequested: false,
    attempts: 0,
    errors: 0,
    crashes: 0,
    interruptions: 0,
    snoozes: 0,
    outcomes: [],
    log: [],
  };
}
