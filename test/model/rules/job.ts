// A job of the model. Instants are ms of the server's clock, plus the time that the test let pass.
import type { JobStatus } from '#queue/model/job.js';
import type { JobMetadata } from '#queue/model/metadata.js';

export interface ModelJob {
  id: string;
  name: string;
  payload: unknown;
  /** The job's only place, see places.ts. */
  status: JobStatus;

  // The options of its enqueue.
  priority: number;
  maxAttempts?: number;
  maxCrashes?: number;
  backoffMs?: number;
  metadata?: JobMetadata;
  expiresAt?: number;
  /** The unique key that it holds until it is claimed or ends. */
  unique?: string;
  uniqueFor?: 'pending' | 'unfinished';
  /** The unique key that it holds for a fixed time. */
  window?: string;
  schedule?: string;

  // Its place and times.
  enqueuedAt: number;
  /** The time when it became claimable again. */
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

  // The record of its attempts.
  attempts: number;
  errors: number;
  crashes: number;
  interruptions: number;
  snoozes: number;
  /** The ends of the newest 20 incomplete claims. */
  outcomes: { fence: number; outcome: string }[];
  lastError?: string;
  progress?: unknown;
  log: string[];

  // Its end.
  result?: unknown;
  endedAt?: number;
  /** The time when Redis forgets it; undefined for a dead letter, which has no TTL. */
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
