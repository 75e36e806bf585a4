// What a move would do. It changes nothing.
import type { JobQueue } from '../queue/job-queue.js';
import { type OldJob, type Place, STEP, type Source, type SourceSettings } from './bullmq-source.js';
import { readScheduler, translateJob } from './translate-in.js';
import { LeftCounter, tally, type Left } from './move-report.js';
import { placesOf, type MoveRules } from './move-rules.js';
import { translatedOf } from './mover.js';

/** A scheduler, and what becomes of it. */
interface PlannedScheduler {
  id: string;
  /** The time of its next job. */
  nextAt: string;
  /** Why it stays; undefined if it can be moved. */
  reason?: string;
}

export interface MovePlan {
  settings: SourceSettings;
  counts: Record<string, number>;
  /** The jobs that can be moved, by place. */
  movable: Record<string, number>;
  /** The jobs of each name, as they are called there. */
  names: Record<string, number>;
  schedulers: PlannedScheduler[];
  left: Left[];
  dropped: Record<string, number>;
}

interface PlanParts {
  source: Source;
  queue: JobQueue;
  rules: MoveRules;
  /** The ids that are known here. */
  clashes?: ReadonlySet<string>;
}

/** Reads all jobs that are to be moved, and all schedulers. */
export async function planMove(parts: PlanParts): Promise<MovePlan> {
  const { source } = parts;
  const left = new LeftCounter();
  const plan: MovePlan = {
    settings: await source.settings(),
    counts: await source.counts(),
    movable: {},
    names: {},
    schedulers: [],
    left: [],
    dropped: {},
  };
  const staying = new Set<string>();
  for (const scheduler of await source.schedulers()) {
    const planned = await planScheduler(parts, scheduler);
    plan.schedulers.push(planned);
    if (planned.reason !== undefined) {
      staying.add(scheduler.id);
      left.add('scheduler', planned.reason, scheduler.id);
    }
  }
  for await (const job of jobsIn(source, placesOf(parts.rules))) {
    planJob(parts, job, { plan, left, staying });
  }
  plan.left = left.all;
  return plan;
}

async function planScheduler(
  parts: PlanParts,
  old: Parameters<typeof readScheduler>[1],
): Promise<PlannedScheduler> {
  const translated = await translatedOf(parts, old);
  const nextAt = new Date(old.nextMs).toISOString();
  return { id: old.id, nextAt, ...('reason' in translated && { reason: translated.reason }) };
}

function planJob(
  parts: PlanParts,
  job: OldJob,
  { plan, left, staying }: { plan: MovePlan; left: LeftCounter; staying: ReadonlySet<string> },
): void {
  const translated = translateJob(job, { ...parts, staying });
  tally(plan.names, job.fields.name ?? '');
  if ('reason' in translated) {
    left.add('job', translated.reason, job.id);
  } else if (parts.clashes?.has(job.id)) {
    left.add('job', 'its id is known here: pass --new-ids', job.id);
  } else {
    tally(plan.movable, job.place);
    translated.dropped.forEach((option) => tally(plan.dropped, option));
  }
}

/** Walks over the jobs of places in steps. Old workers may take some meanwhile. */
async function* jobsIn(source: Source, places: readonly Place[]): AsyncGenerator<OldJob> {
  for (const place of places) {
    for (let offset = 0; ; offset += STEP) {
      const ids = await source.ids(place, offset, STEP);
      yield* await source.jobs(place, ids);
      if (ids.length < STEP) {
        break;
      }
    }
  }
}

/** Counts the jobs of places with and without a priority, and the priorities in use. */
export async function priorityUse(
  source: Source,
  places: readonly Place[],
): Promise<{ none: number; used: Map<number, number> }> {
  const found = { none: 0, used: new Map<number, number>() };
  for await (const { fields, place } of jobsIn(source, places)) {
    const priority = Number(fields.priority ?? 0);
    if (priority > 0 || place === 'prioritized') {
      found.used.set(priority, (found.used.get(priority) ?? 0) + 1);
    } else {
      found.none += 1;
    }
  }
  return found;
}
