import { Injectable } from '@nestjs/common';
import { settings } from '../../settings.js';
import type { CurrentJob, PoolEvent } from '../pool/pool-event.js';
import { WorkerPool } from '../pool/worker-pool.js';
import { Labels } from './labels.js';
import { Story } from './story.js';
import { Troubles } from './troubles.js';

/** Reports events of the worker processes. */
@Injectable()
export class PoolStory {
  constructor(
    private readonly story: Story,
    private readonly troubles: Troubles,
    private readonly labels: Labels,
    pool: WorkerPool,
  ) {
    pool.events.subscribe((event) => this.hear(event));
  }

  private hear(event: PoolEvent): void {
    const { worker } = event;
    switch (event.type) {
      case 'ready':
        return this.story.tell('plain', `${worker} (process ${event.pid}) is ready to work.`);
      case 'stopped':
        return this.tellStop(worker, event.job);
      case 'silent':
        return this.story.tell('warn', `${worker} was killed by its supervisor: ${event.why}.`, event.job?.id);
      case 'began':
        this.labels.remember(event.job.id, event.job.label);
        return this.tellAgain(worker, event.job);
      case 'hangs':
        return this.story.tell(
          'bad',
          `${worker} hangs in the middle of ${event.job.label}, its whole process: no heartbeat any more. The claim expires within ${settings.visibilityMs / 1_000} s.`,
          event.job.id,
        );
      case 'killed':
        return this.story.tell('bad', `${worker} was killed (SIGKILL)${during(event.job)}`, event.job?.id);
      case 'died':
        return this.story.tell('bad', `${worker} died (${event.how})${during(event.job)}`, event.job?.id);
    }
  }

  private tellStop(worker: string, job: CurrentJob | undefined): void {
    if (job) this.story.tell('warn', `${worker} has stopped, and gave ${job.label} back unfinished.`, job.id);
    else this.story.tell('plain', `${worker} has stopped.`);
  }

  private tellAgain(worker: string, job: CurrentJob): void {
    if (job.attempt === 1) return;
    const line = `${worker} takes ${job.label}: attempt ${job.attempt}.`;
    this.troubles.after(job.id, job.attempt - 1, () =>
      this.story.tellOften('again', 'plain', line, job.id, 'were taken once more.'),
    );
  }
}

function during(job: CurrentJob | undefined): string {
  return job ? ` in the middle of ${job.label}. Another process reclaims it.` : '; it had no job.';
}
