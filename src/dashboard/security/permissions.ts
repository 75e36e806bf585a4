// What a viewer may see and do. Lists and records are shown without what the viewer may not see.
import { ForbiddenException, Inject, Injectable } from '@nestjs/common';
import { HIDDEN, type JobSigns, type ShownGroup } from '../../inspect/why-not-running.js';
import type { QueueVerdict, AwaitedKeys, QueueSigns } from '../../inspect/queue-signs.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ACTIONS, encodesPayloads } from '../../queue/model/actions.js';
import type { JobReference } from '../../queue/model/batch.js';
import type { GroupStats } from '../../queue/model/group.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { SharedLimitState } from '../../queue/model/shared-limit.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import { LARGEST_PAGE } from '../../queue/runtime/bounds.js';
import { startOf } from '../../queue/runtime/cut.js';
import { unmetIn } from '../../queue/store/claim-refusal.js';
import { FAILURE_PREFIX } from '../../queue/validation/names.js';
import {
  DASHBOARD_ACTIONS,
  type DashboardAction,
  type DashboardRequest,
  type DashboardSubject,
  type ResolvedDashboardOptions,
  DASHBOARD_OPTIONS,
} from '../dashboard-options.js';
import { ShownQueues, type Gathered } from '../shown-queues.js';

/** A permission that a route needs. */
export interface Need extends DashboardSubject {
  action: DashboardAction;
  /** The jobs of the action. `can` is asked for each of them. */
  ids?: readonly string[];
  /** True if the action changes jobs whose ids are unknown, so that `can` cannot be asked for each. */
  isBlind?: boolean;
}

/** Returns the permissions of a request, from `readOnly`, `otherQueues` and `can`. */
@Injectable()
export class Permissions {
  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions,
    private readonly queues: ShownQueues,
  ) {}

  /** True if every request may do everything, so that nobody need be asked. */
  get areOpen(): boolean {
    const { can, readOnly, otherQueues } = this.options;
    return !can && !readOnly && otherQueues !== true;
  }

  async allows(
    action: DashboardAction,
    request: DashboardRequest,
    subject: DashboardSubject = {},
  ): Promise<boolean> {
    return (await this.ask(action, request, subject)).isAllowed;
  }

  /** Returns whether the request may see every job of a queue, because `can` does not look at the job. */
  async seesAll(request: DashboardRequest, queue: string): Promise<boolean> {
    const { isAllowed, isById } = await this.ask('view', request, { queue });
    return isAllowed && !isById;
  }

  /** Returns the ids for which the action is allowed. Asks `can` once if its answer cannot depend on the id. */
  async allowedIds(
    action: DashboardAction,
    request: DashboardRequest,
    subject: DashboardSubject,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const [first, ...others] = new Set(ids);
    if (first === undefined) {
      return new Set();
    }
    const { isAllowed, isById } = await this.ask(action, request, { ...subject, id: first });
    if (!isById) {
      return new Set(isAllowed ? ids : []);
    }
    const answers = await Promise.all(others.map((id) => this.allows(action, request, { ...subject, id })));
    return new Set([...(isAllowed ? [first] : []), ...others.filter((_, i) => answers[i])]);
  }

  /** Returns the queues that the request may see. */
  async visibleQueues(
    request: DashboardRequest,
    names: readonly string[],
    about: Omit<DashboardSubject, 'queue'> = {},
  ): Promise<string[]> {
    const seen = await Promise.all(names.map((queue) => this.allows('view', request, { ...about, queue })));
    return names.filter((_, i) => seen[i]);
  }

  /** Returns the jobs that the request may see. */
  async visible<Job extends { queue: string; id: string }>(
    request: DashboardRequest,
    jobs: readonly Job[],
  ): Promise<Job[]> {
    const allowed = new Map<string, ReadonlySet<string>>();
    for (const name of new Set(jobs.map(({ queue }) => queue))) {
      const ids = jobs.filter(({ queue }) => queue === name).map(({ id }) => id);
      allowed.set(name, await this.allowedIds('view', request, { queue: name }, ids));
    }
    return jobs.filter(({ queue, id }) => allowed.get(queue)!.has(id));
  }

  /** @throws ForbiddenException */
  async require(request: DashboardRequest, { action, ids, isBlind = false, ...subject }: Need): Promise<void> {
    if (ids) {
      const allowed = await this.allowedIds(action, request, subject, ids);
      const refused = ids.find((id) => !allowed.has(id));
      if (refused !== undefined) {
        throw this.refusal(
          action,
          subject,
          allowed.size > 0 ? ` The job ${show(refused)} is not yours to change.` : '',
        );
      }
      return;
    }
    const { isAllowed, isById } = await this.ask(action, request, subject);
    if (!isAllowed) {
      throw this.refusal(action, subject);
    }
    if (isBlind && isById) {
      throw this.refusal(
        action,
        subject,
        ' Permissions depend on the job, and this action cannot ask for each one.',
      );
    }
  }

  /** Returns every action that the request may do somewhere, for the page to show. */
  async actions(request: DashboardRequest, subject: DashboardSubject = {}): Promise<DashboardAction[]> {
    const allowed = await Promise.all(DASHBOARD_ACTIONS.map((action) => this.allows(action, request, subject)));
    return DASHBOARD_ACTIONS.filter((_, i) => allowed[i]);
  }

  /**
   * Returns who sends the request, for the action log.
   *
   * @throws TypeError if the option `user` returns no text
   */
  userOf(request: DashboardRequest): string {
    const named: unknown = this.options.user?.(request) ?? nameOf(request.user);
    const user = named ?? request.socket?.remoteAddress ?? 'unknown';
    if (typeof user !== 'string' && typeof user !== 'number') {
      throw new TypeError(`The option "user" of the dashboard: expected text or undefined, found ${show(user)}.`);
    }
    return startOf(String(user), 200);
  }

  private async ask(
    action: DashboardAction,
    request: DashboardRequest,
    about: DashboardSubject,
  ): Promise<{ isAllowed: boolean; isById: boolean }> {
    const { readOnly, can } = this.options;
    if (action !== 'view' && (readOnly || this.otherRefusal(action, about) !== undefined)) {
      return { isAllowed: false, isById: false };
    }
    const { subject, isIdRead } = watchedSubject(ofWhole(about));
    const isAllowed = can ? await can(action, request, subject) : true;
    const isById = isIdRead();
    const told = action === 'view' && isById && isAllowed ? toldJobOf(about.id) : undefined;
    return told === undefined ? { isAllowed, isById } : this.ask(action, request, { ...about, id: told });
  }

  private refusal(action: DashboardAction, subject: DashboardSubject, reason = ''): ForbiddenException {
    return new ForbiddenException(
      this.options.readOnly && action !== 'view'
        ? 'This dashboard is read-only.'
        : (this.otherRefusal(action, subject) ??
            `You may not ${action === 'view' ? 'look' : ACTIONS[action].permission.may} here.${reason}`),
    );
  }

  /** Returns why an action on a queue of another app is refused; undefined where it is not. */
  private otherRefusal(action: DashboardAction, { queue }: DashboardSubject): string | undefined {
    const { otherQueues } = this.options;
    if (action === 'view' || otherQueues === false || queue === undefined || !this.queues.isOther(queue)) {
      return undefined;
    }
    const why = `This app does not know the queue ${show(queue)}`;
    if (encodesPayloads(action)) {
      return `${why}, so it cannot encode its payloads. Do it in the dashboard of the app that runs the queue.`;
    }
    return otherQueues === 'operate'
      ? undefined
      : `${why}, so the dashboard only shows it. To change it here, set the dashboard's option otherQueues: 'operate'.`;
  }
}

/** Returns the subject with the queue of a shard in its place. An app names queues only. */
function ofWhole({ queue, ...subject }: DashboardSubject): DashboardSubject {
  return queue === undefined ? subject : { ...subject, queue: wholeOfShard(queue) };
}

/** Returns the id of the job whose failure a failure job tells, because it quotes that job. */
function toldJobOf(id: string | undefined): string | undefined {
  return id?.startsWith(FAILURE_PREFIX) ? id.slice(FAILURE_PREFIX.length, id.lastIndexOf(':')) : undefined;
}

function nameOf(user: unknown): string | undefined {
  if (typeof user === 'string') {
    return user;
  }
  const fields = (user ?? {}) as Record<string, unknown>;
  const named = ['email', 'username', 'name', 'id'].map((field) => fields[field]);
  const found = named.find((value) => typeof value === 'string' || typeof value === 'number');
  return found === undefined ? undefined : String(found);
}

/** A subject for `can`, and whether its `id` was read. */
interface WatchedSubject {
  subject: DashboardSubject;
  isIdRead(): boolean;
}

/** Returns a copy of the subject that notices reads of its `id`, also of a missing one. */
function watchedSubject(subject: DashboardSubject): WatchedSubject {
  let isRead = false;
  const noticed = <Result>(isId: boolean, result: Result): Result => {
    isRead ||= isId;
    return result;
  };
  const watched = new Proxy(
    { ...subject },
    {
      get: (target, key) => noticed(key === 'id', Reflect.get(target, key)),
      has: (target, key) => noticed(key === 'id', Reflect.has(target, key)),
      ownKeys: (target) => noticed(true, Reflect.ownKeys(target)),
      getOwnPropertyDescriptor: (target, key) =>
        noticed(key === 'id', Reflect.getOwnPropertyDescriptor(target, key)),
    },
  );
  return { subject: watched, isIdRead: () => isRead };
}

/** A list with more items than a page shows, some of which the viewer may not see. */
interface HidingList<Item> {
  /** Returns the first items, at most this many. */
  read(limit: number): Promise<readonly Item[]>;
  /** Leaves out the items that the viewer may not see. */
  visible(items: readonly Item[]): Promise<Item[]>;
}

/** Returns the first items that the viewer may see. Reads on, up to 1,000 items, if it may not see enough of them. */
export async function firstVisible<Item>(most: number, { read, visible }: HidingList<Item>): Promise<Item[]> {
  for (let limit = most; ; limit = Math.min(LARGEST_PAGE, limit * 5)) {
    const items = await read(limit);
    const seen = await visible(items);
    if (seen.length >= most || items.length < limit || limit === LARGEST_PAGE) {
      return seen.slice(0, most);
    }
  }
}

/** A list of each of several queues. */
interface HidingLists<Item> extends Omit<HidingList<Item>, 'read'> {
  /** Returns the first items of a queue, at most this many. */
  read(queue: JobQueue, limit: number): Promise<readonly Item[]>;
}

/**
 * Gathers of each queue the first items that the viewer may see. An error of the app's `can` ends it, because that says
 * nothing about the queue.
 */
export async function gatherVisible<Item>(
  queues: ShownQueues,
  names: readonly string[],
  most: number,
  { read, visible }: HidingLists<Item>,
): Promise<Gathered<Item>> {
  const unreadable: QueueVerdict[] = [];
  const listOf = (name: string) => ({
    read: (limit: number) => queues.readOrNote(name, read(queues.get(name), limit), unreadable),
    visible,
  });
  const found = await Promise.all(names.map((name) => firstVisible(most, listOf(name))));
  return { found: found.flat(), unreadable };
}

// What a record of one job, group or queue says of another one. Words are made of it only after a viewer is known, without
// what the viewer may not see.

/** A row of a job, with its parts that name others. */
interface NamingRecord extends JobReference {
  group?: string | null;
  error?: string | null;
  sample?: string;
}

/** A schedule with the jobs of its last runs. */
interface ScheduleRuns {
  queue: string;
  runs: readonly { jobId: string | null }[];
}

/** Returns the queues beside this one that use a limit, hold it or wait for it. */
function othersOf(queue: string, limits: readonly SharedLimitState[]): string[] {
  const named = limits.flatMap(({ queues, holders, waiting }) => [
    ...queues,
    ...holders.map((holder) => holder.queue),
    ...waiting,
  ]);
  return [...new Set(named)].filter((name) => name !== queue);
}

/**
 * Returns a limit without the names of hidden queues, whose jobs still count. And without the names of its keys, because these are
 * groups of any queue.
 */
function withoutOthers(limit: SharedLimitState, isShown: (queue: string) => boolean): SharedLimitState {
  return {
    ...limit,
    holders: limit.holders.filter(({ queue }) => isShown(queue)),
    waiting: limit.waiting.filter(isShown),
    queues: limit.queues.filter(isShown),
    ...(limit.keys && { keys: [] }),
  };
}

/** Looks for one viewer at what names others. */
export class HiddenParts {
  constructor(
    private readonly permissions: Permissions,
    private readonly request: DashboardRequest,
  ) {}

  /** Returns the jobs that may be seen, without the groups and the jobs that they name and that may not. */
  async rows<Job extends NamingRecord>(jobs: readonly Job[]): Promise<Job[]> {
    const seen = await this.permissions.visible(this.request, jobs);
    if (this.permissions.areOpen) {
      return seen;
    }
    const groups = new Map<string, Promise<boolean>>();
    const showsGroup = (queue: string, group: string) => {
      const key = `${queue} ${group}`;
      const shows = groups.get(key) ?? this.permissions.allows('view', this.request, { queue, group });
      groups.set(key, shows);
      return shows;
    };
    return Promise.all(
      seen.map(async (job) => ({
        ...job,
        ...(typeof job.group === 'string' && !(await showsGroup(job.queue, job.group)) && { group: null }),
        ...(typeof job.error === 'string' && { error: await this.text(job.queue, job.error) }),
        ...(job.sample !== undefined && { sample: await this.text(job.queue, job.sample) }),
      })),
    );
  }

  /** Returns the error of a job. It does not name the job that it waited for in vain, if that may not be seen. */
  async text(queue: string, error: string): Promise<string> {
    const unmet = unmetIn(queue, error);
    return unmet && !(await this.shows(unmet.job)) ? `A job that you may not see, ${unmet.rest}` : error;
  }

  /** Returns the signs of a queue without what may not be seen. The same object if all may be. */
  async ofQueue(signs: QueueSigns): Promise<QueueSigns> {
    const { queue, lostMembers = [], waitingGroups = [], sharedLimits = [], awaitedKeys } = signs;
    if (awaitedKeys && !this.permissions.areOpen) {
      const { awaitedKeys: _keys, ...others } = signs;
      return { ...(await this.ofQueue(others)), awaitedKeys: await this.ofKeys(queue, awaitedKeys) };
    }
    if (lostMembers.length + waitingGroups.length + sharedLimits.length === 0 || this.permissions.areOpen) {
      return signs;
    }
    const others = othersOf(queue, sharedLimits);
    const visible = new Set(await this.permissions.visibleQueues(this.request, others));
    if (others.length > visible.size || sharedLimits.some(({ keys = [] }) => keys.length > 0)) {
      const isShown = (name: string) => name === queue || visible.has(name);
      return this.ofQueue({ ...signs, sharedLimits: sharedLimits.map((limit) => withoutOthers(limit, isShown)) });
    }
    const groups = await Promise.all(
      waitingGroups.map(({ name }) => this.permissions.allows('view', this.request, { queue, group: name })),
    );
    if (!groups.every(Boolean)) {
      return this.ofQueue({ ...signs, waitingGroups: waitingGroups.filter((_, i) => groups[i]) });
    }
    const seen = await Promise.all(
      lostMembers.map(
        async (member) => (await this.shows({ queue, id: member.batch })) && (await this.shows(member)),
      ),
    );
    return seen.every(Boolean) ? signs : { ...signs, lostMembers: lostMembers.filter((_, i) => seen[i]) };
  }

  /** Returns the keys for which groups of a queue rest, without the names of hidden groups and queues. */
  private async ofKeys(queue: string, awaited: AwaitedKeys): Promise<AwaitedKeys> {
    const others = new Set(await this.permissions.visibleQueues(this.request, othersOf(queue, awaited.keys)));
    const isShown = (name: string) => name === queue || others.has(name);
    const keys = await Promise.all(
      awaited.keys.map(async (limit) => {
        const { key, ...unnamed } = withoutOthers(limit, isShown);
        const shows = await this.permissions.allows('view', this.request, { queue, group: key! });
        return shows ? { ...unnamed, key: key! } : unnamed;
      }),
    );
    return { ...awaited, keys };
  }

  /** Returns a schedule whose runs have no id of a job that may not be seen. */
  async ofSchedule<Schedule extends ScheduleRuns>(schedule: Schedule): Promise<Schedule> {
    const { queue, runs } = schedule;
    const jobs = runs.flatMap(({ jobId }) => (jobId === null ? [] : [{ queue, id: jobId }]));
    const seen = new Set((await this.permissions.visible(this.request, jobs)).map(({ id }) => id));
    return {
      ...schedule,
      runs: runs.map((run) => ({ ...run, jobId: seen.has(run.jobId ?? '') ? run.jobId : null })),
    };
  }

  /** Returns a run without the error of a job that may not be seen. */
  async ofRun<Run extends { queue: string; ends?: { failedId: string | null; error: string | null } }>(
    run: Run,
  ): Promise<Run> {
    const { queue, ends } = run;
    return ends?.failedId && !(await this.shows({ queue, id: ends.failedId }))
      ? { ...run, ends: { ...ends, failedId: null, error: null } }
      : run;
  }

  /** Returns a job and its signs without what may not be seen. */
  async ofJob(job: JobRecord, signs: JobSigns): Promise<{ job: JobRecord; signs: JobSigns }> {
    if (this.permissions.areOpen) {
      return { job, signs };
    }
    const { after = [] } = job;
    const shown = await this.permissions.visible(this.request, after);
    const { group, fullKeys = [] } = signs;
    const others = new Set(await this.permissions.visibleQueues(this.request, othersOf(job.queue, fullKeys)));
    const isShown = (name: string) => name === job.queue || others.has(name);
    return {
      job: { ...job, ...(job.after && { after: shown }), ...(await this.errorsOf(job)) },
      signs: {
        ...(await this.ofQueue(signs)),
        hiddenBefore: after.length - shown.length,
        ...(fullKeys.length > 0 && { fullKeys: fullKeys.map((limit) => withoutOthers(limit, isShown)) }),
        ...(group && group.name !== HIDDEN && { group: await this.ofGroup(job.queue, group as GroupStats) }),
      },
    };
  }

  /** Returns a group without its name, or without the job that holds it back. */
  async ofGroup(queue: string, group: GroupStats): Promise<ShownGroup> {
    const { name, heldBy } = group;
    const showsGroup = await this.permissions.allows('view', this.request, { queue, group: name });
    const showsHead = heldBy === null || (await this.shows({ queue, id: heldBy }));
    const { pausedBy: _by, pauseReason: _why, ...unnamed } = group;
    return {
      ...(showsGroup ? group : { ...unnamed, name: HIDDEN }),
      heldBy: showsHead ? heldBy : HIDDEN,
    };
  }

  private async errorsOf({ queue, lastError, attemptLog }: JobRecord): Promise<Partial<JobRecord>> {
    return {
      ...(lastError !== undefined && { lastError: await this.text(queue, lastError) }),
      attemptLog: await Promise.all(
        attemptLog.map(async (attempt) => ({
          ...attempt,
          error: attempt.error && { ...attempt.error, message: await this.text(queue, attempt.error.message) },
        })),
      ),
    };
  }

  private async shows(job: JobReference): Promise<boolean> {
    const { queue, id } = job;
    return (await this.permissions.visible(this.request, [{ queue, id }])).length > 0;
  }
}
