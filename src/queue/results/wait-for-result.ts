import { CodecError, codecOf } from '../codec/codec.js';
import { isEncoded } from '../codec/stored-value.js';
import {
  InvalidOptionError,
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  JobTimeoutError,
} from '../errors/errors.js';
import type { Clock } from '../runtime/clock.js';
import type { JobEvent } from '../model/job-event.js';
import type { JobRecord } from '../model/job.js';
import { InterruptibleWait, onceAborted, within } from '../runtime/waits.js';
import { show } from '../errors/show.js';

/** The interval in which a waiting caller polls, in ms, because an event can be missed. */
const LOOK_EVERY_MS = 2_000;
const LOOK_EVERY_MS_WITHOUT_EVENTS = 200;

/** The time the last poll may take after the time limit, in ms, before a silent server counts as gone. */
const LAST_LOOK_MS = 500;

/** The source of a queue's results. */
interface ResultSource {
  queue: string;
  /** The required name of the job; undefined for any. */
  name?: string;
  clock: Clock;
  /** Subscribes to the events of the job; absent if its queue publishes none. */
  subscribe: ((listener: (event: JobEvent) => void) => Promise<() => void>) | undefined;
  /** Functions that end the waits in flight with an error; a close of the queue calls them. */
  pending: Set<(error: Error) => void>;
  get(id: string): Promise<JobRecord | null>;
  /** Keeps the record of the job for this caller, for some ms after now. */
  hold(id: string, forMs: number): Promise<void>;
}

/**
 * Waits until a job has ended: by event, with a look behind it.
 *
 * @param timeoutMs how long to wait, in ms
 * @param abort ends the wait, which rejects with its reason
 * @returns the handler's result; undefined where it returned none
 * @throws JobFailedError, JobCancelledError, JobNotFoundError, JobTimeoutError, QueueClosedError
 */
export async function waitForResult(
  source: ResultSource,
  id: string,
  timeoutMs: number,
  abort?: AbortSignal,
): Promise<unknown> {
  abort?.throwIfAborted();
  const ending = new AbortController();
  const end = (reason: unknown) => ending.abort(reason);
  const follow = () => end(abort!.reason);
  const unfollow = abort && onceAborted(abort, follow);
  source.pending.add(end);
  const late = () => {
    ending.signal.throwIfAborted();
    throw new JobTimeoutError(id, timeoutMs);
  };
  try {
    const result = listenAndLook(source, id, timeoutMs, ending.signal);
    return await within(source.clock, timeoutMs + LAST_LOOK_MS, result, late, { signal: ending.signal });
  } finally {
    unfollow?.();
    source.pending.delete(end);
  }
}

async function listenAndLook(
  source: ResultSource,
  id: string,
  timeoutMs: number,
  abort: AbortSignal,
): Promise<unknown> {
  const signal = new Signal(source.clock);
  const deadline = source.clock.now() + timeoutMs;
  const end = () => signal.set();
  abort.addEventListener('abort', end);
  const listening = await source.subscribe?.(() => signal.set());
  const hold = holding(source, id, deadline);
  try {
    for (let looks = 0; ; looks++) {
      abort.throwIfAborted();
      const job = await source.get(id);
      if (!job) {
        throw new JobNotFoundError(id, source.queue);
      }
      requireName(job, source.name);
      if (job.status === 'completed' || job.status === 'failed' || job.status === 'cancelled') {
        return outcome(job);
      }
      const left = deadline - source.clock.now();
      if (left <= 0) {
        throw new JobTimeoutError(id, timeoutMs);
      }
      if (looks > 0) {
        await hold();
      }
      await signal.wait(Math.min(left, listening ? LOOK_EVERY_MS : LOOK_EVERY_MS_WITHOUT_EVENTS));
    }
  } finally {
    listening?.();
    abort.removeEventListener('abort', end);
  }
}

/** The longest time for which one call keeps a record, in ms. A process that dies holds it no longer. */
const LONGEST_HOLD_MS = 600_000;

/** The time for which a record is kept beyond the time limit of its caller, in ms. */
const HOLD_BEYOND_MS = 10_000;

/**
 * Returns a function that keeps the record of the job for this caller, so that the caller may be cut off for a while and
 * still reads it. It is called while the caller waits. A wait of less than two seconds costs nothing.
 */
function holding({ clock, hold }: ResultSource, id: string, deadline: number): () => Promise<void> {
  let heldUntil = 0;
  return async () => {
    const now = clock.now();
    const forMs = Math.min(LONGEST_HOLD_MS, deadline - now + HOLD_BEYOND_MS);
    if (heldUntil < deadline && heldUntil - now < forMs / 2) {
      heldUntil = now + forMs;
      await hold(id, forMs);
    }
  };
}

/** Refuses the result of a job with another name, because the wrong schema would parse it. */
function requireName({ id, name }: JobRecord, wanted: string | undefined): void {
  if (wanted !== undefined && name !== wanted) {
    throw new InvalidOptionError(
      `result of job ${id}`,
      `a job ${show(wanted)}`,
      `a job ${show(name)}`,
      'The enqueue found another job: read it by its own name or definition.',
    );
  }
}

function outcome(job: JobRecord): unknown {
  if (job.status === 'cancelled') {
    throw new JobCancelledError(job.id, job.supersededBy, job.movedTo);
  }
  if (job.status === 'failed') {
    const error = job.attemptLog.at(-1)?.error;
    throw new JobFailedError(job.id, job.lastError ?? 'unknown', job.attempts, error?.name ?? 'Error');
  }
  if (isEncoded(job.result)) {
    throw new CodecError(
      `The codec "${codecOf(job.result)}" stored the result of job ${job.id}; this process cannot read it.`,
    );
  }
  return job.result;
}

/** A flag that can be waited for; waiting clears it. */
class Signal {
  private raised = false;
  private readonly interruptible: InterruptibleWait;

  constructor(clock: Clock) {
    this.interruptible = new InterruptibleWait(clock);
  }

  set(): void {
    this.raised = true;
    this.interruptible.end();
  }

  async wait(ms: number): Promise<void> {
    if (!this.raised) {
      await this.interruptible.wait(ms);
    }
    this.raised = false;
  }
}
