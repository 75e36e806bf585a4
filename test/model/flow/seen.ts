// The visible state of a queue, which is compared after every step.
import type { JobQueue } from '#queue/job-queue.js';
import { JOB_STATUSES, type AttemptRecord, type JobRecord, type QueueStats } from '#queue/model/job.js';
import { ask, type Side } from './side.js';

/** Returns a queue's visible state, without random parts. The calls of one state travel together. */
export async function seen(side: Side) {
  const { queue, other, ids } = side;
  const [stats, jobs, group, groups, limits, workers, schedules, elsewhere, batches, errors, actions, outcomes] =
    await Promise.all([
      queue.stats(),
      jobsOf(queue),
      queue.groups.get('a'),
      queue.groups.list(),
      queue.limits.get(),
      workersOf(side),
      queue.schedules.list(),
      other.stats(),
      batchesOf(side),
      ask(side, (calls) => calls.deadLetters.kinds()),
      queue.actionLog.latest({ limit: 5 }),
      Promise.all(ids.map((id) => queue.outcome(id))),
    ]);
  return {
    stats: figures(stats),
    jobs,
    group,
    groups: groups.map(({ name }) => name),
    limits,
    workers,
    schedules: byId(schedules),
    elsewhere: figures(elsewhere),
    batches,
    outcomes,
    actions: actions.map(({ entryId: _id, at: _at, ...action }) => action),
    errors: errors.kinds.toSorted((a, b) => (a.kind < b.kind ? -1 : 1)),
  };
}

function byId<Item extends { id: string }>(items: readonly Item[]): Item[] {
  return items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

async function workersOf(side: Side) {
  const [all, limits] = await Promise.all([
    ask(side, (calls) => calls.workers.list({ most: 9, silentMs: 300_000 })),
    ask(side, (calls) => calls.workers.handlerLimits({ name: side.queue.name })),
  ]);
  return { all: byId(all), limits };
}

function batchesOf({ batches }: Side) {
  return Promise.all(
    batches.map(async (batch) => {
      const record = await batch.status().catch((error: Error) => error.name);
      return typeof record === 'string' ? record : { record, results: await batch.results({ limit: 1_000 }) };
    }),
  );
}

/** Returns the figures that do not depend on which jobs a store looks at for the oldest. */
function figures(stats: QueueStats) {
  const {
    maintainedAt: _at,
    maintenanceOverdue: _overdue,
    unserved: _unserved,
    rememberedIds: _ids,
    ...all
  } = stats;
  const { oldestPendingAgeMs: _oldest, oldestUnheldAgeMs: _unheld, ...rest } = all;
  return rest;
}

async function jobsOf(queue: JobQueue) {
  const lists = await Promise.all(JOB_STATUSES.map((status) => queue.list(status, { limit: 1_000 })));
  return Object.fromEntries(JOB_STATUSES.map((status, i) => [status, lists[i]!.map(told)]));
}

/** Returns a job without its fences, which also count places in line. */
function told({ fence: _fence, attemptLog, ...job }: JobRecord) {
  return {
    ...job,
    attemptLog: attemptLog.map(({ fence: _each, ...attempt }: AttemptRecord & { fence?: number }) => attempt),
  };
}
