import { Get, NotFoundException, Query, Req, Res, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { readJobSigns } from '../../inspect/job-signs.js';
import { noneIfUnreadable } from '../../inspect/unreadable.js';
import type { DashboardAction, DashboardRequest } from '../dashboard-options.js';
import { OverviewReader } from '../live/overview-reader.js';
import { SharedReads } from '../live/shared-reads.js';
import { Permissions } from '../security/permissions.js';
import { JobDescriber } from '../views/job-describer.js';
import { checkInput, jobId, KnownQueues, queueName } from './known-queue.js';
import { Responder } from './responder.js';
import type { JobRow, JobView } from '../views/views.js';

const jobSchema = z.object({ queue: queueName, id: jobId });
const findSchema = z.object({ id: jobId });

/** Serves one job, and finds the queue of an id. */
@Injectable()
export class JobController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly reader: OverviewReader,
    private readonly describer: JobDescriber,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Get('api/job')
  async job(@Query() query: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, id } = checkInput(jobSchema, query);
      await this.permissions.require('view', request, { queue: name, id });
      const read = await this.reads.get(`job ${name} ${id}`, () => this.read(name, id));
      const actions = await this.permissions.actions(request, { queue: name, id });
      return { ...read, actions } satisfies JobView;
    });
  }

  /** Looks for an id in every queue. */
  @Get('api/find')
  async find(@Query() query: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { id } = checkInput(findSchema, query);
      await this.permissions.require('view', request);
      const found = await Promise.all(
        this.reader.names().map(async (queue): Promise<JobRow[]> => {
          if (!(await this.permissions.allows('view', request, { queue }))) {
            return [];
          }
          return noneIfUnreadable(queue, this.rowsOf(queue, id));
        }),
      );
      return { jobs: found.flat() };
    });
  }

  private async rowsOf(queue: string, id: string): Promise<JobRow[]> {
    const job = await this.queues.get(queue).get(id);
    return job ? [this.describer.row(job)] : [];
  }

  private async read(name: string, id: string): Promise<JobView> {
    const queue = this.queues.get(name);
    const job = await queue.get(id);
    if (!job) {
      throw new NotFoundException('There is no job of that id any more. It was removed, or has aged out.');
    }
    const actions: DashboardAction[] = [];
    return this.describer.view(job, { actions, signs: await readJobSigns(queue, job) });
  }
}
