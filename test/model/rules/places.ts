// The places of jobs. The status names the place: pending in one of two lists, scheduled by due time, processing by the
// claim's expiry. Completed and cancelled jobs are in their histories, failed ones among the dead letters.
import type { ModelJob } from './job.js';
import type { QueueModel } from './queue-model.js';

/** Ranks of one priority lie so far apart from those of the next. */
const LINE = 2 ** 40;

/** Returns the waiting jobs with a priority: the higher priority first, then in the order of their arrival. */
export function prioritized(model: QueueModel): ModelJob[] {
  return model
    .inState('pending')
    .filter((job) => job.priority > 0)
    .toSorted((a, b) => a.rank! - b.rank!);
}

/** Returns the jobs whose time has not come, or was not noticed yet. */
export function scheduled(model: QueueModel): ModelJob[] {
  return model.inState('scheduled').toSorted(by((job) => job.dueAt!));
}

/** Returns the claimed jobs, the next to expire first. */
export function processing(model: QueueModel): ModelJob[] {
  return model.inState('processing').toSorted(by((job) => job.claimExpiresAt!));
}

/** Returns the dead letters, the oldest first. */
export function deadLetters(model: QueueModel): ModelJob[] {
  return model.inState('failed').toSorted(by((job) => job.endedAt!));
}

/** Puts a new job, a retry or a redriven job behind all others of its priority. */
export function toBack(model: QueueModel, job: ModelJob): void {
  job.status = 'pending';
  if (job.priority > 0) {
    job.rank = (1000 - job.priority) * LINE + ++model.sequence;
  } else {
    model.pending.push(job.id);
  }
}

/** Puts a released or reclaimed job before all others; a job with a priority returns to its place. */
export function toFront(model: QueueModel, job: ModelJob): void {
  job.status = 'pending';
  job.readyAt = model.now;
  if (job.priority === 0) {
    model.pending.unshift(job.id);
  }
}

export function toLater(job: ModelJob, dueAt: number): void {
  job.status = 'scheduled';
  job.dueAt = dueAt;
}

/** Removes a job from its place, to be put into another. */
export function takeOut(model: QueueModel, job: ModelJob): void {
  model.pending = model.pending.filter((id) => id !== job.id);
}

/** Moves the jobs that are due, in the order of their due times, to the back. Returns how many. */
export function promote(model: QueueModel, limit: number): number {
  const due = scheduled(model).filter((job) => job.dueAt! <= model.now);
  const moved = due.slice(0, limit);
  for (const job of moved) {
    toBack(model, job);
    job.readyAt = job.dueAt;
  }
  return moved.length;
}

/** Takes the next `count` jobs out of their lines, to be claimed. */
export function takeNext(model: QueueModel, count: number): string[] {
  const ids: string[] = [];
  let turn = model.sequence;
  let urgent = prioritized(model).map((job) => job.id);
  while (ids.length < count && urgent.length > 0) {
    turn += 1;
    const id = takeByTurn(model, urgent, turn);
    urgent = urgent.filter((each) => each !== id);
    ids.push(id);
  }
  return [...ids, ...model.pending.splice(0, count - ids.length)];
}

/**
 * Takes the most urgent job. One turn in ten takes the oldest without a priority, one the first of a random priority.
 * So no line starves. Multiples of the golden ratio spread these turns evenly.
 */
function takeByTurn(model: QueueModel, urgent: string[], turn: number): string {
  const share = (turn * 0.6180339887498949) % 1;
  if (share < 0.1) {
    return model.pending.shift() ?? urgent[0]!;
  }
  if (share < 0.2) {
    const picked = model.jobs.get(urgent[Math.floor((share * 10 - 1) * urgent.length)]!)!;
    return urgent.find((id) => model.jobs.get(id)!.priority === picked.priority)!;
  }
  return urgent[0]!;
}

/** Compares by a time, then by id, as Redis does. */
function by(time: (job: ModelJob) => number) {
  return (a: ModelJob, b: ModelJob) => time(a) - time(b) || (a.id < b.id ? -1 : 1);
}
