// The verbs of a queue in memory: each method makes one call, which runs when the store runs it.
import { leavePlain } from './verbs/write-options.js';
import type { ClaimRef } from '../queue/model/job.js';
import type { ResolvedQueueOptions } from '../queue/model/queue-options.js';
import type { DeadLetterVerbs, HistoryVerbs, StoreCalls } from '../queue/store/store-calls.js';
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
import type { Hash, MemoryQueue } from './state/memory-queue.js';
import * as lists from './verbs/operate/list.js';
import { stats } from './verbs/operate/stats.js';
import * as operate from './verbs/operate/operate.js';
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
import { WORKER_SEEN_MS } from '../queue/runtime/lifetimes.js';

/** The calls of one queue in memory. */
export interface MemoryCalls extends StoreCalls {
  readonly queue: MemoryQueue;
}

/** Returns the calls of a queue, for a process with these options of it. */
export function memoryCalls(queue: MemoryQueue, options: ResolvedQueueOptions): MemoryCalls {
  return { key: queue.name, queue, options, ...byOptions(verbsOf(queue, options), queue, options) };
}

/** Returns verbs whose calls run by these options, as scripts do by the arguments of their caller. */
function byOptions<Verbs extends object>(verbs: Verbs, queue: MemoryQueue, options: ResolvedQueueOptions): Verbs {
  const entries = Object.entries(verbs).map(([name, verb]: [string, object]) => {
    if (typeof verb !== 'function') {
      return [name, byOptions(verb, queue, options)];
    }
    const callBy = (...args: unknown[]): MemoryCall<unknown> => {
      const call = (verb as (...given: unknown[]) => MemoryCall<unknown>)(...args);
      const run = () => {
        queue.options = options;
        return call.run();
      };
      return { ...call, run };
    };
    return [name, callBy];
  });
  return Object.fromEntries(entries) as Verbs;
}

type AllVerbs = Omit<MemoryCalls, 'key' | 'queue' | 'options'>;

function verbsOf(queue: MemoryQueue, options: ResolvedQueueOptions): AllVerbs {
  return {
    sweep: sweepVerbs(queue),
    workers: workerVerbs(queue, options),
    limits: limitVerbs(queue),
    deadLetters: deadLetterVerbs(queue),
    schedules: scheduleVerbs(queue),
    groups: groupVerbs(queue),
    batches: batchVerbs(queue),
    once: onceVerbs(queue),
    history: historyVerbs(queue),
    audit: auditVerbs(),
    alerts: alertVerbs(queue),
    actions: actionVerbs(queue),

    enqueue: (jobs) => callOf('jobEnqueue', () => enqueue(queue, jobs)),
    claim: (request) => callOf('attemptClaim', () => claim(queue, request)),
    start: (claims) => callOf('attemptStart', () => claims.map((each) => start(queue, each))),
    noteDeath: (claims, error) => callOf('attemptNoteDeath', () => noteDeath(queue, claims, error)),
    extend: (claims, visibilityMs = options.visibilityMs) =>
      callOf('attemptExtend', () => extend(queue, claims, visibilityMs)),
    complete: (completions) => freeing(queue, 'attemptComplete', () => complete(queue, completions)),
    fail: (failures) => freeing(queue, 'attemptFail', () => fail(queue, failures)),
    release: (releases) => freeing(queue, 'attemptRelease', () => release(queue, releases)),
    extendBatch: ({ worker, stream, token }) =>
      callOf('attemptExtendBatch', () => {
        const batch = queue.batches.get(`${worker}:${stream}`);
        if (batch?.token !== token || batch.keptUntil <= queue.now) {
          return 0;
        }
        const claims = batch.claims.map(({ id }) => ({ id, token }));
        const extended = claims.length - extend(queue, claims, options.visibilityMs).lost.length;
        batch.keptUntil = extended > 0 ? queue.now + options.visibilityMs : batch.keptUntil;
        return extended;
      }),
    setName: (named) => callOf('attemptSetName', () => setName(queue, named)),
    progress: (of, progress) =>
      writing(queue, 'attemptProgress', of, (job) => {
        job.progress = progress;
        queue.emit(of.id, 'progress', { progress });
      }),
    checkpoint: (of, checkpoint) =>
      writing(queue, 'attemptCheckpoint', of, (job) => {
        job.checkpoint = checkpoint;
        leavePlain(job);
      }),
    step: (of, step) => callOf('attemptStep', () => recordStep(queue, of, step)),
    log: (of, keep, lines) => writing(queue, 'attemptLog', of, (job) => addLines(queue, job, keep, lines)),

    get: (id) => callOf('get', () => lists.record(queue, id)),
    outcome: (id) => callOf('outcome', () => lists.outcome(queue, id)),
    find: (status, query) => callOf('queueFind', () => lists.find(queue, status, query)),
    list: (status, offset, limit) => callOf('queueList', () => lists.list(queue, status, offset, limit)),
    stats: () => callOf('queueStats', () => stats(queue)),
    now: () => callOf('now', () => queue.now),
    cancel: (id, ifStatus) => callOf('jobCancel', () => operate.cancel(queue, id, '', ifStatus).outcome),
    cancelAndReturn: (id, request, ifStatus) =>
      callOf('jobCancel', () => operate.cancel(queue, id, request, ifStatus)),
    reschedule: (id, at) => callOf('jobReschedule', () => operate.reschedule(queue, id, at)),
    remove: (id, ifStatus) => callOf('jobRemove', () => operate.remove(queue, id, ifStatus)),
    promote: (id) => callOf('jobPromote', () => ofOne.promote(queue, id)),
    update: (id, payload, name = '') => callOf('jobUpdate', () => ofOne.update(queue, id, payload, name)),
    setPriority: (id, priority) => callOf('jobSetPriority', () => ofOne.setPriority(queue, id, priority)),
    runAgain: (id, request) => callOf('jobRunAgain', () => ofOne.runAgain(queue, id, request)),
    clean: (place, olderThanMs, limit) =>
      callOf('queueClean', () => operate.clean(queue, place, olderThanMs, limit)),
    purge: () => callOf('queuePurge', () => operate.purge(queue)),
    pause: (pause) =>
      callOf('queuePause', () => {
        const changes = queue.paused === undefined;
        if (changes) {
          queue.pause = newPause(pause, queue.now);
        }
        return changes;
      }),
    extendPause: (knownEndMs, forMs) =>
      callOf('queueExtendPause', () => extendPause(queue, { knownEndMs, forMs, now: queue.now })),
    resume: () =>
      callOf('queueResume', () => {
        const changes = queue.paused !== undefined;
        queue.pause = undefined;
        queue.host.wake(queue.name);
        return changes;
      }),

    notePayload: () => callOf<void>('queueNotePayload', () => notePayload(queue, options)),
    content: () => callOf('queueContent', () => queue.content),
    unserved: (jobs) =>
      callOf('queueUnserved', () => {
        const waits = (id: string) => ['pending', 'scheduled'].includes(queue.job(id)?.status ?? '');
        const waiting = jobs.flatMap(({ id, name }, i) =>
          waits(id) && !queue.announced.isServed(name, queue.now) ? [i] : [],
        );
        return {
          waiting,
          workers: queue.liveWorkers,
          names: queue.liveWorkers > 0 ? queue.announced.namesSince(queue.now - WORKER_SEEN_MS) : [],
        };
      }),
    publish: ({ id, name }, status) =>
      callOf('queuePublish', () => {
        const { events } = queue.options;
        const isPublished = events === 'always' || (events !== 'off' && queue.host.isListened(queue.name));
        if (isPublished) {
          queue.host.publish(queue.name, { id, status, name });
        }
        return isPublished;
      }),
    publishDrained: () => callOf('queuePublishDrained', () => publishDrained(queue)),
  };
}

/** Makes the call that writes into a claimed job. Returns whether the claim is the current one. */
function writing(
  queue: MemoryQueue,
  script: string,
  { id, token }: Pick<ClaimRef, 'id' | 'token'>,
  write: (job: Hash) => void,
): MemoryCall<boolean> {
  return callOf(script, () => {
    const job = queue.job(id);
    const isCurrent = job?.claim_token === token;
    if (isCurrent) {
      write(job);
    }
    return isCurrent;
  });
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

function historyVerbs(queue: MemoryQueue): HistoryVerbs {
  return {
    addDurations: (worker, batch, counts) =>
      callOf('historyAddDurations', () => queue.history.addDurations(worker, batch, counts)),
    closeMinute: (reading) => callOf('historyCloseMinute', () => queue.history.closeMinute(reading)),
    reportVersion: (version) => callOf('historyCloseMinute', () => queue.history.reportVersion(version)),
    read: (backMs, after, most) => callOf('historyRead', () => queue.history.read(backMs, after, most)),
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
