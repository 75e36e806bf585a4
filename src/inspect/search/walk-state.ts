import type { JobQueue } from '../../queue/job-queue.js';
import type { JobRecord, JobStatus } from '../../queue/model/job.js';
import type { Search } from './compile-search.js';

/** The most jobs of one reading. */
const SLICE = 250;
/** The same where it reads payloads. */
const SLICE_WITH_PAYLOADS = 100;
/** The length from which lists leave out payloads and other values, in bytes. */
export const LIST_BYTES = 4_096;
/** The same for a search in payloads. */
const PAYLOAD_BYTES = 65_536;

/** One slice of a walk through the jobs of one state. */
interface WalkSlice {
  jobs: JobRecord[];
  /** The number of places of the list that were read. */
  looked: number;
  /** The start of the next slice; null at the end. */
  cursor: string | null;
}

/**
 * Reads the jobs of one state slice by slice. Dead letters are walked by their score, so that none is missed while
 * others leave. Other states are walked by list index.
 */
export async function walkSlice(
  queue: Pick<JobQueue, 'list' | 'stats' | 'deadLetters'>,
  state: JobStatus,
  cursor: string | null,
  { readsPayloads }: Pick<Search, 'readsPayloads'>,
): Promise<WalkSlice> {
  const limit = readsPayloads ? SLICE_WITH_PAYLOADS : SLICE;
  const mostBytes = readsPayloads ? PAYLOAD_BYTES : LIST_BYTES;
  if (state === 'failed') {
    const page = await queue.deadLetters.list({ limit, mostBytes, ...(cursor === null ? {} : { cursor }) });
    return { jobs: page.jobs, looked: page.jobs.length, cursor: page.cursor ?? null };
  }
  const offset = Number(cursor ?? 0);
  const jobs = await queue.list(state, { offset, limit, mostBytes });
  const stats = await queue.stats();
  const next = offset + limit;
  const total = stats[state];
  return { jobs, looked: Math.max(0, Math.min(limit, total - offset)), cursor: next < total ? String(next) : null };
}
