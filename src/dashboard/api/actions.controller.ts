import { BadRequestException, ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import { JobActions } from '../actions/job-actions.js';
import { LogReader } from '../actions/log-reader.js';
import { unreadableView } from '../live/verdict-view.js';
import { ShownQueues } from '../shown-queues.js';
import { JobDescriber } from '../views/job-describer.js';
import { jobId, queueName, stateSchema } from './known-queue.js';
import { Changes, Reads, Routes } from './route.js';
import type { Call, ChangeCall, Outcome } from './route-runner.js';
import type { LogView } from '../views/log-view.js';
import type { State } from '../views/views.js';
import { jobsOf, onJobs, onTarget, onQueue } from '../../queue/actions/noted-action.js';
import { ACTIONS, JOB_ACTIONS, type JobAction, permissionsOf } from '../../queue/model/actions.js';
import { JobNotFoundError, SignalRefusedError } from '../../queue/errors/errors.js';
import type { SignalOutcome } from '../../queue/model/signal.js';
import { startOf } from '../../queue/runtime/cut.js';
import { pauseOptions } from '../../queue/model/pause.js';
import { pauseInWords, pauseOf } from '../actions/pause-of.js';

const MOST_JOBS = 500;
const LONGEST_SHOWN_SIGNAL = 128;
export const actionSchema = z.enum(JOB_ACTIONS, { error: `expected ${JOB_ACTIONS.join(', ')}` });
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
const signalSchema = z.strictObject({
  queue: queueName,
  id: jobId,
  signal: z.string({ error: 'expected the name of a signal' }),
  /** Absent for a signal without data. */
  data: z.unknown().optional(),
});
const redriveSchema = z.strictObject({ queue: queueName, id: jobId });
const queueSchema = z.strictObject({
  action: z.enum(['pause', 'resume'], { error: 'expected pause, resume' }),
  queue: queueName,
  ...pauseOptions.pick({ reason: true, forMs: true }).shape,
  first: z.number().int().min(1).max(1_000_000).optional(),
  perSecond: z.number().int().min(1).max(1_000_000).optional(),
  allShards: z.literal(true, { error: 'expected true, or nothing' }).optional(),
});

const text = z.string().min(1).max(200).optional();
const logSchema = z.object({
  queue: queueName.optional(),
  action: text,
  by: text,
  via: z.enum(['dashboard', 'cli', 'app'], { error: 'expected dashboard, cli, app' }).optional(),
});

/** Changes jobs and queues, and shows who did. */
@Injectable()
export class ActionsController extends Routes {
  constructor(
    private readonly actions: JobActions,
    private readonly describer: JobDescriber,
    private readonly log: LogReader,
    private readonly queues: ShownQueues,
  ) {
    super();
  }

  @Changes('api/jobs/act', actSchema, {
    logs: ({ action, state, ids: [id, ...others] }) =>
      others.length === 0
        ? onTarget(action, 'job', id!)
        : onJobs(action, `${others.length + 1} chosen ${jobsOf(state)}`),
  })
  async act({ action, state, ids }: z.output<typeof actSchema>, { queue, request }: ChangeCall): Promise<Outcome> {
    requireState(action, state);
    const outcome = await this.actions.act(queue, action, state, ids);
    if (action === 'redrive' && ids.length === 1 && outcome.done === 0) {
      await this.actions.refuseRedriven(queue, ids[0]!, request);
    }
    return outcome;
  }

  /** Redrives a dead letter with another payload. */
  @Changes('api/jobs/edit', editSchema, {
    needs: ({ queue, id }) => permissionsOf('edit').map((action) => ({ action, queue, id })),
    logs: ({ id }) => onTarget('redrive', 'job', id, 'with another payload'),
  })
  async edit({ id, payload }: z.output<typeof editSchema>, { queue, request }: ChangeCall): Promise<Outcome> {
    const job = await queue.get(id);
    const refusal = job && this.describer.editRefusal(job);
    if (refusal) {
      throw new ConflictException(refusal);
    }
    if (!job || !(await this.actions.redriveWith(queue, id, payload))) {
      await this.actions.refuseRedriven(queue, id, request);
      throw new NotFoundException('This job is no dead letter any more.');
    }
    return { done: 1 };
  }

  /** Redrives a dead letter as a new job, and keeps it. */
  @Changes('api/jobs/redrive-as-new', redriveSchema, {
    logs: ({ id }) => onTarget('redrive-as-new', 'job', id),
  })
  async redriveAsNew(
    { id }: z.output<typeof redriveSchema>,
    { queue, request }: ChangeCall,
  ): Promise<Outcome & { id: string }> {
    const redriven = await queue.deadLetters.redriveAsNew(id);
    if (redriven.outcome === 'known') {
      throw await this.actions.alreadyRedriven(queue, redriven.id, request);
    } else if (redriven.outcome === 'missing') {
      throw new NotFoundException('This job is no dead letter any more.');
    }
    return { done: 1, id: redriven.id };
  }

  /** Gives a job a signal. */
  @Changes('api/jobs/signal', signalSchema, {
    logs: ({ id, signal }) => onTarget('signal', 'job', id, startOf(signal, LONGEST_SHOWN_SIGNAL)),
  })
  async signal(
    { id, signal, data }: z.output<typeof signalSchema>,
    { queue }: ChangeCall,
  ): Promise<Outcome & { outcome: SignalOutcome }> {
    try {
      const outcome = await queue.signal(id, signal, data);
      return { done: Number(outcome !== 'known'), outcome };
    } catch (error) {
      if (error instanceof JobNotFoundError) throw new NotFoundException('This job is gone meanwhile.');
      throw error instanceof SignalRefusedError ? new ConflictException(error.message) : error;
    }
  }

  @Changes('api/queue/act', queueSchema, {
    logs: ({ action, queue: _queue, allShards: _all, ...note }) => onQueue(action, pauseInWords(note)),
  })
  async actOnQueue(
    { action, first, perSecond, allShards, ...note }: z.output<typeof queueSchema>,
    { queue, user }: ChangeCall,
  ): Promise<Outcome> {
    if (allShards && (first ?? perSecond) !== undefined) {
      throw new BadRequestException(
        'Each shard would start as many jobs. Resume all of them, or one shard on its page.',
      );
    }
    const changed = await (action === 'pause'
      ? queue.pause(pauseOf(user, note))
      : queue.resume({ first, perSecond }));
    return { done: changed ? 1 : 0 };
  }

  @Reads('api/log', logSchema)
  async entries({ queue, action, by, via }: z.output<typeof logSchema>, { request }: Call): Promise<LogView> {
    const filter = { ...(action && { action }), ...(by && { by }), ...(via && { via }) };
    const { unreadable, ...read } = await this.log.read(request, queue, filter);
    return {
      ...read,
      unreadable: unreadable.map((verdict) => unreadableView(verdict, this.queues.isOther(verdict.queue))),
    };
  }
}

/** @throws BadRequestException for an action that jobs of that state do not know */
export function requireState(action: JobAction, state: State): void {
  const takes: readonly State[] = ACTIONS[action].takes;
  if (!takes.includes(state)) {
    throw new BadRequestException(`Only ${takes.join(', ')} jobs can be taken by "${action}".`);
  }
}
