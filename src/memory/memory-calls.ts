// The verbs of a queue in memory: each method makes one call, which runs when the store runs it.
import { leavePlain } from './verbs/write-options.js';
import type { ClaimedJob, ClaimRef, JobStatus } from '../queue/model/job.js';
import type { ResolvedQueueOptions } from '../queue/model/queue-options.js';
import type { ActionVerbs } from '../queue/store/verbs/action-verbs.js';
import type { AlertVerbs } from '../queue/store/verbs/alert-verbs.js';
import type { AuditVerbs } from '../queue/store/verbs/audit-verbs.js';
import type { JobQuery } from '../queue/store/find-query.js';
import type { EncodedJob } from '../queue/store/enqueue-call.js';
import type {
  ClaimRequest,
  Completion,
  DeadLetterVerbs,
  Failure,
  HistoryVerbs,
  NamedClaim,
  Release,
  StartedClaim,
  StoreCalls,
  WorkerVerbs,
} from '../queue/store/store-calls.js';
import type { BatchVerbs } from '../queue/store/verbs/batch-verbs.js';
import type { GroupVerbs } from '../queue/store/verbs/group-verbs.js';
import type { OnceVerbs } from '../queue/store/verbs/once-verbs.js';
import type { SweepVerbs } from '../queue/store/verbs/sweep-verbs.js';
import type { ScheduleVerbs } from '../queue/store/verbs/schedule-verbs.js';
import { actionVerbs } from './verbs/operate/actions.js';
import { alertVerbs } from './verbs/operate/alerts.js';
import { auditVerbs } from './verbs/audit-verbs.js';
import { batchVerbs, maintainBatches } from './verbs/batch/batch-verbs.js';
import * as ofOne from './verbs/change-job.js';
import { claim, start } from './verbs/attempt/claim.js';
import * as deadLetters from './verbs/operate/dead-letters.js';
import { publishDrained } from './verbs/attempt/ends.js';
import { enqueue } from './verbs/enqueue.js';
import { groupVerbs } from './verbs/groups.js';
import { callOf, type MemoryCall } from './verbs/memory-call.js';
import { onceVerbs } from './verbs/once.js';
import { setName } from './verbs/attempt/foreign-names.js';
import type { MemoryQueue } from './state/memory-queue.js';
import * as lists from './verbs/operate/list.js';
import { stats } from './verbs/operate/stats.js';
import * as operate from './verbs/operate/operate.js';
import type { LimitVerbs } from '../queue/store/verbs/limit-verbs.js';
import { limitVerbs } from './verbs/limits.js';
import { notePayload, workerVerbs } from './verbs/workers.js';
import * as schedules from './verbs/schedules/schedules.js';
import { run as runSchedule, tick } from './verbs/schedules/ticks.js';
import { noteDeath } from './verbs/attempt/crash.js';
import { complete, extend, fail, release } from './verbs/attempt/settle.js';
import { recordStep } from './verbs/attempt/step.js';
import { addLines } from './verbs/attempt/job-log.js';
import { promote } from './verbs/promote.js';
import { hold, reclaim, reclaimWorker, tidy } from './verbs/sweep.js';
import { newPause } from './state/pause.js';
import { extendPause } from './verbs/operate/extend-pause.js';
import type { PauseOptions } from '../queue/model/pause.js';
import { WORKER_SEEN_MS } from '../queue/runtime/lifetimes.js';

export class MemoryCalls implements StoreCalls {
  readonly sweep: SweepVerbs;
  readonly workers: WorkerVerbs;
  readonly limits: LimitVerbs;
  readonly deadLetters: DeadLetterVerbs;
  readonly schedules: ScheduleVerbs;
  readonly groups: GroupVerbs;
  readonly batches: BatchVerbs;
  readonly once: OnceVerbs;
  readonly history: HistoryVerbs;
  readonly audit: AuditVerbs = auditVerbs();
  readonly alerts: AlertVerbs;
  readonly actions: ActionVerbs;

  constructor(
    readonly queue: MemoryQueue,
    readonly options: ResolvedQueueOptions,
  ) {
    this.sweep = sweepVerbs(queue);
    this.workers = workerVerbs(queue, options);
    this.limits = limitVerbs(queue);
    this.deadLetters = deadLetterVerbs(queue);
    this.schedules = scheduleVerbs(queue);
    this.groups = groupVerbs(queue);
    this.batches = batchVerbs(queue);
    this.once = onceVerbs(queue);
    this.alerts = alertVerbs(queue);
    this.actions = actionVerbs(queue);
    this.history = historyVerbs(queue);
  }

  get key(): string {
    return this.queue.name;
  }

  enqueue = (jobs: readonly EncodedJob[]) => callOf('jobEnqueue', () => enqueue(this.queue, jobs));
  claim = (request: ClaimRequest) => callOf('attemptClaim', () => claim(this.queue, request));
  start = (claims: readonly StartedClaim[]) =>
    callOf('attemptStart', () => claims.map((each) => start(this.queue, each)));
  noteDeath = (claims: readonly Pick<ClaimRef, 'id' | 'token'>[], error: string) =>
    callOf('attemptNoteDeath', () => noteDeath(this.queue, claims, error));
  extend = (claims: readonly Pick<ClaimRef, 'id' | 'token'>[], visibilityMs = this.options.visibilityMs) =>
    callOf('attemptExtend', () => extend(this.queue, claims, visibilityMs));
  complete = (completions: readonly Completion[]) =>
    freeing(this.queue, 'attemptComplete', () => complete(this.queue, completions));
  fail = (failures: readonly Failure[]) => freeing(this.queue, 'attemptFail', () => fail(this.queue, failures));
  release = (releases: readonly Release[]) =>
    freeing(this.queue, 'attemptRelease', () => release(this.queue, releases));

  extendBatch = ({ worker, stream, token }: Pick<ClaimRequest, 'worker' | 'stream' | 'token'>) =>
    callOf('attemptExtendBatch', () => {
      const { queue, options } = this;
      const batch = queue.batches.get(`${worker}:${stream}`);
      if (batch?.token !== token || batch.keptUntil <= queue.now) {
        return 0;
      }
      const claims = batch.claims.map(({ id }) => ({ id, token }));
      const extended = claims.length - extend(queue, claims, options.visibilityMs).lost.length;
      batch.keptUntil = extended > 0 ? queue.now + options.visibilityMs : batch.keptUntil;
      return extended;
    });

  setName = (named: NamedClaim) => callOf('attemptSetName', () => setName(this.queue, named));

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

  step = (of: Pick<ClaimRef, 'id' | 'token'>, step?: { name: string; result: string }) =>
    callOf('attemptStep', () => recordStep(this.queue, of, step));

  log = (of: Pick<ClaimRef, 'id' | 'token'>, keep: number, lines: readonly string[]) =>
    callOf('attemptLog', () => addLines(this.queue, of, keep, lines));

  get = (id: string) => callOf('get', () => lists.record(this.queue, id));
  outcome = (id: string) => callOf('outcome', () => lists.outcome(this.queue, id));
  find = (status: JobStatus, query: JobQuery) => callOf('queueFind', () => lists.find(this.queue, status, query));

  list = (status: JobStatus, offset: number, limit: number) =>
    callOf('queueList', () => lists.list(this.queue, status, offset, limit));
  stats = () => callOf('queueStats', () => stats(this.queue));
  now = () => callOf('now', () => this.queue.now);
  cancel = (id: string, ifStatus?: JobStatus) =>
    callOf('jobCancel', () => operate.cancel(this.queue, id, '', ifStatus).outcome);
  cancelAndReturn = (id: string, request: string, ifStatus?: JobStatus) =>
    callOf('jobCancel', () => operate.cancel(this.queue, id, request, ifStatus));
  reschedule = (id: string, at: { delayMs: number } | { runAtMs: number }) =>
    callOf('jobReschedule', () => operate.reschedule(this.queue, id, at));
  remove = (id: string, ifStatus?: JobStatus) =>
    callOf('jobRemove', () => operate.remove(this.queue, id, ifStatus));
  promote = (id: string) => callOf('jobPromote', () => ofOne.promote(this.queue, id));
  update = (id: string, payload: string, name = '') =>
    callOf('jobUpdate', () => ofOne.update(this.queue, id, payload, name));
  setPriority = (id: string, priority: number) =>
    callOf('jobSetPriority', () => ofOne.setPriority(this.queue, id, priority));
  runAgain = (id: string, request: string) => callOf('jobRunAgain', () => ofOne.runAgain(this.queue, id, request));
  clean = (place: JobStatus | 'prioritized', olderThanMs: number, limit: number) =>
    callOf('queueClean', () => operate.clean(this.queue, place, olderThanMs, limit));
  purge = () => callOf('queuePurge', () => operate.purge(this.queue));

  pause = (options: PauseOptions) =>
    callOf('queuePause', () => {
      const { queue } = this;
      const changes = queue.paused === undefined;
      if (changes) {
        queue.pause = newPause(options, queue.now);
      }
      return changes;
    });

  extendPause = (knownEndMs: number, forMs: number) =>
    callOf('queueExtendPause', () => extendPause(this.queue, { knownEndMs, forMs, now: this.queue.now }));

  resume = () =>
    callOf('queueResume', () => {
      const changes = this.queue.paused !== undefined;
      this.queue.pause = undefined;
      this.queue.host.wake(this.queue.name);
      return changes;
    });

  notePayload = () => callOf<void>('queueNotePayload', () => notePayload(this.queue, this.options));
  content = () => callOf('queueContent', () => this.queue.content);
  unserved = (jobs: readonly { id: string; name: string }[]) =>
    callOf('queueUnserved', () => {
      const { queue } = this;
      const waits = (id: string) => ['pending', 'scheduled'].includes(queue.job(id)?.status ?? '');
      const waiting = jobs.flatMap(({ id, name }, i) =>
        waits(id) && !queue.announced.isServed(name, queue.now) ? [i] : [],
      );
      return {
        waiting,
        workers: queue.liveWorkers,
        names: queue.liveWorkers > 0 ? queue.announced.namesSince(queue.now - WORKER_SEEN_MS) : [],
      };
    });

  publish = ({ id, name }: Pick<ClaimedJob, 'id' | 'name'>, status: 'lost' | 'stuck') =>
    callOf('queuePublish', () => {
      const { host, name: queue, options } = this.queue;
      const isPublished = options.events === 'always' || (options.events !== 'off' && host.isListened(queue));
      if (isPublished) {
        host.publish(queue, { id, status, name });
      }
      return isPublished;
    });

  publishDrained = () => callOf('queuePublishDrained', () => publishDrained(this.queue));
}

/** Makes the call of a step that ends claims. */
function freeing<Reply>(queue: MemoryQueue, script: string, run: () => Reply): MemoryCall<Reply> {
  return callOf(script, () => {
    const answer = run();
    queue.freed();
    return answer;
  });
}

function sweepVerbs(queue: MemoryQueue): SweepVerbs {
  return {
    reclaim: (limit, gapMs, waitMs, _everyMs, watched) =>
      freeing(queue, 'sweepReclaim', () => reclaim(queue, limit, gapMs, waitMs, watched)),
    hold: (set, process, lengthMs, turns) => callOf('sweepHold', () => hold(queue, set, process, lengthMs, turns)),
    reclaimWorker: (worker) => freeing(queue, 'sweepReclaimWorker', () => reclaimWorker(queue, worker)),
    promote: (limit) => callOf('sweepPromote', () => promote(queue, limit)),
    /** Clients of the Redis pattern do not come here. */
    adoptForeign: () =>
      callOf('sweepAdoptForeign', () => ({
        reclaimed: [],
        deadLetters: 0,
        sweptByClients: 0,
        clientsAtWork: false,
      })),
    adoptFailed: () => callOf('sweepAdoptFailed', () => 0),
    tidy: () => callOf('sweepTidy', () => tidy(queue)),
    maintainBatches: () => callOf('sweepMaintainBatches', () => maintainBatches(queue)),
  };
}

function deadLetterVerbs(queue: MemoryQueue): DeadLetterVerbs {
  return {
    list: (query, _looks, most, withJobs) =>
      callOf('deadLetterList', () => deadLetters.list(queue, query, most, withJobs)),
    kinds: () =>
      callOf('deadLetterKinds', () => ({
        nowMs: queue.now,
        kinds: queue.kinds.list(queue.now, (id) => queue.job(id)),
      })),
    discard: (letters) => callOf('deadLetterDiscard', () => deadLetters.discard(queue, letters)),
    redrive: (ids, payload = '') => callOf('deadLetterRedrive', () => operate.redrive(queue, ids, payload)),
    redriveAsNew: (id, newId, payload = '') =>
      callOf('deadLetterRedriveAsNew', () => deadLetters.redriveAsNew(queue, id, newId, payload)),
  };
}

function historyVerbs({ history }: MemoryQueue): HistoryVerbs {
  return {
    addDurations: (worker, batch, counts) =>
      callOf('historyAddDurations', () => history.addDurations(worker, batch, counts)),
    closeMinute: (reading) => callOf('historyCloseMinute', () => history.closeMinute(reading)),
    reportVersion: (version) => callOf('historyCloseMinute', () => history.reportVersion(version)),
    read: (backMs, after, most) => callOf('historyRead', () => history.read(backMs, after, most)),
  };
}

function scheduleVerbs(queue: MemoryQueue): ScheduleVerbs {
  return {
    upsert: (schedule, worker, nextDueMs, knownAt) =>
      callOf('scheduleUpsert', () => schedules.upsert(queue, schedule, worker, { nextDueMs, knownAt })),
    declare: (worker, declares, each) =>
      callOf('scheduleDeclare', () => schedules.declare(queue, worker, declares, each)),
    due: (limit, othersFrom) => callOf('scheduleDue', () => schedules.due(queue, limit, othersFrom)),
    tick: (ticks) => callOf('scheduleTick', () => tick(queue, ticks)),
    run: (id, jobId) => callOf('scheduleRun', () => runSchedule(queue, id, jobId)),
    pause: (id) => callOf('schedulePause', () => schedules.pause(queue, id)),
    resume: (id, next) => callOf('scheduleResume', () => schedules.resume(queue, id, next)),
    remove: (id) => callOf('scheduleRemove', () => schedules.remove(queue, id)),
    list: (offset, limit) => callOf('scheduleList', () => schedules.list(queue, offset, limit)),
    get: (id) => callOf('scheduleList', () => schedules.get(queue, id)),
  };
}
