import type { JobQueue } from '../../queue/job-queue.js';
import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import { keptIn } from '../../queue/runtime/collections.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { FaultLog } from '../reports/fault-log.js';
import type { StoredSchedule } from '../../queue/verbs/schedule.js';

const INTERVAL_MS = 10_000;

/** The schedules of one queue that this worker's code declares. */
interface QueueSchedules {
  queue: JobQueue;
  schedules: readonly StoredSchedule[];
}

/**
 * Keeps the schedules of this worker's code alive by repeated declarations. A schedule that no process declares stops.
 * A definition of another version is taken over when the last process that declared it stops.
 */
export class ScheduleDeclarer implements BackgroundRole {
  private timer: Timer | undefined;
  /** The declarations in progress, one at a time for each queue. So a master without a reply delays no other. */
  private readonly running = new Map<JobQueue, Promise<void>>();
  private stopped = false;
  private readonly faults: FaultLog;

  constructor(
    private readonly worker: string,
    private readonly declared: readonly QueueSchedules[],
    private readonly logger: JobQueueLogger,
  ) {
    this.faults = new FaultLog(logger);
  }

  private get clock(): Clock {
    return this.declared[0]?.queue.store.clock ?? systemClock;
  }

  /** Resolves when the schedules are known to the server. Those of other masters are repeated before. */
  async start(): Promise<void> {
    if (this.declared.length > 0 && !this.stopped) {
      this.timer = this.clock.setInterval(() => void this.runOnce(), INTERVAL_MS);
      await this.runOnce();
    }
  }

  /** Declares all once. Joins the declarations that are in progress. */
  async runOnce(): Promise<void> {
    await Promise.all(
      this.declared.map((each) =>
        keptIn(this.running, each.queue, () =>
          this.declare(each, true).finally(() => void this.running.delete(each.queue)),
        ),
      ),
    );
  }

  /** Releases the schedules, so that another version of the code need not wait for this one. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.clock.clear(this.timer);
    await Promise.all(
      this.declared.map(async (each) => {
        await this.running.get(each.queue);
        await this.declare(each, false);
      }),
    );
  }

  private async declare({ queue, schedules }: QueueSchedules, declares: boolean): Promise<void> {
    // While the server is away a call would only wait in the client.
    if (!queue.store.isReady) {
      return;
    }
    try {
      const replies = await queue.schedules.declare(this.worker, declares, schedules);
      const missing = schedules.filter((_, i) => replies[i] === 'upsert');
      const conflicts = schedules.filter((_, i) => replies[i] === 'conflict');
      await Promise.all(missing.map((schedule) => this.put(queue, schedule, conflicts)));
      conflicts.forEach((schedule) => this.logConflict(queue, schedule));
      this.faults.succeeded(queue.name);
    } catch (error) {
      this.faults.failed(
        queue.name,
        `Could not declare the schedules of queue "${queue.name}"; trying again`,
        error,
      );
    }
  }

  private async put(queue: JobQueue, schedule: StoredSchedule, conflicts: StoredSchedule[]): Promise<void> {
    if ((await queue.schedules.put(schedule, this.worker)) === 'conflict') {
      conflicts.push(schedule);
    }
  }

  private logConflict(queue: JobQueue, { id }: StoredSchedule): void {
    this.logger.warn(
      `Schedule "${id}" of queue "${queue.name}" has another definition in another process. That one stays in force until the process stops.`,
    );
  }
}
