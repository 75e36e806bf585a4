import { Body, Get, NotFoundException, Post, Req, Res, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { noneIfUnreadable } from '../../inspect/unreadable.js';
import { ActionLog } from '../actions/action-log.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { OverviewReader } from '../live/overview-reader.js';
import { SharedReads } from '../live/shared-reads.js';
import { Permissions } from '../security/permissions.js';
import { describeSchedule } from '../views/describe-schedule.js';
import { checkInput, KnownQueues, queueName } from './known-queue.js';
import { Responder } from './responder.js';
import type { ScheduleView } from '../views/views.js';

const MOST = 500;
const ACTIONS = { run: 'run-schedule', pause: 'pause-schedule', resume: 'resume-schedule' } as const;
const actSchema = z.strictObject({
  action: z.enum(['run', 'pause', 'resume'], { error: 'expected run, pause, resume' }),
  queue: queueName,
  id: z.string({ error: 'expected the id of a schedule' }).min(1).max(100),
});

/** The recurring jobs of all queues. */
@Injectable()
export class SchedulesController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly reader: OverviewReader,
    private readonly log: ActionLog,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Get('api/schedules')
  async list(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      await this.permissions.require('view', request);
      const names = this.reader.names();
      const seen = await Promise.all(names.map((queue) => this.permissions.allows('view', request, { queue })));
      const visible = names.filter((_, i) => seen[i]);
      const read = await Promise.all(visible.map((name) => noneIfUnreadable(name, this.ofQueue(name))));
      return { schedules: read.flat() };
    });
  }

  @Post('api/schedules/act')
  async act(@Body() body: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { action, queue: name, id } = checkInput(actSchema, body);
      await this.permissions.require(ACTIONS[action], request, { queue: name, id });
      const queue = this.queues.get(name);
      const jobId = action === 'run' ? (await queue.schedules.runNow(id)).id : undefined;
      if (action !== 'run' && (await queue.schedules[action](id)) === 'missing') {
        throw new NotFoundException('There is no schedule of that id any more.');
      }
      const user = this.permissions.userOf(request);
      await this.log.add(queue, { user, action: ACTIONS[action], subject: `schedule ${id}`, count: 1 });
      this.reads.forget();
      return { done: 1, spared: 0, jobId: jobId ?? null };
    });
  }

  private ofQueue(name: string): Promise<ScheduleView[]> {
    return this.reads.get(`schedules ${name}`, async () => {
      const schedules = await this.queues.get(name).schedules.list({ limit: MOST });
      return schedules.map(describeSchedule);
    });
  }
}
