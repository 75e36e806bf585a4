// What a record of one job, group or queue says of another one. Words are made of it only after a viewer is known, without
// what the viewer may not see.
import { HIDDEN, type JobSigns, type ShownGroup } from '../../inspect/job-signs.js';
import type { AwaitedKeys, QueueSigns } from '../../inspect/queue-signs.js';
import type { GroupStats } from '../../queue/model/group.js';
import type { JobReference } from '../../queue/model/batch.js';
import type { SharedLimitState } from '../../queue/model/shared-limit.js';
import type { JobRecord } from '../../queue/model/job.js';
import { unmetIn } from '../../queue/store/claim-refusal.js';
import type { DashboardRequest } from '../dashboard-options.js';
import type { Permissions } from './permissions.js';

/** A row of a job, with its parts that name others. */
interface Row extends JobReference {
  group?: string | null;
  error?: string | null;
  sample?: string;
}

/** A schedule with the jobs of its last runs. */
interface Runs {
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
  async rows<Job extends Row>(jobs: readonly Job[]): Promise<Job[]> {
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
  async ofSchedule<Schedule extends Runs>(schedule: Schedule): Promise<Schedule> {
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
