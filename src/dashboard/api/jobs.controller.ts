// The routes that show jobs: lists, kinds of error, one job, and searches.
import { Injectable, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import { outcomeInWords } from '../../inspect/job-words.js';
import { readJobSigns, type JobSigns } from '../../inspect/why-not-running.js';
import { LIST_BYTES } from '../../inspect/walk-jobs.js';
import { onKind } from '../../queue/actions/noted-action.js';
import { markFields } from '../../queue/dead-letters/dead-letters.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobReference } from '../../queue/model/batch.js';
import type { StreamItem } from '../../queue/model/job-stream.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads } from '../live/snapshot-feed.js';
import { unreadableView } from '../live/verdict-view.js';
import { groupByError, matchSchema, searchText, JobSearch } from '../job-search.js';
import { HiddenParts, Permissions } from '../security/permissions.js';
import { Redactor } from '../security/redactor.js';
import { ShownQueues } from '../shown-queues.js';
import { JobDescriber } from '../views/job-describer.js';
import { fileOf, JOB_PARTS, type TextFile } from '../views/job-file.js';
import type {
  EndedJobView,
  FoundJobsView,
  EverywherePage,
  ErrorGroupsPage,
  JobsPage,
  JobRow,
  JobView,
  CountPage,
  SearchPage,
} from '../views/views.js';
import {
  cursor,
  queryCount,
  queueName,
  stateSchema,
  Changes,
  Reads,
  Routes,
  type ChangeCall,
  type Outcome,
  type QueueCall,
  jobId,
  Downloads,
  type Call,
} from './route.js';

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

const jobSchema = z.object({ queue: queueName, id: jobId });
const fileSchema = jobSchema.extend({ part: z.enum(JOB_PARTS, { error: `expected ${JOB_PARTS.join(', ')}` }) });
const findSchema = z.object({ id: jobId });

/** A job as it was read for all viewers. */
interface JobReading {
  job: JobRecord;
  signs: JobSigns;
  /** The last items of its stream. */
  streamed: readonly StreamItem[];
}

/** The fields of a job that name other jobs. */
type Tie = 'followedBy' | 'redrivenFrom' | 'redrivenAs';

/** Serves one job, and finds the queue of an id. */
@Injectable()
export class JobController extends Routes {
  constructor(
    private readonly queues: ShownQueues,
    private readonly describer: JobDescriber,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
    private readonly redactor: Redactor,
  ) {
    super();
  }

  @Reads('api/job', jobSchema, ({ queue, id }) => [{ action: 'view', queue, id }])
  async job({ id }: z.output<typeof jobSchema>, { queue, request }: QueueCall): Promise<JobView> {
    const read = await this.reads.get(`job ${queue.name} ${id}`, () => this.read(queue, id));
    const parts = new HiddenParts(this.permissions, request);
    const { job, signs } = await parts.ofJob(read.job, read.signs);
    const actions = await this.permissions.actions(request, { queue: queue.name, id });
    const [view] = await parts.rows([this.describer.view(job, { actions, signs, streamed: read.streamed })]);
    return { ...view!, ...(await this.visibleTies(request, view!)) };
  }

  /** Returns a part of a job as a file, whole where the page cuts it. */
  @Downloads('api/job/file', fileSchema, ({ queue, id }) => [{ action: 'view', queue, id }])
  async file({ id, part }: z.output<typeof fileSchema>, { queue }: QueueCall): Promise<TextFile> {
    const job = this.redactor.record(await this.stored(queue, id));
    return fileOf(job, part);
  }

  /** Looks for an id in every queue. */
  @Reads('api/find', findSchema)
  async find({ id }: z.output<typeof findSchema>, { request }: Call): Promise<FoundJobsView> {
    await this.queues.look();
    const visible = await this.permissions.visibleQueues(request, this.queues.names(), { id });
    const { found: jobs, unreadable } = await this.queues.gather(visible, (queue) => this.rowsOf(queue, id));
    const ended =
      jobs.length > 0 ? [] : (await this.queues.gather(visible, (queue) => this.outcomeOf(queue, id))).found;
    return {
      jobs: await new HiddenParts(this.permissions, request).rows(jobs),
      ended,
      unreadable: unreadable.map((verdict) => unreadableView(verdict, this.queues.isOther(verdict.queue))),
    };
  }

  /** Returns the ties of a job to others. Leaves out the jobs that the request may not see. */
  private async visibleTies(
    request: DashboardRequest,
    { queue, followedBy, redrivenFrom, redrivenAs, batch, schedule }: JobView,
  ): Promise<Pick<JobView, Tie | 'batch' | 'schedule'>> {
    const visible = <Job extends JobReference>(jobs: readonly Job[]) => this.permissions.visible(request, jobs);
    const [shownBatch = null] = await visible(batch ? [batch] : []);
    const [shownSchedule] = await visible(schedule === null ? [] : [{ queue, id: schedule }]);
    return {
      followedBy: await visible(followedBy),
      redrivenFrom: await visible(redrivenFrom),
      redrivenAs: await visible(redrivenAs),
      batch: shownBatch,
      schedule: shownSchedule?.id ?? null,
    };
  }

  private async rowsOf(queue: JobQueue, id: string): Promise<JobRow[]> {
    const [job] = await Promise.all([queue.get(id), this.redactor.learn(queue.name)]);
    return job ? [this.describer.row(job)] : [];
  }

  private async outcomeOf(queue: JobQueue, id: string): Promise<EndedJobView[]> {
    const outcome = await queue.outcome(id);
    return outcome ? [{ queue: queue.name, id, name: outcome.name, state: outcome.status }] : [];
  }

  /** @throws NotFoundException */
  private async stored(queue: JobQueue, id: string): Promise<JobRecord> {
    const job = await queue.get(id);
    if (!job) {
      const outcome = await queue.outcome(id);
      throw new NotFoundException(
        outcome ? outcomeInWords(outcome) : 'There is no job of that id any more. It was removed, or has aged out.',
      );
    }
    return job;
  }

  private async read(queue: JobQueue, id: string): Promise<JobReading> {
    const job = await this.stored(queue, id);
    const streamed = job.stream ? await queue.lastStreamed(id, job.stream.entries) : [];
    return { job, signs: await readJobSigns(queue, job), streamed };
  }
}

const searchSchema = matchSchema.extend({ queue: queueName, state: stateSchema, cursor });
const everywhereSchema = z.object({ text: searchText, cursor });

/** Searches jobs slice by slice: of one state, or of all queues and states. */
@Injectable()
export class SearchController extends Routes {
  constructor(
    private readonly jobSearch: JobSearch,
    private readonly permissions: Permissions,
    private readonly queues: ShownQueues,
  ) {
    super();
  }

  @Reads('api/search', searchSchema)
  async search(
    { queue: _name, state, cursor: from, ...match }: z.output<typeof searchSchema>,
    { queue, request }: QueueCall,
  ): Promise<SearchPage> {
    const page = await this.jobSearch.search(queue, state, match, from ?? null);
    return { ...page, jobs: await new HiddenParts(this.permissions, request).rows(page.jobs) };
  }

  /** Searches all states of all queues that the viewer may see. */
  @Reads('api/search/all', everywhereSchema)
  async everywhere(
    { text, cursor: from }: z.output<typeof everywhereSchema>,
    { request }: Call,
  ): Promise<EverywherePage> {
    await this.queues.look();
    const visible = await this.permissions.visibleQueues(request, this.queues.names());
    const page = await this.jobSearch.everywhere(visible, text, from ?? null);
    return {
      ...page,
      jobs: await new HiddenParts(this.permissions, request).rows(page.jobs),
      unreadable: page.unreadable.map((verdict) => unreadableView(verdict, this.queues.isOther(verdict.queue))),
    };
  }

  /** Counts the matches of a slice, so that an action on all of them can name their number. */
  @Reads('api/search/count', searchSchema)
  async count(
    { queue: _name, state, cursor: from, ...match }: z.output<typeof searchSchema>,
    { queue, request }: QueueCall,
  ): Promise<CountPage> {
    const { jobs, ...page } = await this.jobSearch.search(queue, state, match, from ?? null, Infinity);
    return { ...page, found: (await this.permissions.visible(request, jobs)).length };
  }
}
