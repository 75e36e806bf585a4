// Actions on all matching jobs: where runs are kept for all replicas, and what runs them.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { endsOf } from '../../inspect/redriven-ends.js';
import { walkSlice } from '../../inspect/walk-jobs.js';
import { jobsOf } from '../../queue/actions/noted-action.js';
import { parseJson } from '../../queue/codec/stored-value.js';
import { lastErrorWords } from '../../queue/dead-letters/error-kinds.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { CRASHED, type JobRecord } from '../../queue/model/job.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import { isRedisStore } from '../../queue/redis-store.js';
import { keptIn } from '../../queue/runtime/collections.js';
import { matcherOf, type Matcher } from '../job-search.js';
import { Redactor } from '../security/redactor.js';
import { ShownQueues } from '../shown-queues.js';
import { ToldErrors } from '../told-errors.js';
import type { RunView, JobMatch, RunRequest, State } from '../views/views.js';
import { JobActions } from './job-actions.js';

const KEPT_MS = 86_400_000;
/** A run that has written nothing for this long has lost its process, in ms. */
const SILENT_MS = 30_000;
const MOST_RUNS = 50;

/** Keeps the runs in Redis, so that every replica shows them and can stop them. */
@Injectable()
export class RunStore {
  /** The fields of queues that are not on Redis, by name. */
  private readonly inMemory = new Map<string, Map<string, string>>();

  async write(queue: JobQueue, run: RunView): Promise<void> {
    if (!isRedisStore(queue.store)) return void this.kept(queue).set(run.id, JSON.stringify(run));
    const { client, keys, ask } = await redisWithAllKeys(queue);
    await ask(() => client.hset(keys.bulkRuns, run.id, JSON.stringify(run)));
    await ask(() => client.pexpire(keys.bulkRuns, KEPT_MS));
  }

  /** Asks the process that runs it to stop. */
  async requestStop(queue: JobQueue, id: string): Promise<void> {
    if (!isRedisStore(queue.store)) return void this.kept(queue).set(`stop:${id}`, '1');
    const { client, keys, ask } = await redisWithAllKeys(queue);
    await ask(() => client.hset(keys.bulkRuns, `stop:${id}`, '1'));
  }

  async stopRequested(queue: JobQueue, id: string): Promise<boolean> {
    if (!isRedisStore(queue.store)) return this.kept(queue).has(`stop:${id}`);
    const { client, keys, ask } = await redisWithAllKeys(queue);
    return (await ask(() => client.hexists(keys.bulkRuns, `stop:${id}`))) === 1;
  }

  /** Returns the runs of the last day, newest first. */
  async list(queue: JobQueue): Promise<RunView[]> {
    const stored = await this.fieldsOf(queue);
    if (Object.keys(stored).length === 0) {
      return [];
    }
    const nowMs = await serverNow(queue);
    const found = Object.entries(stored)
      .filter(([field]) => !field.startsWith('stop:'))
      .map(([, json]) => parseJson(json).value as RunView)
      .toSorted((a, b) => b.startedAt - a.startedAt);
    await this.forget(queue, found.slice(MOST_RUNS));
    return found.slice(0, MOST_RUNS).map((run) => asSeen(run, nowMs, stored[`stop:${run.id}`] !== undefined));
  }

  private async fieldsOf(queue: JobQueue): Promise<Record<string, string>> {
    if (!isRedisStore(queue.store)) return Object.fromEntries(this.kept(queue));
    const { client, keys, ask } = await redisWithAllKeys(queue);
    return ask(() => client.hgetall(keys.bulkRuns));
  }

  private kept({ name }: JobQueue): Map<string, string> {
    return keptIn(this.inMemory, name, () => new Map<string, string>());
  }

  private async forget(queue: JobQueue, old: readonly RunView[]): Promise<void> {
    if (old.length > 0) {
      const fields = old.flatMap(({ id }) => [id, `stop:${id}`]);
      if (!isRedisStore(queue.store)) return fields.forEach((field) => this.kept(queue).delete(field));
      const { client, keys, ask } = await redisWithAllKeys(queue);
      await ask(() => client.hdel(keys.bulkRuns, ...fields));
    }
  }
}

/** Returns the time of Redis, in epoch ms. */
export async function serverNow(queue: JobQueue): Promise<number> {
  return queue.exec((calls) => calls.now());
}

function asSeen(run: RunView, nowMs: number, stopping: boolean): RunView {
  if (run.status !== 'running') {
    return run;
  }
  return { ...run, status: nowMs - run.updatedAt > SILENT_MS ? 'interrupted' : stopping ? 'stopping' : 'running' };
}

/** Jobs that move up while others leave the list are met by another pass; each must have done something. */
const MOST_PASSES = 20;

/** A redrive of at most this many jobs is followed until they have ended. */
const MOST_FOLLOWED = 100;

/** Returns the ids that the user of a run may change. */
type AllowedOf = (ids: readonly string[]) => Promise<ReadonlySet<string>>;

/** A run with what this process alone keeps of it. A search may quote content, and others may see the run. */
interface AskedRun {
  run: RunView;
  match: JobMatch;
  allowedOf: AllowedOf;
  /** The redriven jobs, if the run is followed. */
  redriven: string[];
}

/** The reason why a run goes on no further; undefined while it goes on. */
type End = RunView['status'] | undefined;

/**
 * Applies one action to all matching jobs, in the background of this process. The page that started it may close. Jobs
 * that were enqueued or changed after its start are left alone.
 */
@Injectable()
export class BulkRuns implements BeforeApplicationShutdown {
  private readonly logger = SafeLogger.of(new Logger('JobQueueDashboard'));
  private readonly active = new Map<string, Promise<void>>();
  private readonly closing = new AbortController();

  constructor(
    private readonly queues: ShownQueues,
    private readonly actions: JobActions,
    private readonly store: RunStore,
    private readonly redactor: Redactor,
    private readonly told: ToldErrors,
  ) {}

  /** @param allowedOf returns the jobs that the user may change, asked before each step */
  async start(queue: JobQueue, request: RunRequest, allowedOf: AllowedOf): Promise<RunView> {
    const stats = await queue.stats();
    const now = await serverNow(queue);
    const { match, ...asked } = request;
    const run: RunView = {
      id: randomUUID(),
      queue: queue.name,
      ...asked,
      status: 'running',
      startedAt: now,
      updatedAt: now,
      searched: 0,
      total: stats[request.state],
      done: 0,
      spared: 0,
      error: null,
    };
    await this.store.write(queue, run);
    this.active.set(run.id, this.follow(queue, { run, match, allowedOf, redriven: [] }));
    return run;
  }

  async stop(queue: JobQueue, id: string): Promise<void> {
    await this.store.requestStop(queue, id);
  }

  /** Returns the runs of all queues that had one, newest first. */
  async list(): Promise<RunView[]> {
    const { found } = await this.queues.gather(this.queues.names(), (queue) => this.store.list(queue));
    return found.toSorted((a, b) => b.startedAt - a.startedAt);
  }

  /** Stops running actions before the connection is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    this.closing.abort();
    await Promise.all(this.active.values());
  }

  private async follow(queue: JobQueue, asked: AskedRun): Promise<void> {
    const { run } = asked;
    try {
      run.status = await this.passes(queue, asked);
    } catch (error) {
      run.status = 'failed';
      run.error = this.told.tell(error as Error);
      this.logger.warn(`The run "${run.action}" on queue "${queue.name}" failed`, error);
    }
    await this.report(queue, asked);
    await this.followEnds(queue, asked);
    this.active.delete(run.id);
  }

  /** Writes how the redriven jobs end, with the error of the first that failed. */
  private async followEnds(queue: JobQueue, { run, redriven }: AskedRun): Promise<void> {
    if (redriven.length === 0 || this.closing.signal.aborted) {
      return;
    }
    const of = redriven.map((id) => ({ queue, id }));
    try {
      for await (const { completed, failed, open } of endsOf(of, this.closing.signal)) {
        const [first] = failed;
        const error = first ? (lastErrorWords(this.redactor.record(first)) ?? null) : null;
        run.ends = { completed, failed: failed.length, open, failedId: first?.id ?? null, error };
        await this.write(queue, run);
      }
    } catch (error) {
      this.logger.warn(`Could not follow a run on queue "${queue.name}": ${(error as Error).message}`);
    }
  }

  private async report(queue: JobQueue, { run, match }: AskedRun): Promise<void> {
    try {
      run.updatedAt = await serverNow(queue);
      await this.store.write(queue, run);
      await queue.actionLog.note({
        via: 'dashboard',
        by: run.user,
        action: run.action,
        subject: subjectOf({ ...run, match }),
        count: run.done,
      });
    } catch (error) {
      this.logger.warn(`Could not record the end of a run on queue "${queue.name}": ${(error as Error).message}`);
    }
  }

  private async passes(queue: JobQueue, asked: AskedRun): Promise<RunView['status']> {
    const { run } = asked;
    for (let pass = 0; pass < MOST_PASSES; pass++) {
      const before = run.done;
      run.searched = 0;
      const ended = await this.pass(queue, asked);
      if (ended !== undefined) {
        return ended;
      }
      if (run.done === before || run.state === 'failed') {
        break;
      }
    }
    return 'done';
  }

  /** Passes over the jobs once. Returns the outcome of the run if it ends early. */
  private async pass(queue: JobQueue, asked: AskedRun): Promise<End> {
    const { run, match } = asked;
    const matcher = matcherOf(match);
    let cursor: string | null = null;
    do {
      const slice = await walkSlice(queue, run.state, cursor, matcher);
      const before = run.done;
      const jobs = await this.matching(queue, run, slice.jobs, matcher, match.group);
      const ended = await this.change(queue, asked, jobs);
      if (ended !== undefined) {
        return ended;
      }
      run.searched += slice.looked;
      await this.write(queue, run);
      cursor = nextCursor(run.state, slice.cursor, run.done - before);
    } while (cursor !== null);
    return undefined;
  }

  /** Returns the ids of the jobs of a slice that belong to the run. */
  private async matching(
    queue: JobQueue,
    run: RunView,
    jobs: readonly JobRecord[],
    { look }: Matcher,
    group: string | undefined,
  ): Promise<string[]> {
    await this.redactor.learn(queue.name);
    const meant = jobs.filter((job) => isMeant(job, run) && !isSpared(job, run, group));
    const matching = meant.filter((job) => look(this.redactor.record(job)) === 'match');
    return matching.map(({ id }) => id);
  }

  /** Changes jobs, as many at once as the pace of the run allows. */
  private async change(
    queue: JobQueue,
    { run, allowedOf, redriven }: AskedRun,
    matching: readonly string[],
  ): Promise<End> {
    const allowed = await allowedOf(matching);
    const ids = matching.filter((id) => allowed.has(id));
    run.spared += matching.length - ids.length;
    let from = 0;
    let ended = await this.endOf(queue, run);
    while (ended === undefined && from < ids.length) {
      const portion = ids.slice(from, from + portionOf(run));
      const outcome = await this.actions.act(queue, run.action, run.state, portion);
      run.done += outcome.done;
      run.spared += outcome.spared;
      if (run.action === 'redrive' && run.most !== null && run.most <= MOST_FOLLOWED) {
        redriven.push(...portion);
      }
      from += portion.length;
      await this.keepPace(queue, run);
      ended = await this.endOf(queue, run);
    }
    return ended;
  }

  /** Waits until the pace of a run allows the next jobs. */
  private async keepPace(queue: JobQueue, run: RunView): Promise<void> {
    if (run.perSecond === null || run.done >= (run.most ?? Infinity)) {
      return;
    }
    await this.write(queue, run); // a run without news for long counts as lost
    await sleep(1_000, undefined, { signal: this.closing.signal }).catch(() => undefined);
  }

  private async endOf(queue: JobQueue, run: RunView): Promise<End> {
    if (run.done >= (run.most ?? Infinity)) {
      return 'done';
    }
    if (this.closing.signal.aborted) {
      return 'interrupted';
    }
    return (await this.store.stopRequested(queue, run.id)) ? 'stopped' : undefined;
  }

  private async write(queue: JobQueue, run: RunView): Promise<void> {
    run.updatedAt = await serverNow(queue);
    await this.store.write(queue, run);
  }
}

/** Returns the number of jobs that a run may change at once. */
function portionOf({ most, perSecond, done }: RunView): number {
  return Math.min((most ?? Infinity) - done, perSecond ?? Infinity);
}

/** Returns whether a job belongs to the run. It does not if it was enqueued or ended after the run's start. */
function isMeant(job: JobRecord, run: RunView): boolean {
  const at = job.completedAt ?? job.failedAt ?? job.cancelledAt ?? job.enqueuedAt;
  return at.getTime() <= run.startedAt;
}

/** Returns whether a job killed its workers. A redrive takes it only where its kind is asked for. */
function isSpared({ errorKind }: JobRecord, { action }: RunView, group: string | undefined): boolean {
  return action === 'redrive' && errorKind === CRASHED && group !== errorKind;
}

/** Returns the next cursor. Jobs that left a list move the rest up. */
function nextCursor(state: State, cursor: string | null, done: number): string | null {
  return cursor === null || state === 'failed' ? cursor : String(Math.max(0, Number(cursor) - done));
}

/** Returns the subject of a run, in words. They go to the action log, so they quote no search. */
export function subjectOf(
  run: Pick<RunView, 'state'> & Partial<Pick<RunView, 'most' | 'perSecond'>> & { match: JobMatch },
): string {
  const { state, match, most = null, perSecond = null } = run;
  const parts = [
    ...(match.text ? ['that match a search'] : []),
    ...(match.group ? [`of the kind of error "${match.group}"`] : []),
  ];
  const all = most === null ? `all ${jobsOf(state)}` : `the first ${most} ${jobsOf(state)}`;
  return [all, ...parts, ...(perSecond === null ? [] : [`at most ${perSecond} a second`])].join(' ');
}
