import { Inject, Injectable, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import { onTarget } from '../../queue/actions/noted-action.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { BatchReader } from '../../queue/batches/batch-reader.js';
import { BatchNotFoundError } from '../../queue/errors/errors.js';
import type { BatchMember, BatchRecord, JobReference } from '../../queue/model/batch.js';
import type { JobRecord } from '../../queue/model/job.js';
import { batchInWords, followUpInWords } from '../../inspect/batch-words.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads } from '../live/snapshot-feed.js';
import { firstVisible, HiddenParts, Permissions } from '../security/permissions.js';
import { Redactor } from '../security/redactor.js';
import { ShownQueues } from '../shown-queues.js';
import { JobDescriber } from '../views/job-describer.js';
import {
  jobId,
  queryCount,
  queueName,
  Changes,
  Reads,
  Routes,
  type ChangeCall,
  type Outcome,
  type QueueCall,
} from './route.js';
import type {
  BatchesView,
  BatchMemberView,
  BatchPageView,
  BatchView,
  FollowUpView,
  JobRow,
} from '../views/views.js';
import { cut } from '../../queue/runtime/cut.js';

const SHOWN = 100;
const SHOWN_ENDED = 20;
/** The members of one look before a batch is cancelled. */
const CHECKED = 1_000;
const ERROR_LENGTH = 300;

const listSchema = z.object({ queue: queueName });
const batchSchema = z.object({
  queue: queueName,
  id: jobId,
  offset: queryCount(Number.MAX_SAFE_INTEGER).default(0),
});
const cancelSchema = z.strictObject({ queue: queueName, id: jobId });

/** A page of a batch, before it is known who looks. */
type BatchPage = Omit<BatchPageView, 'batch'> & { record: BatchRecord };

/** Serves the batches of a queue, and one batch with its members. */
@Injectable()
export class BatchesController extends Routes {
  @Inject(ShownQueues) private readonly queues!: ShownQueues;

  constructor(
    private readonly describer: JobDescriber,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
    private readonly redactor: Redactor,
  ) {
    super();
  }

  @Reads('api/batches', listSchema)
  async list(_query: z.output<typeof listSchema>, { queue, request }: QueueCall): Promise<BatchesView> {
    const list = async (ended: boolean, most: number) =>
      this.viewsOf(
        request,
        await firstVisible(most, {
          read: (limit) =>
            this.reads.get(`batches ${queue.name} ${ended} ${limit}`, () => queue.listBatches({ ended, limit })),
          visible: (records) => this.permissions.visible(request, records),
        }),
      );
    const [batches, ended] = await Promise.all([list(false, SHOWN), list(true, SHOWN_ENDED)]);
    return { batches, ended };
  }

  @Reads('api/batch', batchSchema, ({ queue, id }) => [{ action: 'view', queue, id }])
  async one({ id, offset }: z.output<typeof batchSchema>, { queue, request }: QueueCall): Promise<BatchPageView> {
    const key = `batch ${queue.name} ${id} ${offset}`;
    const { record, ...page } = await this.reads.get(key, () => this.read(queue, id, offset));
    const [batch] = await this.viewsOf(request, [record]);
    return {
      ...page,
      batch: batch!,
      followUps: await this.visibleFollowUps(request, page.followUps),
      members: await new HiddenParts(this.permissions, request).rows(page.members),
    };
  }

  private async visibleFollowUps(
    request: DashboardRequest,
    followUps: readonly FollowUpView[],
  ): Promise<FollowUpView[]> {
    const parts = new HiddenParts(this.permissions, request);
    return Promise.all(
      (await parts.rows(followUps)).map(async (each) => ({
        ...each,
        job: (await parts.rows(each.job ? [each.job] : []))[0] ?? null,
      })),
    );
  }

  @Changes('api/batch/cancel', cancelSchema, {
    logs: ({ id }) => onTarget('cancel-batch', 'batch', id),
  })
  async cancel({ id }: z.output<typeof cancelSchema>, { queue, request }: ChangeCall): Promise<Outcome> {
    const batch = queue.findBatch(id);
    const { open } = await known(batch.status());
    await this.requireMembers(request, batch);
    const stopped = (await batch.cancel()) === 'stopped';
    return { done: stopped ? open : 0 };
  }

  private async read(queue: JobQueue, id: string, offset: number): Promise<BatchPage> {
    const batch = queue.findBatch(id);
    const [record, page] = await Promise.all([
      known(batch.status()),
      known(batch.results({ offset, limit: SHOWN })),
    ]);
    const followUps = await this.followUps(record);
    await this.redactor.learn(...page.members.map((member) => member.queue));
    const members = await Promise.all(
      page.members.map(async (member) => {
        const job = await this.find(member);
        return memberView(this.redactor.member(member), job && this.describer.row(job));
      }),
    );
    return { record, followUps, members, next: page.next ?? null };
  }

  /** Returns batches as the viewer may see them: their words name no queue that is hidden. */
  private async viewsOf(request: DashboardRequest, records: readonly BatchRecord[]): Promise<BatchView[]> {
    const queues = new Set(records.flatMap(({ followUps }) => followUps.map(({ queue }) => queue)));
    const shown = new Set(await this.permissions.visibleQueues(request, [...queues]));
    return records.map((record) => viewOf(record, shown));
  }

  /** @throws ForbiddenException unless the request may cancel each open member, which may be in another queue */
  private async requireMembers(request: DashboardRequest, batch: BatchReader): Promise<void> {
    let offset: number | undefined = this.permissions.areOpen ? undefined : 0;
    while (offset !== undefined) {
      const { members, next } = await batch.results({ offset, limit: CHECKED });
      const open = members.filter(({ status }) => status === 'open');
      for (const queue of new Set(open.map((member) => member.queue))) {
        const ids = open.filter((member) => member.queue === queue).map(({ id }) => id);
        await this.permissions.require(request, { action: 'cancel', queue, ids });
      }
      offset = next;
    }
  }

  /** Returns the follow-ups with their jobs. They may be in queues that the app does not know. */
  private async followUps(batch: BatchRecord): Promise<FollowUpView[]> {
    return Promise.all(
      batch.followUps.map(async (each) => {
        const job = await this.find(each);
        return {
          ...each,
          words: followUpInWords(batch, each, job?.status),
          job: job ? this.describer.row(job) : null,
        };
      }),
    );
  }

  /** Returns a job, and learns what its queue hides. Undefined for one that is gone, or whose queue cannot be read. */
  private async find({ queue, id }: JobReference): Promise<JobRecord | undefined> {
    const { found } = await this.queues.gather([queue], async (home) => {
      const [job] = await Promise.all([home.get(id), this.redactor.learn(queue)]);
      return [job];
    });
    return found[0] ?? undefined;
  }
}

/** @throws NotFoundException where the batch is not known */
async function known<Reply>(answer: Promise<Reply>): Promise<Reply> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof BatchNotFoundError
      ? new NotFoundException('There is no batch of that id any more. It is forgotten a week after its end.')
      : error;
  }
}

function viewOf(record: BatchRecord, shown: ReadonlySet<string>): BatchView {
  const { createdAt, sealedAt, firedAt, endedAt, followUps: _, ...rest } = record;
  return {
    ...rest,
    words: batchInWords(record, shown),
    createdAt: createdAt.getTime(),
    sealedAt: sealedAt?.getTime() ?? null,
    firedAt: firedAt?.getTime() ?? null,
    endedAt: endedAt?.getTime() ?? null,
  };
}

/** Returns a member with what its job says of itself, as far as that is still there. */
function memberView({ id, queue, status, error }: BatchMember, job: JobRow | undefined): BatchMemberView {
  return {
    id,
    queue,
    status,
    state: status === 'open' ? (job?.state ?? null) : null,
    name: job?.name ?? null,
    label: job?.label ?? null,
    at: job?.at ?? null,
    error: error === undefined ? null : cut(error, ERROR_LENGTH),
  };
}
