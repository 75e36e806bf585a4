import { ANY_PAYLOAD, decodeContent } from '../../queue/codec/codec.js';
import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import { JOB_OPTIONS, type JobOption, type JobOptionName } from '../../queue/model/job-options.js';
import type { AskedOptions } from '../../queue/store/asked-options.js';
import { isRef, splitRef } from '../../queue/store/job-ref.js';
import type { QueueView } from '../../memory/server/queue-view.js';

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
export function enqueuedJob(queue: QueueView, id: string, asked: AskedOptions): EnqueuedJob {
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
    options: optionsOf(queue, id, asked),
    ...(job.schedule !== undefined && { schedule: job.schedule }),
    at: new Date(queue.now),
  };
}

/** Returns the options of the enqueue. The batch of a member is not one of them. */
function optionsOf(queue: QueueView, id: string, asked: AskedOptions): EnqueueOptions {
  const { batch: _batch, stopsBatch: _stopsBatch, addedBy: _addedBy, ...others } = asked;
  const given = Object.entries(others).flatMap(([name, sent]): [string, unknown][] => {
    const option: JobOption | undefined = JOB_OPTIONS[name as JobOptionName];
    return option ? [[name, option.decode ? option.decode(sent as never) : sent]] : [];
  });
  const after = asked.after?.map((ref) => (isRef(ref) ? splitRef(queue.name, ref) : ref));
  const isOwnId = asked.request !== undefined && queue.job(id)?.request === asked.request;
  return { ...(Object.fromEntries(given) as EnqueueOptions), ...(after && { after }), ...(isOwnId && { id }) };
}
