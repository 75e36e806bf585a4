import type { JobQueue } from '../queue/job-queue.js';
import { readScheduler } from './bullmq/read-scheduler.js';
import type { OldScheduler, Source } from './bullmq/source.js';
import { translateScheduler, type NewSchedule } from './bullmq/translate-scheduler.js';
import type { MoveReport, MoveStep } from './move-report.js';
import type { MoveRules } from './move-rules.js';

interface Parts {
  source: Source;
  queue: JobQueue;
  rules: MoveRules;
  report: MoveReport;
  onStep?: (step: MoveStep) => void;
}

/** The reason why a scheduler stays whose id is in use here. */
const TAKEN_ID = 'a schedule with its id is here already: remove one of them';

/** Moves schedulers: takes each away there, creates the schedule here, and forgets what was kept. */
export class SchedulerMover {
  /** The schedulers that stay. */
  readonly staying = new Set<string>();

  constructor(private readonly parts: Parts) {}

  async move(): Promise<void> {
    await this.createKept();
    this.staying.clear();
    for (const old of await this.parts.source.schedulers()) {
      if (!(await this.take(old))) {
        this.staying.add(old.id);
      }
    }
    await this.createKept();
  }

  private async take(old: OldScheduler): Promise<boolean> {
    const { source, onStep } = this.parts;
    const translated = await translatedOf(this.parts, old);
    if ('reason' in translated) {
      return false;
    }
    const isTaken = await source.takeScheduler(old, JSON.stringify(translated.schedule ?? null));
    onStep?.('take-scheduler');
    return isTaken;
  }

  /** Creates the schedules of schedulers that were taken. A mover that died left some. */
  private async createKept(): Promise<void> {
    const { source, queue, report, onStep } = this.parts;
    for (const [id, kept] of Object.entries(await source.schedulersInTransit())) {
      const schedule = JSON.parse(kept) as NewSchedule | null;
      if (schedule) {
        await queue.schedules.upsert(schedule.id, schedule.recurrence, schedule.options);
        report.schedules.push(schedule.id);
      }
      onStep?.('upsert');
      await source.acknowledgeScheduler(id);
    }
  }
}

/** Returns what a scheduler becomes, or why it stays. */
export async function translatedOf(
  { source, queue, rules }: Pick<Parts, 'source' | 'queue' | 'rules'>,
  old: OldScheduler,
): Promise<ReturnType<typeof translateScheduler>> {
  const read = await readScheduler(source, old);
  const translated = translateScheduler(read, queue, rules);
  const isTaken = 'schedule' in translated && (await queue.schedules.get(read.newId)) !== null;
  return isTaken ? { reason: TAKEN_ID } : translated;
}
