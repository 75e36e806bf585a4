// What the demo server of the Redis documentation's job-queue pattern answers, endpoint by endpoint, as data.
import { expect } from '@jest/globals';

export const ID = expect.stringMatching(/^[0-9A-Za-z]{11,16}$/);

export const STATS = {
  enqueued_total: expect.any(Number),
  completed_total: expect.any(Number),
  failed_total: expect.any(Number),
  reclaimed_total: expect.any(Number),
  pending_depth: expect.any(Number),
  processing_depth: expect.any(Number),
  completed_depth: expect.any(Number),
  failed_depth: expect.any(Number),
  visibility_ms: 1_000,
  workers_running: expect.any(Number),
  worker_processed_total: expect.any(Number),
  work_latency_ms: expect.any(Number),
  fail_rate: expect.any(Number),
  hang_rate: expect.any(Number),
};
export type Stats = Record<keyof typeof STATS, number>;

const PAYLOAD = expect.objectContaining({
  kind: expect.any(String),
  recipient: expect.any(String),
  n: expect.any(Number),
});
const JOB = { id: ID, attempts: expect.any(Number), payload: PAYLOAD, result: null, last_error: null };

/** A job as each of the lists shows it; `last_error` is of a job that failed permanently. */
export const JOBS = {
  pending: expect.arrayOf({ ...JOB, status: 'pending' }),
  processing: expect.arrayOf({ ...JOB, status: 'processing' }),
  completed: expect.arrayOf({ ...JOB, status: 'completed', result: expect.any(Object) }),
  failed: expect.arrayOf({ ...JOB, status: 'failed', last_error: expect.any(String) }),
};

export interface ListedJob {
  id: string;
  status: string;
  attempts: number;
  payload: Record<string, unknown>;
  result: unknown;
  last_error: string | null;
}
export type Jobs = Record<keyof typeof JOBS, ListedJob[]>;

/** The answer to each call. */
export const ANSWERS = {
  'GET /jobs': JOBS,
  'GET /stats': STATS,
  'POST /enqueue': { enqueued: expect.arrayOf(ID), stats: STATS },
  'POST /workers/start': STATS,
  'POST /workers/stop': STATS,
  'POST /workers/configure': STATS,
  'POST /reclaim': { reclaimed: expect.arrayOf(ID), stats: STATS },
  'POST /reset': { stats: STATS },
} as const;

export type Call = keyof typeof ANSWERS;

/** The response of each call, by its type. */
export interface Replies extends Record<Call, unknown> {
  'GET /jobs': Jobs;
  'GET /stats': Stats;
  'POST /enqueue': { enqueued: string[]; stats: Stats };
  'POST /workers/start': Stats;
  'POST /workers/stop': Stats;
  'POST /workers/configure': Stats;
  'POST /reclaim': { reclaimed: string[]; stats: Stats };
  'POST /reset': { stats: Stats };
}
