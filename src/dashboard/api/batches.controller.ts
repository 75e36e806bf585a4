import { Body, Get, Injectable, NotFoundException, Post, Query, Req, Res } from '@nestjs/common';
import { z } from 'zod';
import { ActionLog } from '../actions/action-log.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { BatchNotFoundError } from '../../queue/errors/batch-errors.js';
import type { BatchMember, BatchRecord } from '../../queue/model/batch.js';
import { batchInWords } from '../../inspect/batch-words.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads } from '../live/shared-reads.js';
import { Permissions } from '../security/permissions.js';
import { cut, JobDescriber } from '../views/job-describer.js';
import { checkInput, jobId, KnownQueues, queryCount, queueName } from './known-queue.js';
import { Responder } from './responder.js';
import type { BatchMemberView, BatchPageView, BatchView } from '../views/batch-views.js';
import type { JobRow } from '../views/views.js';

const SHOWN = 100;
const ERROR_LENGTH = 300;
/** The ids of follow-ups begin with that of their batch. */
const FOLLOW_UPS = ['then', 'on_failure', 'finally'];

const listSchema = z.object({ queue: queueName });
const batchSchema = z.object({
  queue: queueName,
  id: jobId,
  offset: queryCount(Number.MAX_SAFE_INTEGER).default(0),
});
const cancelSchema = z.strictObject({ queue: queueName, id: jobId });

/** Serves the unfinished batches of a queue, and one batch with its members. */
@Injectable()
export class BatchesController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly describer: JobDescriber,
    private readonly log: ActionLog,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Get('api/batches')
  async list(@Query() query: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name } = checkInput(listSchema, query);
      await this.permissions.require('view', request, { queue: name });
      const queue = this.queues.get(name);
      const batches = await this.reads.get(`batches ${name}`, () => queue.listBatches({ limit: SHOWN }));
      return { batches: batches.map(viewOf) };
    });
  }

  @Get('api/batch')
  async one(@Query() query: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, id, offset } = checkInput(batchSchema, query);
      await this.permissions.require('view', request, { queue: name });
      const queue = this.queues.get(name);
      const page = await this.reads.get(`batch ${name} ${id} ${offset}`, () => this.read(queue, id, offset));
      return { ...page, members: await this.seenBy(request, page.members) };
    });
  }

  @Post('api/batch/cancel')
  async cancel(@Body() body: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, id } = checkInput(cancelSchema, body);
      await this.permissions.require('cancel', request, { queue: name, id });
      const queue = this.queues.get(name);
      const { open } = await known(queue.findBatch(id).status());
      const stopped = (await queue.findBatch(id).cancel()) === 'stopped';
      const done = stopped ? open : 0;
      const user = this.permissions.userOf(request);
      await this.log.add(queue, { user, action: 'cancel batch', subject: `batch ${id}`, count: done });
      this.reads.forget();
      return { done, spared: 0 };
    });
  }

  private async read(queue: JobQueue, id: string, offset: number): Promise<BatchPageView> {
    const batch = queue.findBatch(id);
    const [record, page, followUps] = await Promise.all([
      known(batch.status()),
      known(batch.results({ offset, limit: SHOWN })),
      this.followUps(queue, id),
    ]);
    return {
      batch: viewOf(record),
      followUps,
      members: page.members.map(memberView),
      next: page.next ?? null,
    };
  }

  /** Returns the members without the errors of queues that the request may not see. */
  private async seenBy(request: DashboardRequest, members: BatchMemberView[]): Promise<BatchMemberView[]> {
    const names = [...new Set(members.map(({ queue }) => queue))];
    const seen = await Promise.all(names.map((queue) => this.permissions.allows('view', request, { queue })));
    const hidden = new Set(names.filter((_, i) => !seen[i]));
    return members.map((member) => (hidden.has(member.queue) ? { ...member, error: null } : member));
  }

  private async followUps(queue: JobQueue, id: string): Promise<JobRow[]> {
    const jobs = await Promise.all(FOLLOW_UPS.map((kind) => queue.get(`@batch:${id}:${kind}`)));
    return jobs.flatMap((job) => (job ? [this.describer.row(job)] : []));
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

function viewOf(record: BatchRecord): BatchView {
  const { createdAt, sealedAt, firedAt, endedAt, ...rest } = record;
  return {
    ...rest,
    words: batchInWords(record),
    createdAt: createdAt.getTime(),
    sealedAt: sealedAt?.getTime() ?? null,
    firedAt: firedAt?.getTime() ?? null,
    endedAt: endedAt?.getTime() ?? null,
  };
}

function memberView({ id, queue, status, error }: BatchMember): BatchMemberView {
  return { id, queue, status, error: error === undefined ? null : cut(error, ERROR_LENGTH) };
}
