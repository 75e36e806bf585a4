import {
  BadRequestException,
  ConflictException,
  Body,
  Get,
  NotFoundException,
  Post,
  Query,
  Req,
  Res,
  Injectable,
} from '@nestjs/common';
import { z } from 'zod';
import { ActionLog } from '../actions/action-log.js';
import { ACTION_STATES, JobActions } from '../actions/job-actions.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads } from '../live/shared-reads.js';
import { Permissions } from '../security/permissions.js';
import { JobDescriber } from '../views/job-describer.js';
import { checkInput, jobId, KnownQueues, queueName, stateSchema } from './known-queue.js';
import { Responder } from './responder.js';
import type { JobAction, State } from '../views/views.js';
import { pauseOf } from '../actions/pause-of.js';

const MOST_JOBS = 500;
const ACTIONS = ['redrive', 'discard', 'cancel', 'promote', 'remove', 'run-again'] as const;
export const actionSchema = z.enum(ACTIONS, { error: `expected ${ACTIONS.join(', ')}` });
const actSchema = z.strictObject({
  action: actionSchema,
  queue: queueName,
  state: stateSchema,
  ids: z
    .array(jobId, { error: 'expected an array of job ids' })
    .min(1)
    .max(MOST_JOBS, `expected at most ${MOST_JOBS} job ids`),
});
const editSchema = z.strictObject({ queue: queueName, id: jobId, payload: z.unknown() });
const queueSchema = z.strictObject({
  action: z.enum(['pause', 'resume'], { error: 'expected pause, resume' }),
  queue: queueName,
});
const logSchema = z.object({ queue: queueName });

/** Changes jobs and queues. Every change is checked for permission, and leaves a line in the action log. */
@Injectable()
export class ActionsController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly actions: JobActions,
    private readonly log: ActionLog,
    private readonly describer: JobDescriber,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Post('api/jobs/act')
  async act(@Body() body: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { action, queue: name, state, ids } = checkInput(actSchema, body);
      requireState(action, state);
      await this.permissions.require(action, request, { queue: name, ...(ids.length === 1 && { id: ids[0]! }) });
      const queue = this.queues.get(name);
      const outcome = await this.actions.act(queue, action, state, ids);
      const subject = ids.length === 1 ? `job ${ids[0]}` : `${ids.length} chosen ${state} jobs`;
      await this.log.add(queue, { user: this.permissions.userOf(request), action, subject, count: outcome.done });
      this.reads.forget();
      return outcome;
    });
  }

  /** Redrives a dead letter with another payload. */
  @Post('api/jobs/edit')
  async edit(@Body() body: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, id, payload } = checkInput(editSchema, body);
      await this.permissions.require('edit', request, { queue: name, id });
      await this.permissions.require('redrive', request, { queue: name, id });
      const queue = this.queues.get(name);
      const job = await queue.get(id);
      const refusal = job && this.describer.editRefusal(job);
      if (refusal) {
        throw new ConflictException(refusal);
      }
      if (!job || !(await this.actions.redriveWith(name, id, payload))) {
        throw new NotFoundException('This job is no dead letter any more.');
      }
      const user = this.permissions.userOf(request);
      await this.log.add(queue, { user, action: 'edit and redrive', subject: `job ${id}`, count: 1 });
      this.reads.forget();
      return { done: 1, spared: 0 };
    });
  }

  @Post('api/queue/act')
  async actOnQueue(
    @Body() body: unknown,
    @Req() request: DashboardRequest,
    @Res() response: unknown,
  ): Promise<void> {
    await this.responder.json(response, async () => {
      const { action, queue: name } = checkInput(queueSchema, body);
      await this.permissions.require(action, request, { queue: name });
      const queue = this.queues.get(name);
      const user = this.permissions.userOf(request);
      const changed = await (action === 'pause' ? queue.pause(pauseOf(user)) : queue.resume());
      await this.log.add(queue, { user, action, subject: 'the queue', count: changed ? 1 : 0 });
      this.reads.forget();
      return { done: changed ? 1 : 0, spared: 0 };
    });
  }

  @Get('api/log')
  async entries(
    @Query() query: unknown,
    @Req() request: DashboardRequest,
    @Res() response: unknown,
  ): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name } = checkInput(logSchema, query);
      await this.permissions.require('view', request, { queue: name });
      return { entries: await this.log.list(this.queues.get(name)) };
    });
  }
}

/** @throws BadRequestException for an action that jobs of that state do not know */
export function requireState(action: JobAction, state: State): void {
  if (!ACTION_STATES[action].includes(state)) {
    throw new BadRequestException(`Only ${ACTION_STATES[action].join(', ')} jobs can be taken by "${action}".`);
  }
}
