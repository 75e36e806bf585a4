import { ConflictException, Injectable } from '@nestjs/common';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobStatus } from '../../queue/model/job.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { Permissions } from '../security/permissions.js';
import type { JobAction } from '../views/views.js';

/** The states from which each action takes jobs. */
export const ACTION_STATES: Readonly<Record<JobAction, readonly JobStatus[]>> = {
  redrive: ['failed'],
  discard: ['failed'],
  cancel: ['pending', 'scheduled', 'processing'],
  promote: ['scheduled'],
  remove: ['pending', 'scheduled', 'completed', 'cancelled'],
  'run-again': ['completed', 'cancelled'],
};

/** The outcome of one action for its jobs. */
interface ActionOutcome {
  done: number;
  /** Left alone, because they were no longer in the state in which they were chosen. */
  spared: number;
}

/** Applies one action to jobs that were chosen in one state, and skips jobs that have left it. */
@Injectable()
export class JobActions {
  constructor(private readonly permissions: Permissions) {}

  async act(queue: JobQueue, action: JobAction, state: JobStatus, ids: readonly string[]): Promise<ActionOutcome> {
    const done =
      action === 'redrive' ? await queue.deadLetters.redriveMany(ids) : await this.each(queue, action, state, ids);
    return { done, spared: ids.length - done };
  }

  /**
   * Redrives one dead letter with another payload, checked by its definition where this process knows it.
   *
   * @throws InvalidPayloadError with the path of the fault
   */
  redriveWith(queue: JobQueue, id: string, payload: unknown): Promise<boolean> {
    return queue.deadLetters.redrive(id, { payload });
  }

  /** @throws ConflictException if the dead letter was redriven as a new job, which is known */
  async refuseRedriven(queue: JobQueue, id: string, request: DashboardRequest): Promise<void> {
    const job = await queue.get(id);
    if (job?.status === 'failed' && job.redriven?.as !== undefined) {
      throw await this.alreadyRedriven(queue, job.redriven.as, request);
    }
  }

  /** Returns the refusal of a dead letter whose work goes on in a new job. Names that job to those who may see it. */
  async alreadyRedriven(queue: JobQueue, id: string, request: DashboardRequest): Promise<ConflictException> {
    const isVisible = await this.permissions.allows('view', request, { queue: queue.name, id });
    return new ConflictException(
      isVisible
        ? `It was redriven as the job ${id}. Redrive that job.`
        : 'It was redriven as a new job, which you may not see.',
    );
  }

  private async each(
    queue: JobQueue,
    action: JobAction,
    state: JobStatus,
    ids: readonly string[],
  ): Promise<number> {
    const outcomes = await Promise.all(ids.map((id) => this.one(queue, action, state, id)));
    return outcomes.filter(Boolean).length;
  }

  private async isIn(queue: JobQueue, id: string, state: JobStatus): Promise<boolean> {
    return (await queue.get(id))?.status === state;
  }

  private async one(queue: JobQueue, action: JobAction, state: JobStatus, id: string): Promise<boolean> {
    if (action === 'discard') {
      return queue.deadLetters.discard(id);
    }
    switch (action) {
      case 'cancel':
        return ['cancelled', 'requested'].includes(await queue.cancel(id, { ifStatus: state }));
      case 'promote':
        return (await this.isIn(queue, id, state)) && (await queue.promote(id)) === 'pending';
      case 'run-again':
        return (await queue.runAgain(id)) === 'pending';
      default:
        return (await queue.remove(id, { ifStatus: state })) === 'removed';
    }
  }
}
