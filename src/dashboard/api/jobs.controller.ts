import { Get, Query, Req, Res, Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads } from '../live/shared-reads.js';
import { matchSchema } from '../search/job-match.js';
import { LIST_BYTES } from '../search/job-walk.js';
import { JobSearch } from '../search/job-search.js';
import { Permissions } from '../security/permissions.js';
import { JobDescriber } from '../views/job-describer.js';
import { checkInput, KnownQueues, queryCount, queueName, stateSchema } from './known-queue.js';
import { Responder } from './responder.js';
import type { JobsPage } from '../views/views.js';

const LARGEST_PAGE = 100;
const cursor = z.string({ error: 'expected the cursor of a page' }).max(2_000).optional();
const pageSchema = z.object({
  queue: queueName,
  state: stateSchema,
  offset: queryCount(Number.MAX_SAFE_INTEGER).default(0),
  limit: queryCount(LARGEST_PAGE).default(50),
});
const searchSchema = matchSchema.extend({ queue: queueName, state: stateSchema, cursor });
const errorsSchema = z.object({ queue: queueName, cursor });

/** The jobs of a queue, page by page, and what can be searched in them. */
@Injectable()
export class JobsController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly describer: JobDescriber,
    private readonly jobSearch: JobSearch,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Get('api/jobs')
  async page(@Query() query: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, state, offset, limit } = checkInput(pageSchema, query);
      await this.permissions.require('view', request, { queue: name });
      const queue = this.queues.get(name);
      return this.reads.get(`jobs ${name} ${state} ${offset} ${limit}`, async (): Promise<JobsPage> => {
        const [jobs, stats] = await Promise.all([
          queue.list(state, { offset, limit: Math.max(1, limit), mostBytes: LIST_BYTES }),
          queue.stats(),
        ]);
        return { state, offset, total: stats[state], jobs: jobs.map((job) => this.describer.row(job)) };
      });
    });
  }

  @Get('api/search')
  async search(@Query() query: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, state, cursor: from, ...match } = checkInput(searchSchema, query);
      await this.permissions.require('view', request, { queue: name });
      return this.jobSearch.search(this.queues.get(name), state, match, from ?? null);
    });
  }

  @Get('api/errors')
  async errors(@Query() query: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, cursor: from } = checkInput(errorsSchema, query);
      await this.permissions.require('view', request, { queue: name });
      const queue = this.queues.get(name);
      return this.reads.get(`errors ${name} ${from}`, () => this.jobSearch.errorGroups(queue, from ?? null));
    });
  }
}
