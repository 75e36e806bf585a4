// The verbs of a queue in memory: each method makes one call, which runs when the store runs it.
import { leavePlain } from './verbs/write-options.js';
import { announcedContent } from '../../queue/codec/announced-content.js';
import type { ClaimedJob, ClaimRef, JobStatus } from '../../queue/model/job.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import type { LimitChanges, RuntimeLimits } from '../../queue/model/limits.js';
import type { AuditVerbs } from '../../queue/store/verbs/audit-verbs.js';
import type { JobQuery } from '../../queue/store/find-query.js';
import type { EncodedJob } from '../../queue/store/enqueue-call.js';
import type {
  AttemptLimits,
  ClaimRequest,
  Completion,
  DeadLetterVerbs,
  Failure,
  HistoryVerbs,
  Release,
  StoreCalls,
} from '../../queue/store/store-calls.js';
import type { BatchVerbs } from '../../queue/store/verbs/batch-verbs.js';
import type { GroupVerbs } from '../../queue/store/verbs/group-verbs.js';
import type { ScheduleVerbs } from '../../queue/store/verbs/schedule-verbs.js';
import { changedLimits } from './state/changed-limits.js';
import { auditVerbs } from './verbs/audit-verbs.js';
import { batchVerbs } from './verbs/batch/batch-verbs.js';
import * as ofOne from './verbs/change-job.js';
import { claim, start } from './verbs/attempt/claim.js';
import * as deadLetters from './verbs/operate/dead-letters.js';
import { publishDrained } from './verbs/attempt/ends.js';
import { enqueue } from './verbs/enqueue.js';
import { groupVerbs } from './verbs/groups.js';
import { callOf, type MemoryCall } from './verbs/memory-call.js';
import type { MemoryQueue } from './state/memory-queue.js';
import * as lists from './verbs/operate/list.js';
import * as operate from './verbs/operate/operate.js';
import type { LimitsInForce } from '../../queue/store/verbs/limit-verbs.js';
import * as schedules from './verbs/schedules.js';
import { complete, extend, fail, release } from './verbs/attempt/settle.js';
import { reclaim, tidy } from './verbs/sweep.js';
import type { PauseOptions } from '../../queue/model/pause.js';

const WORKER_SEEN_MS = 30_000;

export class MemoryCalls implements StoreCalls {
  readonly deadLetters: DeadLetterVerbs;
  readonly schedules: ScheduleVerbs;
  readonly groups: GroupVerbs;
  readonly batches: BatchVerbs;
  readonly history: HistoryVerbs;
  readonly audit: AuditVerbs = auditVerbs();

  constructor(
    readonly queue: MemoryQueue,
    readonly options: ResolvedQueueOptions,
  ) {
    this.deadLetters = deadLetterVerbs(queue);
    this.schedules = scheduleVerbs(queue);
    this.groups = groupVerbs(queue);
    this.batches = batchVerbs(queue);
    this.history = historyVerbs(queue);
  }

  /** A step that ends claims. */
  private freeing<Answer>(script: string, run: () => Answer): MemoryCall<Answer> {
    return callOf(script, () => {
      const answer = run();
      this.queue.freed();
      return answer;
    });
  }

  get key(): string {
    return this.queue.name;
  }

  enqueue = (jobs: readonly EncodedJob[]) => callOf('jobEnqueue', () => enqueue(this.queue, jobs));
  claim = (request: ClaimRequest) => callOf('attemptClaim', () => claim(this.queue, request));
  start = ({ id, token }: Pick<ClaimRef, 'id' | 'token'>) =>
    callOf('attemptStart', () => start(this.queue, id, token));
  extend = (claims: readonly Pick<ClaimRef, 'id' | 'token'>[], visibilityMs = this.options.visibilityMs) =>
    callOf('attemptExtend', () => extend(this.queue, claims, visibilityMs));
  complete = (completions: readonly Completion[]) =>
    this.freeing('attemptComplete', () => complete(this.queue, completions));
  fail = (failures: readonly Failure[]) => this.freeing('attemptFail', () => fail(this.queue, failures));
  release = (releases: readonly Release[]) => this.freeing('attemptRelease', () => release(this.queue, releases));

  extendBatch = ({ worker, stream, token }: Pick<ClaimRequest, 'worker' | 'stream' | 'token'>) =>
    callOf('attemptExtendBatch', () => {
      const batch = this.queue.batches.get(`${worker}:${stream}`);
      const claims = batch?.token === token ? batch.claims.map(({ id }) => ({ id, token })) : [];
      return claims.length - extend(this.queue, claims, this.options.visibilityMs).lost.length;
    });

  name = ({ id, token, name }: Pick<ClaimedJob, 'id' | 'token' | 'name'>) =>
    callOf('attemptSetName', () => {
      const job = this.queue.job(id);
      const writes = job?.claim_token === token && job.name === undefined;
      if (writes) {
        job.name = name;
      }
      return writes;
    });

  progress = ({ id, token }: Pick<ClaimRef, 'id' | 'token'>, progress: string) =>
    callOf('attemptProgress', () => {
      const job = this.queue.job(id);
      const isCurrent = job?.claim_token === token;
      if (isCurrent) {
        job.progress = progress;
        this.queue.emit(id, 'progress', { progress });
      }
      return isCurrent;
    });

  checkpoint = ({ id, token }: Pick<ClaimRef, 'id' | 'token'>, checkpoint: string) =>
    callOf('attemptCheckpoint', () => {
      const job = this.queue.job(id);
      const isCurrent = job?.claim_token === token;
      if (isCurrent) {
        job.checkpoint = checkpoint;
        leavePlain(job);
      }
      return isCurrent;
    });

  log = ({ id, token }: Pick<ClaimRef, 'id' | 'token'>, keep: number, lines: readonly string[]) =>
    callOf('attemptLog', () => {
      const job = this.queue.job(id);
      const isCurrent = job?.claim_token === token;
      if (isCurrent) {
        const added = lines.map((line) => `{"at":${this.queue.now},"message":${line}}`);
        const all = [...(job.log ?? '').split('\n').filter(Boolean), ...added];
        job.log = all.slice(-keep).join('\n');
      }
      return isCurrent;
    });

  reclaim = (limit: number, gapMs: number, waitMs: number) =>
    this.freeing('sweepReclaim', () => reclaim(this.queue, limit, gapMs, waitMs));
  promote = (limit: number) => callOf('sweepPromote', () => this.queue.promote(limit));
  /** Clients of the Redis pattern do not come here. */
  adopt = () =>
    callOf('sweepAdoptForeign', () => ({ reclaimed: [], deadLetters: 0, sweptByClients: 0, clientsAtWork: false }));
  adoptFailed = () => callOf('sweepAdoptFailed', () => 0);
  tidy = () => callOf('sweepTidy', () => tidy(this.queue));

  get = (id: string) => callOf('get', () => lists.record(this.queue, id));
  find = (status: JobStatus, query: JobQuery) => callOf('queueFind', () => lists.find(this.queue, status, query));

  list = (status: JobStatus, offset: number, limit: number) =>
    callOf('queueList', () => lists.list(this.queue, status, offset, limit));
  stats = () => callOf('queueStats', () => operate.stats(this.queue));
  now = () => callOf('now', () => this.queue.now);
  cancel = (id: string, ifStatus?: JobStatus) =>
    callOf('jobCancel', () => operate.cancel(this.queue, id, '', ifStatus).answer);
  cancelAndReturn = (id: string, request: string, ifStatus?: JobStatus) =>
    callOf('jobCancel', () => operate.cancel(this.queue, id, request, ifStatus));
  reschedule = (id: string, at: { delayMs: number } | { runAtMs: number }) =>
    callOf('jobReschedule', () => operate.reschedule(this.queue, id, at));
  remove = (id: string, ifStatus?: JobStatus) =>
    callOf('jobRemove', () => operate.remove(this.queue, id, ifStatus));
  promoteJob = (id: string) => callOf('jobPromote', () => ofOne.promoteJob(this.queue, id));
  update = (id: string, payload: string, name = '') =>
    callOf('jobUpdate', () => ofOne.update(this.queue, id, payload, name));
  setPriority = (id: string, priority: number) =>
    callOf('jobSetPriority', () => ofOne.setPriority(this.queue, id, priority));
  runAgain = (id: string, request: string) => callOf('jobRunAgain', () => ofOne.runAgain(this.queue, id, request));
  redrive = (ids: readonly string[], payload = '') =>
    callOf('deadLetterRedrive', () => operate.redrive(this.queue, ids, payload));
  clean = (place: JobStatus | 'prioritized', olderThanMs: number, limit: number) =>
    callOf('queueClean', () => operate.clean(this.queue, place, olderThanMs, limit));
  purge = () => callOf('queuePurge', () => operate.purge(this.queue));

  pause = (options: PauseOptions) =>
    callOf('queuePause', () => {
      const changes = this.queue.pausedAt === undefined;
      if (changes) {
        this.queue.pausedAt = this.queue.now;
        this.queue.pause = options;
      }
      return changes;
    });

  resume = () =>
    callOf('queueResume', () => {
      const changes = this.queue.pausedAt !== undefined;
      this.queue.pausedAt = undefined;
      this.queue.pause = undefined;
      this.queue.host.wake(this.queue.name);
      return changes;
    });

  limits = () =>
    callOf<LimitsInForce>('limitsGet', () => {
      const { set, limits } = this.queue.flow;
      const found = Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
      const source = set ? 'set' : Object.keys(found).length > 0 ? 'configuration' : 'none';
      return { ...found, source };
    });
  setLimits = (limits: RuntimeLimits) => callOf('limitsSet', () => this.limit(limits));
  changeLimits = (changes: LimitChanges) =>
    callOf('limitsSet', () => this.limit(changedLimits(this.queue.flow.limits, changes)));
  clearLimits = () => callOf('limitsClear', () => this.limit(undefined));

  private limit(limits: RuntimeLimits | undefined): void {
    this.queue.flow.setLimits(limits);
    this.queue.restsUntil = limits ? this.queue.restsUntil : 0;
    this.queue.host.wake(this.queue.name);
  }

  announce = (worker: string, serves: boolean, handlers: readonly AttemptLimits[] = []) =>
    callOf<void>('workerRegister', () => {
      if (serves) {
        this.queue.workers.set(worker, this.queue.now);
        this.queue.content = announcedContent(this.options);
        handlers.forEach((handler) => this.queue.handlerLimits.set(handler.name, handler));
      } else {
        this.queue.workers.delete(worker);
      }
    });

  content = () => callOf('queueContent', () => this.queue.content);
  describeWorker = () => callOf<void>('workerDescribe', () => undefined);
  workers = (most: number) =>
    callOf('workerList', () =>
      [...this.queue.workers]
        .filter(([, seenAt]) => seenAt >= this.queue.now - WORKER_SEEN_MS)
        .toSorted(([, a], [, b]) => b - a)
        .slice(0, most)
        .map(([id, seenAt]) => ({ id, seenAt: new Date(seenAt) })),
    );

  unserved = (jobs: readonly { id: string; name: string }[]) =>
    callOf('queueUnserved', () => {
      const names = [...this.queue.handlerLimits.keys()];
      const live = [...this.queue.workers.values()].filter((seenAt) => seenAt >= this.queue.now - WORKER_SEEN_MS);
      const served = (name: string) => live.length > 0 && names.includes(name);
      const waiting = jobs.flatMap(({ id, name }, i) =>
        this.queue.job(id)?.status === 'pending' && !served(name) ? [i] : [],
      );
      return { waiting, workers: live.length, names: live.length > 0 ? names : [] };
    });

  publish = ({ id, name }: Pick<ClaimedJob, 'id' | 'name'>, status: 'lost' | 'stuck') =>
    callOf('queuePublish', () => {
      this.queue.host.publish(this.queue.name, { id, status, name });
      return true;
    });

  publishDrained = () => callOf('queuePublishDrained', () => publishDrained(this.queue));
}

function deadLetterVerbs(queue: MemoryQueue): DeadLetterVerbs {
  return {
    list: (query, _looks, most, withJobs) =>
      callOf('deadLetterList', () => deadLetters.list(queue, query, most, withJobs)),
    discard: (letters) => callOf('deadLetterDiscard', () => deadLetters.discard(queue, letters)),
  };
}

/** No figures of past minutes are kept in memory: a reading finds nothing recorded. */
function historyVerbs(queue: MemoryQueue): HistoryVerbs {
  const left = () => callOf('historyCloseMinute', () => 60_000 - (queue.now % 60_000));
  const nothing = { sinceMs: undefined, closedAtMs: undefined, entries: [], marks: [] };
  return {
    addDurations: () => callOf('historyAddDurations', () => true),
    closeMinute: left,
    minuteLeft: left,
    read: () => callOf('historyRead', () => ({ nowMs: queue.now, ...nothing })),
  };
}

function scheduleVerbs(queue: MemoryQueue): ScheduleVerbs {
  return {
    upsert: (schedule, worker, nextDueMs) =>
      callOf('scheduleUpsert', () => schedules.upsert(queue, schedule, worker, nextDueMs)),
    declare: (worker, declares, each) =>
      callOf('scheduleDeclare', () => schedules.declare(queue, worker, declares, each)),
    due: (limit) => callOf('scheduleDue', () => schedules.due(queue, limit)),
    tick: (ticks) => callOf('scheduleTick', () => schedules.tick(queue, ticks)),
    run: (id, jobId) => callOf('scheduleRun', () => schedules.run(queue, id, jobId)),
    pause: (id) => callOf('schedulePause', () => schedules.pause(queue, id)),
    resume: (id, next) => callOf('scheduleResume', () => schedules.resume(queue, id, next)),
    remove: (id) => callOf('scheduleRemove', () => schedules.remove(queue, id)),
    list: (offset, limit) => callOf('scheduleList', () => schedules.list(queue, offset, limit)),
    get: (id) => callOf('scheduleList', () => schedules.get(queue, id)),
  };
}
