import { ANY_PAYLOAD, decodeContent } from '../../queue/codec/codec.js';
import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import type { ClaimedJobOptions } from '../../queue/model/job.js';
import type { AskedOptions } from '../memory-store/state/asked-options.js';
import type { MemoryQueue } from '../memory-store/state/memory-queue.js';

/** A job as a test sees it enqueued. */
export interface EnqueuedJob<Payload = unknown> {
  /** The id of the job. */
  readonly id: string;
  /** The name of the job. */
  readonly name: string;
  /** The queue of the job. */
  readonly queue: string;
  /** The enqueued payload. */
  readonly payload: Payload;
  /** The options of its enqueue; absent ones were not given. */
  readonly options: EnqueueOptions;
  /** The schedule whose tick made it. */
  readonly schedule?: string;
  /** The time of its enqueue, by the clock of the test. */
  readonly at: Date;
}

/** Reads a job that was just added. */
export function enqueuedJob(queue: MemoryQueue, id: string, asked: AskedOptions): EnqueuedJob {
  const job = queue.job(id)!;
  return {
    id,
    name: job.name ?? queue.name,
    queue: queue.name,
    payload: decodeContent(queue.options.codec, JSON.parse(job.payload!), 'payload', {
      queue: queue.name,
      id,
      payloadId: ANY_PAYLOAD,
    }),
    options: optionsOf(asked),
    ...(job.schedule !== undefined && { schedule: job.schedule }),
    at: new Date(queue.now),
  };
}

function optionsOf(asked: AskedOptions): EnqueueOptions {
  const { delayMs: _delayMs, runAtMs: _runAtMs, ...worker } = JSON.parse(asked.worker ?? '{}') as ClaimedJobOptions;
  const options: EnqueueOptions = {
    delayMs: asked.delay_ms,
    runAt: asked.run_at_ms === undefined ? undefined : new Date(asked.run_at_ms),
    priority: asked.priority,
    cost: asked.cost,
    group: asked.group,
    maxCrashes: asked.max_crashes,
    expiresInMs: asked.expires_in_ms,
    unique: uniqueOf(asked),
    ...worker,
    maxAttempts: asked.max_attempts,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function uniqueOf({ unique, unique_for, unique_replace }: AskedOptions): EnqueueOptions['unique'] {
  if (unique === undefined) {
    return undefined;
  }
  const lasts = typeof unique_for === 'number' ? { ms: unique_for } : unique_for;
  return {
    key: unique,
    ...(lasts !== undefined && { for: lasts }),
    ...(unique_replace && { onConflict: 'replace' }),
  } as EnqueueOptions['unique'];
}
