import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobRecord } from '../../queue/model/job.js';
import { noneIfUnreadable } from '../../inspect/unreadable.js';
import { JobQueueService } from '../../nest/service/job-queue.service.js';
import type { JobAction, JobMatch, RunView, State } from '../views/views.js';
import { Redactor } from '../security/redactor.js';
import { matches } from '../search/job-match.js';
import { walkSlice } from '../search/job-walk.js';
import { ActionLog } from './action-log.js';
import { JobActions } from './job-actions.js';
import { RunStore, serverNow } from './run-store.js';

/** Jobs that move up while others leave the list are met by another pass; each must have done something. */
const MOST_PASSES = 20;

/** Returns the ids that the user of a run may change. */
type AllowedOf = (ids: readonly string[]) => Promise<ReadonlySet<string>>;

/** The request of a run. */
interface RunRequest {
  action: JobAction;
  state: State;
  match: JobMatch;
  user: string;
}

/**
 * Applies one action to all matching jobs, in the background of this process. The page that started it may close. Jobs
 * that were enqueued or changed after its start are left alone.
 */
@Injectable()
export class BulkRuns implements BeforeApplicationShutdown {
  private readonly logger = SafeLogger.of(new Logger('JobQueueDashboard'));
  private readonly active = new Map<string, Promise<void>>();
  private closing = false;

  constructor(
    private readonly jobs: JobQueueService,
    private readonly actions: JobActions,
    private readonly store: RunStore,
    private readonly log: ActionLog,
    private readonly redactor: Redactor,
  ) {}

  /** @param allowedOf returns the jobs that the user may change, asked before each step */
  async start(queue: JobQueue, request: RunRequest, allowedOf: AllowedOf): Promise<RunView> {
    const stats = await queue.stats();
    const now = await serverNow(queue);
    const run: RunView = {
      id: randomUUID(),
      queue: queue.name,
      ...request,
      status: 'running',
      startedAt: now,
      updatedAt: now,
      searched: 0,
      total: stats[request.state],
      done: 0,
      spared: 0,
      error: null,
    };
    await this.store.write(queue, run);
    this.active.set(run.id, this.follow(queue, run, allowedOf));
    return run;
  }

  async stop(queue: JobQueue, id: string): Promise<void> {
    await this.store.requestStop(queue, id);
  }

  /** Returns the runs of all queues that had one, newest first. */
  async list(): Promise<RunView[]> {
    const names = this.jobs.queueNames();
    const runs = await Promise.all(
      names.map((name) => noneIfUnreadable(name, this.store.list(this.jobs.queue(name)))),
    );
    return runs.flat().toSorted((a, b) => b.startedAt - a.startedAt);
  }

  /** Stops running actions before the connection is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    this.closing = true;
    await Promise.all(this.active.values());
  }

  private async follow(queue: JobQueue, run: RunView, allowedOf: AllowedOf): Promise<void> {
    try {
      run.status = await this.passes(queue, run, allowedOf);
    } catch (error) {
      run.status = 'failed';
      run.error = (error as Error).message;
      this.logger.warn(`The run "${run.action}" on queue "${queue.name}" failed: ${run.error}`);
    }
    await this.report(queue, run);
    this.active.delete(run.id);
  }

  private async report(queue: JobQueue, run: RunView): Promise<void> {
    try {
      run.updatedAt = await serverNow(queue);
      await this.store.write(queue, run);
      await this.log.add(queue, { user: run.user, action: run.action, subject: subjectOf(run), count: run.done });
    } catch (error) {
      this.logger.warn(`Could not record the end of a run on queue "${queue.name}": ${(error as Error).message}`);
    }
  }

  private async passes(queue: JobQueue, run: RunView, allowedOf: AllowedOf): Promise<RunView['status']> {
    for (let pass = 0; pass < MOST_PASSES; pass++) {
      const before = run.done;
      run.searched = 0;
      const ended = await this.pass(queue, run, allowedOf);
      if (ended !== undefined) {
        return ended;
      }
      if (run.done === before || run.state === 'failed') {
        break;
      }
    }
    return 'done';
  }

  /** Passes over the jobs once. Returns the outcome of the run if it ends early. */
  private async pass(queue: JobQueue, run: RunView, allowedOf: AllowedOf): Promise<RunView['status'] | undefined> {
    let cursor: string | null = null;
    do {
      if (this.closing) {
        return 'interrupted';
      }
      if (await this.store.stopRequested(queue, run.id)) {
        return 'stopped';
      }
      const slice = await walkSlice(queue, run.state, cursor);
      const { done } = await this.change(queue, run, slice.jobs, allowedOf);
      run.searched += slice.looked;
      run.updatedAt = await serverNow(queue);
      await this.store.write(queue, run);
      cursor = nextCursor(run.state, slice.cursor, done);
    } while (cursor !== null);
    return undefined;
  }

  private async change(
    queue: JobQueue,
    run: RunView,
    jobs: readonly JobRecord[],
    allowedOf: AllowedOf,
  ): Promise<{ done: number }> {
    const chosen = jobs.filter((job) => isMeant(job, run) && matches(this.redactor.record(job), run.match));
    const matching = chosen.map(({ id }) => id);
    const allowed = await allowedOf(matching);
    const ids = matching.filter((id) => allowed.has(id));
    run.spared += matching.length - ids.length;
    if (ids.length === 0) {
      return { done: 0 };
    }
    const outcome = await this.actions.act(queue, run.action, run.state, ids);
    run.done += outcome.done;
    run.spared += outcome.spared;
    return outcome;
  }
}

/** Returns whether a job belongs to the run. It does not if it was enqueued or ended after the run's start. */
function isMeant(job: JobRecord, run: RunView): boolean {
  const at = job.completedAt ?? job.failedAt ?? job.cancelledAt ?? job.enqueuedAt;
  return at.getTime() <= run.startedAt;
}

/** Returns the next cursor. Jobs that left a list move the rest up. */
function nextCursor(state: State, cursor: string | null, done: number): string | null {
  return cursor === null || state === 'failed' ? cursor : String(Math.max(0, Number(cursor) - done));
}

/** Returns the subject of a run, in words. */
export function subjectOf({ state, match }: Pick<RunView, 'state' | 'match'>): string {
  const parts = [
    ...(match.text ? [`with "${match.text}"`] : []),
    ...(match.group ? [`whose error is like "${match.group}"`] : []),
  ];
  return `all ${state} jobs${parts.length > 0 ? ` ${parts.join(' ')}` : ''}`;
}
