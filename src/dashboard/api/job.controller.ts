import { Injectable, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import { outcomeInWords } from '../../inspect/display/outcome-words.js';
import { readJobSigns, type JobSigns } from '../../inspect/job-signs.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobReference } from '../../queue/model/batch.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { StreamItem } from '../../queue/model/job-stream.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { unreadableView } from '../live/verdict-view.js';
import { SharedReads } from '../live/shared-reads.js';
import { ShownQueues } from '../shown-queues.js';
import { HiddenParts } from '../security/hidden-parts.js';
import { Permissions } from '../security/permissions.js';
import { Redactor } from '../security/redactor.js';
import { JobDescriber } from '../views/job-describer.js';
import { jobId, queueName } from './known-queue.js';
import { fileOf, JOB_PARTS, type TextFile } from '../views/job-file.js';
import { Downloads, Reads, Routes } from './route.js';
import type { Call, QueueCall } from './route-runner.js';
import type { EndedJobView, FoundJobsView } from '../views/search-views.js';
import type { JobRow, JobView } from '../views/views.js';

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
