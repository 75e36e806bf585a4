import { ConflictException, Injectable } from '@nestjs/common';
import { duration } from '../../inspect/words.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ACTIONS, type JobAction } from '../../queue/model/actions.js';
import type { JobStatus } from '../../queue/model/job.js';
import type { PauseOptions } from '../../queue/model/pause.js';
import { wellFormed } from '../../queue/runtime/cut.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { Permissions } from '../security/permissions.js';

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
    const { verb } = ACTIONS[action];
    if (verb.of === 'deadLetters') {
      return queue.deadLetters[verb.name](id);
    }
    // A promotion has no condition of its own.
    if (verb.name === 'promote' && !(await this.isIn(queue, id, state))) {
      return false;
    }
    const changed: readonly string[] = verb.changed;
    return changed.includes(await queue[verb.name](id, { ifStatus: state }));
  }
}

/** The reason and the length of a pause, as a request has them. */
type Note = Pick<{ [Key in keyof PauseOptions]: PauseOptions[Key] | undefined }, 'reason' | 'forMs'>;

/** Returns the options of a pause: who, why and for how long. The app may name the user of a request. */
export function pauseOf(user: string, { reason, forMs }: Note = {}): PauseOptions {
  return {
    ...(user !== '' && { by: wellFormed(user) }),
    ...(reason !== undefined && { reason }),
    ...(forMs !== undefined && { forMs }),
  };
}

/** Returns the length and the reason of a pause, for the action log; '' for none. */
export function pauseInWords({ reason, forMs }: Note): string {
  return [forMs && `for ${duration(forMs)}`, reason].filter(Boolean).join(', ');
}
