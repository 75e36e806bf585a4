// Handles the end of a job for its batch, and for the jobs that wait for it; see lua/lib/batch.
import { idsOf, isRef, listOf, refTo, splitRef } from '../../../queue/store/job-ref.js';
import type { MemberEnd } from '../../../queue/model/batch.js';
import { placeOf, type EndStatus, type FollowUpBatch } from '../../state/follow-up-batch.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';
import { writeOptions } from '../write-options.js';

/** Reports the end of a job, in the step that ends it. @param detail its result as JSON, or why it failed */
export function jobEnded(queue: MemoryQueue, id: string, job: Hash, status: EndStatus, detail = ''): void {
  const home = job.batch === undefined ? undefined : homeOf(queue, id, job.batch);
  // A dead follow-up may be redriven, and then reads the outcomes.
  if (home && !(home.batch.firedAt !== undefined && status === 'failed')) {
    const known = home.queue.outbox.entries.size;
    noteEnd(home.queue, home.batch, home.member, status, detail);
    if (home.queue !== queue && home.queue.outbox.entries.size > known) {
      // Who delivers this end sends the follow-ups too, as on Redis.
      post(queue, { queue: home.queue.name, batch: home.batch.definition.id, id, state: status, detail });
    }
  }
  for (const dependent of idsOf(job.dependents)) {
    if (isRef(dependent)) {
      updateElsewhere(queue, dependent, id, status);
    } else {
      updateDependent(queue, dependent, id, status);
    }
  }
}

/** Adds a job that was redriven or run again to its batch again, unless that has fired. */
export function jobReopened(queue: MemoryQueue, id: string, job: Hash): void {
  const home = job.batch === undefined ? undefined : homeOf(queue, id, job.batch);
  if (home && !home.isFollowUp) {
    home.batch.openAgain(home.member);
  }
}

function homeOf(queue: MemoryQueue, id: string, ref: string) {
  const { queue: name, id: batchId } = splitRef(queue.name, ref);
  const isFollowUp = name === '';
  const isHere = isFollowUp || name === queue.name;
  const home = isHere ? queue : queue.host.find(queue, name);
  const batch = home?.followUps.get(batchId);
  return home && batch && { queue: home, batch, isFollowUp, member: isHere ? id : refTo(queue.name, id) };
}

export function noteEnd(
  queue: MemoryQueue,
  batch: FollowUpBatch,
  member: string,
  status: EndStatus,
  detail: string,
): void {
  // A member of another queue is enqueued before it joins, so it may end first.
  if (isRef(member) && batch.sealedAt === undefined) {
    batch.join(member);
  }
  if (!batch.open.delete(member)) {
    return;
  }
  if (batch.firedAt !== undefined) {
    batch.endedAt = batch.open.size === 0 ? queue.now : undefined;
    return;
  }
  batch.outcomes.set(member, { status, detail });
  if (batch.open.size === 0 && batch.sealedAt !== undefined) {
    fire(queue, batch);
  } else if (batch.definition.failFast && status !== 'completed') {
    batch.stoppedAt ??= queue.now; // maintenance cancels the others
  }
}

/** Enqueues the follow-ups: `then` where all ended well and it was not cancelled, else `onFailure`; `finally` in any case. */
export function fire(queue: MemoryQueue, batch: FollowUpBatch): void {
  const { definition, outcomes } = batch;
  batch.firedAt = queue.now;
  const isWell = !batch.isCancelled && [...outcomes.values()].every(({ status }) => status === 'completed');
  // On Redis they start at the same moment, and so in the order of their ids.
  const inOrder = definition.followUps.toSorted((a, b) => a.kind.localeCompare(b.kind));
  for (const { kind, name, payload, options, elsewhere } of inOrder) {
    const follows = kind === 'finally' || (kind === 'then') === isWell;
    if (follows && elsewhere) {
      const { queue: target, id } = elsewhere;
      post(queue, { queue: target, batch: definition.id, id, state: kind, detail: '' });
      batch.open.add(refTo(target, id));
    } else if (follows) {
      const id = `@batch:${definition.id}:${kind}`;
      const job: Hash = { name, payload, enqueued_at_ms: String(queue.now) };
      writeOptions(queue, job, options);
      queue.jobs.set(id, job);
      batch.open.add(id);
      queue.flow.hasGroups ||= job.group !== undefined;
      queue.toLater(id, job, queue.now + (options.delayMs ?? 0));
      queue.count('enqueued');
      queue.host.observer?.enqueued(queue, id, options);
    }
  }
  if (batch.open.size === 0) {
    batch.endedAt = queue.now;
  }
}

function post(queue: MemoryQueue, end: Omit<MemberEnd, 'number'>): void {
  queue.outbox.entries.set(placeOf(end), { ...end, number: String(++queue.sequence) });
}

/** Ends the wait of a job of another queue. An end that comes before the enqueue of that job is kept for it. */
function updateElsewhere(queue: MemoryQueue, dependent: string, ended: string, status: EndStatus): void {
  const { queue: name, id } = splitRef(queue.name, dependent);
  const home = queue.host.find(queue, name);
  const ref = refTo(queue.name, ended);
  if (home?.job(id)) {
    updateDependent(home, id, ref, status);
  } else {
    home?.earlyEnds.keep(id, ref, status);
  }
}

/** Removes an ended job from the `after` of a waiting job. A cancelled job waits no more. */
export function updateDependent(queue: MemoryQueue, id: string, ended: string, status: EndStatus): void {
  const job = queue.job(id);
  const after = idsOf(job?.after);
  if (!job || job.unmet !== undefined || !after.includes(ended) || !queue.scheduled.has(id)) {
    return;
  }
  const left = after.filter((each) => each !== ended);
  if (status !== 'completed') {
    job.unmet = `${ended} ${status}`; // maintenance ends it
  } else if (left.length > 0) {
    job.after = listOf(left);
  } else {
    delete job.after;
    queue.toLater(id, job, queue.now + Number(job.after_delay_ms ?? 0));
  }
}
