// The visible state of a queue, read from the real one and derived from the model in the same form.
import { JOB_STATUSES, type JobRecord, type JobStatus } from '#queue/model/job.js';
import type { ScheduleRecord } from '#queue/model/schedule.js';
import type { RealQueue } from './real-queue.js';
import type { ModelJob } from './rules/job.js';
import { trimDeadLetters } from './rules/ends.js';
import { deadLetters, prioritized, processing, scheduled } from './rules/places.js';
import type { QueueModel } from './rules/queue-model.js';
import type { ModelSchedule } from './rules/schedules.js';

/** A step takes some ms, which the model does not know; what matters differs by minutes. */
const PRECISION_MS = 30_000;
/** Fields that both report in the same form. */
const JOB_FIELDS = [
  ...(['id', 'name', 'status', 'payload', 'result', 'progress', 'priority', 'schedule', 'metadata'] as const),
  ...(['attempts', 'maxAttempts', 'errors', 'crashes', 'interruptions', 'fence', 'lastError'] as const),
] as const;
const SCHEDULE_FIELDS = ['id', 'payload', 'onMissed', 'ticks', 'skipped'] as const;
const ALL = { limit: 1_000 };

export async function foundState(real: RealQueue, model: QueueModel) {
  const { queue } = real;
  const [stats, schedules, ...lists] = await Promise.all([
    queue.stats(),
    queue.schedules.list(ALL),
    ...JOB_STATUSES.map((status) => queue.list(status, ALL)),
  ]);
  const listed = new Map(lists.flat().map((job) => [job.id, job]));
  const others = await Promise.all(model.ids.filter((id) => !listed.has(id)).map((id) => queue.get(id)));
  others.filter((job) => job !== null).forEach((job) => listed.set(job.id, job));
  learnTimesOfEnd(model, listed);
  trimDeadLetters(model, (id) => !listed.has(id));
  const { pending, scheduled: later, processing: claimed, completed, failed, cancelled, totals } = stats;
  return {
    counts: { pending, scheduled: later, processing: claimed, completed, failed, cancelled },
    totals,
    expiredClaims: stats.expiredClaims,
    pausedAt: instant(stats.pausedAt, model, model.pausedAt),
    order: Object.fromEntries(JOB_STATUSES.map((status, i) => [status, lists[i]!.map((job) => job.id)])),
    jobs: byId([...listed.values()].map((job) => foundJob(job, model))),
    uniqueKeys: heldKeys(await real.uniqueKeys(), model),
    schedules: byId(schedules.map((schedule) => foundSchedule(schedule, model))),
  };
}

export function ruledState(model: QueueModel) {
  const order = orderOf(model);
  return {
    counts: {
      pending: order.pending.length,
      scheduled: order.scheduled.length,
      processing: order.processing.length,
      completed: model.histories.completed.length,
      failed: order.failed.length,
      cancelled: model.histories.cancelled.length,
    },
    totals: model.totals,
    expiredClaims: model.inState('processing').filter((job) => job.claimExpiresAt! <= model.now).length,
    pausedAt: model.pausedAt,
    order,
    jobs: byId([...model.jobs.values()].map(ruledJob)),
    uniqueKeys: heldKeys(Object.fromEntries(model.owners), model),
    schedules: byId([...model.schedules.values()].map(ruledSchedule)),
  };
}

const ids = (jobs: readonly ModelJob[]) => jobs.map((job) => job.id);

function orderOf(model: QueueModel): Record<JobStatus, string[]> {
  const history = (status: 'completed' | 'cancelled') => [
    ...new Set(model.histories[status].filter((id) => model.jobs.get(id)?.status === status)),
  ];
  return {
    pending: [...ids(prioritized(model)), ...model.pending],
    scheduled: ids(scheduled(model)),
    processing: ids(processing(model)),
    completed: history('completed'),
    failed: ids(deadLetters(model)).toReversed(),
    cancelled: history('cancelled'),
  };
}

function foundJob(job: JobRecord, model: QueueModel) {
  const ruled = model.jobs.get(job.id);
  return {
    ...fields(job, JOB_FIELDS),
    outcomes: job.attemptLog.map(({ outcome }) => outcome),
    log: job.log.map(({ message }) => message),
    cancelRequested: job.cancelRequestedAt !== undefined,
    enqueuedAt: instant(job.enqueuedAt, model, ruled?.enqueuedAt),
    dueAt: job.status === 'scheduled' ? instant(job.dueAt, model, ruled?.dueAt) : undefined,
    expiresAt: instant(job.expiresAt, model, ruled?.expiresAt),
    endedAt: instant(endOf(job), model, ruled?.endedAt),
  };
}

function ruledJob(job: ModelJob) {
  const { status } = job;
  const ended = status === 'completed' || status === 'failed' || status === 'cancelled';
  return {
    ...fields(job, JOB_FIELDS),
    outcomes: [...job.outcomes.map(({ outcome }) => outcome), ...(status === 'completed' ? ['completed'] : [])],
    log: job.log,
    cancelRequested: job.cancelRequested,
    enqueuedAt: job.enqueuedAt,
    dueAt: status === 'scheduled' ? job.dueAt : undefined,
    expiresAt: job.expiresAt,
    endedAt: ended ? job.endedAt : undefined,
  };
}

/** Returns the unique keys of jobs that have not ended. Keys left by ended jobs do not matter. */
function heldKeys(owners: Record<string, string>, model: QueueModel): Record<string, string> {
  const unfinished = (id: string) =>
    ['pending', 'scheduled', 'processing'].includes(model.jobs.get(id)?.status ?? '');
  return Object.fromEntries(Object.entries(owners).filter(([, id]) => unfinished(id)));
}

function endOf(job: JobRecord): Date | undefined {
  const ends = { completed: job.completedAt, failed: job.failedAt, cancelled: job.cancelledAt };
  return ends[job.status as keyof typeof ends];
}

/** Takes the end times from the real queue of jobs that a claim set aside. A cap deletes the older of two. */
function learnTimesOfEnd(model: QueueModel, listed: ReadonlyMap<string, JobRecord>): void {
  for (const job of (['completed', 'failed', 'cancelled'] as const).flatMap((state) => model.inState(state))) {
    const record = listed.get(job.id);
    const endedAt = record && endOf(record)?.getTime();
    if (endedAt !== undefined && Math.abs(endedAt + model.passed - job.endedAt!) < PRECISION_MS) {
      job.endedAt = endedAt + model.passed;
    }
  }
}

export function foundSchedule(schedule: ScheduleRecord, model: QueueModel) {
  return {
    ...fields(schedule, [...SCHEDULE_FIELDS, 'cron', 'timeZone', 'everyMs', 'limit', 'status', 'lastJobId']),
    ...(schedule.startAt && { startAt: schedule.startAt.getTime() }),
    ...(schedule.endAt && { endAt: schedule.endAt.getTime() }),
    nextAt: schedule.nextAt && schedule.nextAt.getTime() + model.passed,
    lastTickAt: schedule.lastTickAt && schedule.lastTickAt.getTime() + model.passed,
  };
}

export function ruledSchedule(schedule: ModelSchedule) {
  const { dueAt, recurrence } = schedule;
  return {
    ...fields(schedule, SCHEDULE_FIELDS),
    ...(recurrence.cron !== undefined && { timeZone: 'UTC' }),
    ...recurrence,
    status: schedule.isPaused ? 'paused' : schedule.hasEnded ? 'ended' : 'active',
    lastJobId: schedule.lastJobId ?? null,
    nextAt: dueAt ?? null,
    lastTickAt: schedule.lastTickAt ?? null,
  };
}

function byId<Item extends { id: string }>(items: Item[]): Record<string, Item> {
  return Object.fromEntries(items.map((item) => [`job ${item.id}`, item]));
}

function fields<Item extends object, Name extends keyof Item>(item: Item, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, item[name]])) as Pick<Item, Name>;
}

/** Returns a server's instant in the model's time. A small difference from the ruled instant counts as equal. */
function instant(at: Date | null | undefined, model: QueueModel, ruled: number | undefined): number | undefined {
  const found = at ? at.getTime() + model.passed : undefined;
  return found !== undefined && Math.abs(found - (ruled ?? Infinity)) < PRECISION_MS ? ruled : found;
}
