import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { SharedReads } from '../live/shared-reads.js';
import { markFields } from '../../queue/dead-letters/dead-letters.js';
import { LIST_BYTES } from '../../inspect/search/walk-state.js';
import { groupByError } from '../search/error-groups.js';
import { JobSearch } from '../search/job-search.js';
import { HiddenParts } from '../security/hidden-parts.js';
import { Permissions } from '../security/permissions.js';
import { JobDescriber } from '../views/job-describer.js';
import { cursor, queryCount, queueName, stateSchema } from './known-queue.js';
import { Changes, Reads, Routes } from './route.js';
import type { ChangeCall, Outcome, QueueCall } from './route-runner.js';
import { onKind } from '../../queue/actions/noted-action.js';
import type { ErrorGroupsPage, JobsPage } from '../views/views.js';

const LARGEST_PAGE = 100;
const pageSchema = z.object({
  queue: queueName,
  state: stateSchema,
  offset: queryCount(Number.MAX_SAFE_INTEGER).default(0),
  limit: queryCount(LARGEST_PAGE).default(50),
});
const errorsSchema = z.object({ queue: queueName, cursor });
const { known, quietForMs, note } = markFields;
const markSchema = z.strictObject({
  queue: queueName,
  kind: z.string({ error: 'expected the kind of an error' }).min(1).max(64),
  /** null forgets what was said. */
  mark: z.strictObject({ known, quietForMs, note }).nullable(),
});

/** The jobs of a queue page by page, and its dead letters by kind of error. */
@Injectable()
export class JobsController extends Routes {
  constructor(
    private readonly describer: JobDescriber,
    private readonly jobSearch: JobSearch,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Reads('api/jobs', pageSchema)
  async page(
    { state, offset, limit }: z.output<typeof pageSchema>,
    { queue, request }: QueueCall,
  ): Promise<JobsPage> {
    const key = `jobs ${queue.name} ${state} ${offset} ${limit}`;
    const page = await this.reads.get(key, async (): Promise<JobsPage> => {
      const [jobs, stats] = await Promise.all([
        queue.list(state, { offset, limit: Math.max(1, limit), mostBytes: LIST_BYTES }),
        queue.stats(),
      ]);
      return { state, offset, total: stats[state], jobs: jobs.map((job) => this.describer.row(job)) };
    });
    return { ...page, jobs: await new HiddenParts(this.permissions, request).rows(page.jobs) };
  }

  /** Says something of a kind of error, in place of what was said before. */
  @Changes('api/errors/mark', markSchema, {
    logs: ({ kind, mark }) => onKind(kind, mark),
  })
  async mark(
    { queue: _name, kind, mark }: z.output<typeof markSchema>,
    { queue, user }: ChangeCall,
  ): Promise<Outcome> {
    return { done: Number(await queue.deadLetters.markKind(kind, mark && { ...mark, by: user })) };
  }

  /**
   * Returns the kinds of error as they were counted. For a viewer who may not see each job it groups a slice of the dead
   * letters. The page joins the groups of all slices.
   */
  @Reads('api/errors', errorsSchema)
  async errors(
    { cursor: from }: z.output<typeof errorsSchema>,
    { queue, request }: QueueCall,
  ): Promise<ErrorGroupsPage> {
    if (await this.permissions.seesAll(request, queue.name)) {
      return this.reads.get(`kinds ${queue.name}`, () => this.jobSearch.kinds(queue));
    }
    const key = `errors ${queue.name} ${from}`;
    const {
      jobs,
      total,
      cursor: next,
    } = await this.reads.get(key, () => this.jobSearch.failedJobs(queue, from ?? null));
    const groups = groupByError(await new HiddenParts(this.permissions, request).rows(jobs));
    return { groups, searched: jobs.length, total, cursor: next };
  }
}
