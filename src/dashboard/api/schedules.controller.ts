import { Injectable, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import { onOne } from '../../queue/actions/noted-action.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { SharedReads } from '../live/shared-reads.js';
import { unreadableView } from '../live/verdict-view.js';
import { ShownQueues } from '../shown-queues.js';
import { Permissions } from '../security/permissions.js';
import { describeSchedule } from '../views/describe-schedule.js';
import type { SchedulesView } from '../views/schedules-view.js';
import type { ScheduleView } from '../views/views.js';
import { queueName } from './known-queue.js';
import { Changes, Reads, Routes } from './route.js';
import type { Call, ChangeCall, Outcome } from './route-runner.js';

const MOST = 500;
const ACTIONS = { run: 'run-schedule', pause: 'pause-schedule', resume: 'resume-schedule' } as const;
const actSchema = z.strictObject({
  action: z.enum(['run', 'pause', 'resume'], { error: 'expected run, pause, resume' }),
  queue: queueName,
  id: z.string({ error: 'expected the id of a schedule' }).min(1).max(100),
});

/** The recurring jobs of all queues. */
@Injectable()
export class SchedulesController extends Routes {
  constructor(
    private readonly queues: ShownQueues,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Reads('api/schedules', z.object({}))
  async list(_query: object, { request }: Call): Promise<SchedulesView> {
    await this.queues.look();
    const visible = await this.permissions.visibleQueues(request, this.queues.names());
    const { found, unreadable } = await this.queues.gather(visible, (queue) => this.ofQueue(queue));
    return {
      schedules: await this.permissions.visible(request, found),
      unreadable: unreadable.map((verdict) => unreadableView(verdict, this.queues.isOther(verdict.queue))),
    };
  }

  @Changes('api/schedules/act', actSchema, {
    needs: ({ action, queue, id }) => [{ action: ACTIONS[action], queue, id }],
    logs: ({ action, id }) => onOne(ACTIONS[action], 'schedule', id),
  })
  async act(
    { action, id }: z.output<typeof actSchema>,
    { queue }: ChangeCall,
  ): Promise<Outcome & { jobId: string | null }> {
    if (action === 'run') {
      return { done: 1, jobId: (await queue.schedules.runNow(id)).id };
    }
    if ((await queue.schedules[action](id)) === 'missing') {
      throw new NotFoundException('There is no schedule of that id any more.');
    }
    return { done: 1, jobId: null };
  }

  private ofQueue(queue: JobQueue): Promise<ScheduleView[]> {
    return this.reads.get(`schedules ${queue.name}`, async () => {
      const schedules = await queue.schedules.list({ limit: MOST });
      return schedules.map(describeSchedule);
    });
  }
}
