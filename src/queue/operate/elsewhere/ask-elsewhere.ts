// What a producer asks other queues before it sends jobs.
import type { AskedOptions } from '../../store/asked-options.js';
import { EnqueueRejected, type EncodedJob } from '../../store/enqueue-call.js';
import { refTo, splitRef } from '../../store/job-ref.js';
import type { BatchAdder, DependOutcome, KnownOutcome } from '../../verbs/batch.js';
import { groupBy } from '../../runtime/collections.js';
import type { OpenedQueues } from '../opened-queues.js';

/** The most pairs, or members, of one script call. */
const SLICE = 500;

/** A new job, and a job of another queue that it waits for. */
interface Pair {
  waiting: string;
  queue: string;
  id: string;
}

/**
 * Notes in other queues that new jobs wait for jobs there. This comes before the enqueue, so that an end is reported
 * whenever it comes. Removes the jobs that have completed from the options of the new jobs. Writes down why one cannot wait, and
 * its enqueue says so unless the new job is known already.
 *
 * @throws the error of a call to another queue; nothing is enqueued yet
 */
export async function dependElsewhere(
  queue: { readonly name: string },
  others: OpenedQueues,
  jobs: readonly EncodedJob[],
): Promise<void> {
  const pairs = jobs.flatMap(({ id: waiting, afterElsewhere = [] }) =>
    afterElsewhere.map(({ queue: name, id }): Pair => ({ waiting, queue: name, id })),
  );
  const outcomes = new Map<string, DependOutcome>();
  for (const [name, all] of groupBy(pairs, (pair) => pair.queue)) {
    for (let start = 0; start < all.length; start += SLICE) {
      const slice = all.slice(start, start + SLICE);
      const replies = await others.run(name, (calls) => calls.batches.depend({ home: queue.name, pairs: slice }));
      slice.forEach((pair, i) => outcomes.set(keyOf(pair), replies[i]!));
    }
  }
  for (const job of jobs) {
    if (job.afterElsewhere) {
      job.options = decided(job, outcomes);
    }
  }
}

/** Returns the options of a job after the replies of the other queues. */
function decided(
  { id: waiting, options, afterElsewhere = [] }: EncodedJob,
  outcomes: ReadonlyMap<string, DependOutcome>,
): AskedOptions {
  const asked = { ...options };
  for (const { queue, id } of afterElsewhere) {
    const outcome = outcomes.get(keyOf({ waiting, queue, id }))!;
    const ref = refTo(queue, id);
    if (outcome === 'completed') {
      asked.after = asked.after!.filter((each) => each !== ref);
    } else if (outcome !== 'open') {
      asked.afterRefusal ??= [outcome, ref];
    }
  }
  return asked;
}

function keyOf({ waiting, queue, id }: Pair): string {
  return refTo(waiting, refTo(queue, id));
}

/** Returns the batch in another queue that a job joins; undefined for another job. */
export function batchElsewhere({ options }: EncodedJob): string | undefined {
  const { batch } = options ?? {};
  return batch !== undefined && splitRef('', batch).queue !== '' ? batch : undefined;
}

/**
 * Asks batches in other queues about the jobs that join them. Notes in their options which jobs are members already. Their
 * enqueue adds them no second time, even if their hash is gone.
 *
 * @throws EnqueueRejected for a job that its batch does not take; the error of a call to another queue. Nothing is
 *   enqueued yet
 */
export async function askBatches(
  queue: { readonly name: string },
  others: OpenedQueues,
  jobs: readonly EncodedJob[],
): Promise<void> {
  for (const [batch, members] of groupBy(jobs, batchElsewhere)) {
    if (batch === undefined) {
      continue;
    }
    const home = splitRef('', batch);
    const adder = adderIn(home.queue, queue.name, members[0]!);
    for (let start = 0; start < members.length; start += SLICE) {
      const slice = members.slice(start, start + SLICE);
      const refs = slice.map(({ id }) => refTo(queue.name, id));
      const replies = await others.run(home.queue, (calls) =>
        calls.batches.known({ id: home.id, members: refs, adder }),
      );
      slice.forEach((job, i) => noteReply(job, replies[i]!, batch));
    }
  }
}

/** Returns the running member that adds a job, as the queue of its batch knows it; undefined for none. */
function adderIn(home: string, queue: string, { options }: EncodedJob): BatchAdder | undefined {
  if (!options?.addedBy) {
    return undefined;
  }
  const [own, id, token] = options.addedBy;
  const place = own === '' ? queue : own;
  return place === home ? { member: id, token } : { member: refTo(place, id), token: '' };
}

/** @throws EnqueueRejected */
function noteReply(job: EncodedJob, reply: KnownOutcome, batch: string): void {
  if (reply === 'known') {
    job.options = { ...job.options, wasMember: true };
  } else if (reply !== 'new') {
    throw new EnqueueRejected(job, 0, {
      reason: reply,
      about: reply === 'lost' ? job.options!.addedBy![1] : batch,
    });
  }
}
