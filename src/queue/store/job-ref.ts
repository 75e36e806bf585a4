// How hashes and scripts write lists of ids, and jobs and batches of other queues. No id has a control character, so a
// line feed separates ids, and a tab a queue from an id.
import type { BatchFollowUp, FollowUpKind, JobReference } from '../model/batch.js';
import type { JobRecord, JobStatus } from '../model/job.js';
import { BATCH_ELSEWHERE_PREFIX, BATCH_PREFIX } from '../validation/names.js';

/** The status that a job must have for a change. */
export interface StatusCondition {
  /** The required status of the job; in another one nothing happens. */
  ifStatus?: JobStatus;
}

/** Returns how a job or a batch of another queue is written; see lua/lib/batch/end_member. */
export function refTo(queue: string, id: string): string {
  return `${queue}\t${id}`;
}

/** Returns how a follow-up names its batch. */
export function followUpRef(batch: string): string {
  return refTo('', batch);
}

/**
 * Returns the start of the ids of a batch's follow-ups, before a colon and the kind. In another queue than the batch's a
 * batch of the same id may have follow-ups of its own.
 */
export function followUpMaker(home: string, batch: string, queue: string): string {
  return queue === home ? `${BATCH_PREFIX}${batch}` : `${BATCH_ELSEWHERE_PREFIX}${home} ${batch}`;
}

/**
 * Returns a follow-up as the record of its batch shows it.
 *
 * @param elsewhere its queue and its id, as refTo returns them; '' for the queue of the batch
 */
export function followUpOf(
  batch: JobReference,
  kind: FollowUpKind,
  { elsewhere, isOnItsWay }: { elsewhere: string; isOnItsWay: boolean },
): BatchFollowUp {
  const own = `${followUpMaker(batch.queue, batch.id, batch.queue)}:${kind}`;
  return {
    kind: kind === 'on_failure' ? 'onFailure' : kind,
    ...splitRef(batch.queue, elsewhere === '' ? own : elsewhere),
    ...(isOnItsWay && { isOnItsWay }),
  };
}

/** Returns whether a text refers to another queue, or to the batch of a follow-up. Otherwise it is an id. */
export function isRef(text: string): boolean {
  return text.includes('\t');
}

/** Splits a reference. The queue of a follow-up's batch is ''. @param home the queue of an id without one */
export function splitRef(home: string, ref: string): JobReference {
  const tab = ref.indexOf('\t');
  return tab < 0 ? { queue: home, id: ref } : { queue: ref.slice(0, tab), id: ref.slice(tab + 1) };
}

/** Returns what the worker of a job reads of its batch. @param batch as the hash of the job has it */
export function batchFields(batch: string): { batch: string } | { member: string } {
  const { queue, id } = splitRef('', batch);
  if (!isRef(batch)) {
    return { member: id };
  }
  return queue === '' ? { batch: id } : { member: batch };
}

/** Returns the ids of a list as a hash has it. */
function idsOf(list = ''): string[] {
  return list.split('\n').filter(Boolean);
}

/** Stands for callers among the jobs that wait for a job; see lua/lib/after/dependents. */
const CALLERS = '\r';

/** Returns the jobs of a list as a hash has it. @param home the queue of an id without one */
export function refsOf(home: string, list: string): JobReference[] {
  return idsOf(list)
    .filter((ref) => ref !== CALLERS)
    .map((ref) => splitRef(home, ref));
}

/** Returns the ids of the dead letter before a job, and of the new job after it. */
export function redrivenField(from: string | undefined, as: string | undefined): Pick<JobRecord, 'redriven'> {
  const ids = { ...(from !== undefined && { from }), ...(as !== undefined && { as }) };
  return from === undefined && as === undefined ? {} : { redriven: ids };
}
