// The routes of actions: on chosen jobs and queues, on all matching jobs, and the action log of both.
import { Injectable, BadRequestException, ConflictException, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import { deedsOf } from '../../inspect/join-shards.js';
import type { QueueVerdict } from '../../inspect/queue-signs.js';
import type { ActionFilter } from '../../queue/actions/action-log.js';
import { jobsOf, onJobs, onTarget, onQueue } from '../../queue/actions/noted-action.js';
import { JobNotFoundError, SignalRefusedError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ACTIONS, JOB_ACTIONS, type JobAction, permissionsOf } from '../../queue/model/actions.js';
import { pauseOptions } from '../../queue/model/pause.js';
import type { SignalOutcome } from '../../queue/model/signal.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import { startOf } from '../../queue/runtime/cut.js';
import { groupBy } from '../../queue/runtime/collections.js';
import type { ActionTarget } from '../../queue/store/action-entry.js';
import { wholeNumber } from '../../queue/validation/numbers.js';
import { BulkRuns, subjectOf } from '../actions/bulk-runs.js';
import { JobActions, pauseInWords, pauseOf } from '../actions/job-actions.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { matchSchema } from '../job-search.js';
import { unreadableView } from '../live/verdict-view.js';
import { gatherVisible, Permissions, HiddenParts } from '../security/permissions.js';
import { ShownQueues } from '../shown-queues.js';
import { JobDescriber } from '../views/job-describer.js';
import type { ActionLogEntry, LogView, State, RunView } from '../views/views.js';
import {
  jobId,
  queueName,
  stateSchema,
  Changes,
  Reads,
  Routes,
  type Call,
  type ChangeCall,
  type Outcome,
} from './route.js';

/** The most entries that one page shows. */
const MOST_ENTRIES = 200;

/** What was read of the logs, before its verdicts are views. */
type ReadLog = Omit<LogView, 'unreadable'> & { unreadable: QueueVerdict[] };

/** Reads the action log of one queue, or of all that the viewer may see. */
@Injectable()
export class LogReader {
  constructor(
    private readonly queues: ShownQueues,
    private readonly permissions: Permissions,
  ) {}

  async read(request: DashboardRequest, queue: string | undefined, filter: ActionFilter): Promise<ReadLog> {
    const names = queue === undefined ? await this.visibleQueues(request) : [queue];
    const { found, unreadable } = await gatherVisible(this.queues, names, MOST_ENTRIES, {
      read: (each, limit) => this.ofQueue(each, { ...filter, limit }),
      visible: (entries) => this.permitted(request, entries),
    });
    const entries = joinShards(found)
      .toSorted((a, b) => b.at - a.at)
      .slice(0, MOST_ENTRIES);
    return { entries, isCut: entries.length === MOST_ENTRIES, unreadable };
  }

  private async visibleQueues(request: DashboardRequest): Promise<string[]> {
    await this.queues.look();
    return this.permissions.visibleQueues(request, this.queues.names());
  }

  private async ofQueue(
    { name, actionLog }: JobQueue,
    filter: ActionFilter & { limit: number },
  ): Promise<ActionLogEntry[]> {
    const entries = await actionLog.latest(filter);
    return entries.map(({ entryId: _id, at, target = null, other = null, ...rest }) => ({
      ...rest,
      at: at.getTime(),
      queue: name,
      target,
      other,
    }));
  }

  /** Leaves out the actions on single objects that the request may not see, and the second objects of others. */
  private async permitted(
    request: DashboardRequest,
    entries: readonly ActionLogEntry[],
  ): Promise<ActionLogEntry[]> {
    const sees = async (queue: string, target: ActionTarget | null) => {
      const subject = target && (target.kind === 'group' ? { group: target.id } : { id: target.id });
      return subject === null || this.permissions.allows('view', request, { queue, ...subject });
    };
    const shown = await Promise.all(
      entries.map(async (entry) => {
        const { queue, target, other } = entry;
        return (await sees(queue, target)) ? [{ ...entry, other: (await sees(queue, other)) ? other : null }] : [];
      }),
    );
    return shown.flat();
  }
}

/** Joins the entries of an action on several shards of a queue. The joined entry has the name of the queue. */
function joinShards(entries: readonly ActionLogEntry[]): ActionLogEntry[] {
  return [...groupBy(entries, ({ queue }) => wholeOfShard(queue))].flatMap(([whole, own]) => {
    const shards = [...groupBy(own, ({ queue }) => queue).values()];
    return deedsOf(shards).map(({ entry, shards: { length } }) =>
      length > 1 ? { ...entry, queue: whole } : entry,
    );
  });
}

const MOST_CHOSEN = 500;
const LONGEST_SHOWN_SIGNAL = 128;
const actionSchema = z.enum(JOB_ACTIONS, { error: `expected ${JOB_ACTIONS.join(', ')}` });
const actSchema = z.strictObject({
  action: actionSchema,
  queue: queueName,
  state: stateSchema,
  ids: z
    .array(jobId, { error: 'expected an array of job ids' })
    .min(1)
    .max(MOST_CHOSEN, `expected at most ${MOST_CHOSEN} job ids`),
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
function requireState(action: JobAction, state: State): void {
  const takes: readonly State[] = ACTIONS[action].takes;
  if (!takes.includes(state)) {
    throw new BadRequestException(`Only ${takes.join(', ')} jobs can be taken by "${action}".`);
  }
}

/** A limit for numbers of jobs that no queue reaches. */
const MOST_JOBS = 1_000_000_000;

const startSchema = z.strictObject({
  action: actionSchema,
  queue: queueName,
  state: stateSchema,
  match: matchSchema,
  most: wholeNumber(1, MOST_JOBS).nullable().default(null),
  perSecond: wholeNumber(1, MOST_JOBS).nullable().default(null),
});
const stopSchema = z.strictObject({ queue: queueName, id: z.uuid({ error: 'expected the id of a run' }) });

/** Begins, shows and stops actions on all jobs that match. */
@Injectable()
export class RunsController extends Routes {
  constructor(
    private readonly runs: BulkRuns,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Changes('api/runs', startSchema, {
    logs: ({ action, ...run }) => onJobs(`begin-${action}`, subjectOf(run)),
  })
  async start(
    { action, state, match, most, perSecond }: z.output<typeof startSchema>,
    { queue, user, request }: ChangeCall,
  ): Promise<RunView> {
    requireState(action, state);
    const allowedOf = (ids: readonly string[]) =>
      this.permissions.allowedIds(action, request, { queue: queue.name }, ids);
    return this.runs.start(queue, { action, state, match, user, most, perSecond }, allowedOf);
  }

  @Reads('api/runs', z.object({}))
  async list(_query: object, { request }: Call): Promise<{ runs: RunView[] }> {
    const runs = await this.runs.list();
    const seen = await Promise.all(runs.map(({ queue }) => this.permissions.allows('view', request, { queue })));
    const parts = new HiddenParts(this.permissions, request);
    return { runs: await Promise.all(runs.filter((_, i) => seen[i]).map((run) => parts.ofRun(run))) };
  }

  /** Stops a run. A user who may do its action may stop it. */
  @Changes('api/runs/stop', stopSchema, {
    needs: async ({ queue, id }, controller: RunsController) => {
      const run = await controller.find(queue, id);
      return [{ action: run?.action ?? 'redrive', queue }];
    },
    logs: ({ id }) => ({ action: 'stop-run', subject: `run ${id}` }),
  })
  async stop({ id }: z.output<typeof stopSchema>, { queue }: ChangeCall): Promise<Outcome> {
    if (!(await this.find(queue.name, id))) {
      throw new NotFoundException('There is no run of that id any more.');
    }
    await this.runs.stop(queue, id);
    return { done: 1 };
  }

  private async find(queue: string, id: string): Promise<RunView | undefined> {
    return (await this.runs.list()).find((each) => each.id === id && each.queue === queue);
  }
}
