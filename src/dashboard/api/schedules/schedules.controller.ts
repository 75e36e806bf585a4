import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { recurrenceInWords } from '../../../inspect/schedules/recurrence-in-words.js';
import { timesAfter } from '../../../inspect/schedules/next-times.js';
import { inWords, onTarget } from '../../../queue/actions/noted-action.js';
import type { JobQueue } from '../../../queue/job-queue.js';
import { startOf } from '../../../queue/runtime/cut.js';
import { SharedReads } from '../../live/shared-reads.js';
import { unreadableView } from '../../live/verdict-view.js';
import { gatherVisible } from '../../security/first-visible.js';
import { HiddenParts } from '../../security/hidden-parts.js';
import { Permissions } from '../../security/permissions.js';
import { ShownQueues } from '../../shown-queues.js';
import { serverNow } from '../../actions/run-store.js';
import { describeSchedule } from '../../views/describe-schedule.js';
import type { EditedScheduleView, PreviewView, SchedulesView, ScheduleView } from '../../views/schedules-view.js';
import { queueName } from '../known-queue.js';
import { Changes, Reads, Routes } from '../route.js';
import type { Call, ChangeCall, Outcome, QueueCall } from '../route-runner.js';
import { noSchedule, ScheduleEditor } from './schedule-editor.js';
import { previewSchema, scheduleId, setSchema } from './schedule-input.js';

const MOST = 500;
/** The longest description of a schedule in the action log. */
const LOGGED = 300;
const actSchema = z.strictObject({
  action: z.enum(['run', 'pause', 'resume', 'remove'], { error: 'expected run, pause, resume, remove' }),
  queue: queueName,
  id: scheduleId.min(1),
});
const oneSchema = z.object({ queue: queueName, id: scheduleId });

/** The recurring jobs of all queues. */
@Injectable()
export class SchedulesController extends Routes {
  @Inject(ScheduleEditor) private readonly editor!: ScheduleEditor;

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
    const { found, unreadable } = await gatherVisible(this.queues, visible, MOST, {
      read: (queue, limit) => this.ofQueue(queue, limit),
      visible: (schedules) => this.permissions.visible(request, schedules),
    });
    const parts = new HiddenParts(this.permissions, request);
    return {
      schedules: await Promise.all(found.map((schedule) => parts.ofSchedule(schedule))),
      unreadable: unreadable.map((verdict) => unreadableView(verdict, this.queues.isOther(verdict.queue))),
    };
  }

  /** Returns one schedule, for the form that edits it. */
  @Reads('api/schedule', oneSchema, ({ queue, id }) => [{ action: 'view', queue, id }])
  async one({ id }: z.output<typeof oneSchema>, { queue }: QueueCall): Promise<EditedScheduleView> {
    return this.editor.view(queue, id);
  }

  /** Returns the next times of what a form says. Jobs that the schedule of this id has made count for its limit. */
  @Reads('api/schedules/preview', previewSchema, ({ queue, id }) => [
    { action: 'set-schedule', queue, ...(id !== '' && { id }) },
  ])
  async preview({ id, recurrence }: z.output<typeof previewSchema>, { queue }: QueueCall): Promise<PreviewView> {
    const [{ nowMs }, stored] = await Promise.all([
      queue.exec(({ schedules }) => schedules.due({ limit: 0 })),
      queue.schedules.get(id),
    ]);
    return {
      words: recurrenceInWords(recurrence),
      timeZone: recurrence.timeZone ?? 'UTC',
      at: nowMs,
      next: timesAfter(recurrence, nowMs, { queue: queue.name, id, ticks: stored?.ticks }),
    };
  }

  @Changes('api/schedules/set', setSchema, {
    logs: ({ id, recurrence }) => onTarget('set-schedule', 'schedule', id, startOf(inWords(recurrence), LOGGED)),
  })
  async set(input: z.output<typeof setSchema>, { queue }: ChangeCall): Promise<Outcome & { outcome: string }> {
    const outcome = await this.editor.set(queue, input);
    return { done: outcome === 'unchanged' ? 0 : 1, outcome };
  }

  @Changes('api/schedules/act', actSchema, {
    logs: ({ action, id }) => onTarget(`${action}-schedule`, 'schedule', id),
  })
  async act(
    { action, id }: z.output<typeof actSchema>,
    { queue }: ChangeCall,
  ): Promise<Outcome & { jobId: string | null }> {
    if (action === 'run') {
      const { id: jobId, outcome } = await queue.schedules.runNow(id);
      return { done: outcome === 'kept' ? 0 : 1, jobId };
    }
    if ((await queue.schedules[action](id)) === 'missing') {
      throw noSchedule();
    }
    return { done: 1, jobId: null };
  }

  private ofQueue(queue: JobQueue, limit: number): Promise<ScheduleView[]> {
    return this.reads.get(`schedules ${queue.name} ${limit}`, async () => {
      const schedules = await queue.schedules.list({ limit });
      const nowMs = schedules.length > 0 ? await serverNow(queue) : 0;
      return schedules.map((schedule) => describeSchedule(schedule, nowMs));
    });
  }
}
