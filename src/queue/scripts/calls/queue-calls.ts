import { AuditCalls } from './audit-calls.js';
import { BatchCalls } from './batch-calls.js';
import { DeadLetterCalls } from './dead-letter-calls.js';
import { HistoryCalls } from './history-calls.js';
import { decodeJob, decodeJobHash, decodeJobs } from '../../replies/decode-job.js';
import { decodeReclaimed } from '../../replies/decode-reclaimed.js';
import { decodeStats } from '../../replies/decode-stats.js';
import { EVICTED_TTL_MS, publishArg, UNDECLARED_AGE_MS, WORKER_FORGOTTEN_MS, WORKER_SEEN_MS } from './job-calls.js';
import { RestsExhaustedError } from '../../errors/rests-exhausted-error.js';
import type { Failure, Release, StoreCalls } from '../../store/store-calls.js';
import type { CancelAnswer, DrainedAnswer, FailOutcome, ReleaseOutcome } from '../../store/call-answers.js';
import type { ClaimedJob, JobRecord, JobStatus, QueueStats } from '../../model/job.js';
import type { QueueKeys } from '../queue-keys.js';
import type { ResolvedQueueOptions } from '../../model/queue-options.js';
import type { CommandCall, ScriptArgument, ScriptCall } from '../../transport/script-runner.js';
import type { FoundJobs, JobQuery } from '../../store/find-query.js';
import { call } from '../script-call.js';
import { GroupCalls } from './group-calls.js';
import { ScheduleCalls } from './schedule-calls.js';
import { SingleJobCalls } from './single-job-calls.js';
import type { PauseOptions } from '../../model/pause.js';

/**
 * Builds the calls of `lua/`, one method per script, and decodes their replies. Nothing else knows the order of KEYS and
 * ARGV or the form of a reply. The header of each script has its contract.
 */
export class QueueCalls extends SingleJobCalls implements StoreCalls {
  readonly deadLetters: DeadLetterCalls;
  readonly schedules: ScheduleCalls;
  readonly batches: BatchCalls;
  readonly history: HistoryCalls;
  readonly audit: AuditCalls;
  readonly groups = new GroupCalls(this.keys);
  readonly retention: readonly ScriptArgument[];

  constructor(keys: QueueKeys, options: ResolvedQueueOptions) {
    super(keys, options);
    this.deadLetters = new DeadLetterCalls(keys);
    this.schedules = new ScheduleCalls(keys);
    this.history = new HistoryCalls(keys);
    this.audit = new AuditCalls(keys);
    this.retention = [
      options.failedHistory,
      options.cancelledHistory,
      options.deadLetterCap,
      options.resultTtlMs,
      options.cancelledTtlMs,
      EVICTED_TTL_MS,
      publishArg(options),
      options.maxAttempts,
      options.maxCrashes,
    ];
    this.batches = new BatchCalls(keys, this.retention);
  }

  fail(failures: readonly Failure[]): ScriptCall<FailOutcome[]> {
    const args = failures.flatMap(({ id, token, fence, error, final, backoffMs, begun }) => [
      id,
      token,
      fence,
      error.message,
      JSON.stringify(error),
      final ? '1' : '0',
      backoffMs,
      begun ? '1' : '',
    ]);
    return call('attemptFail', this.keys.standard, [...this.retention, ...args], (reply) => reply as FailOutcome[]);
  }

  release(releases: readonly Release[]): ScriptCall<ReleaseOutcome[]> {
    const args = releases.flatMap((each) => [
      each.id,
      each.token,
      each.fence,
      each.reason,
      each.delayMs,
      each.reason === 'unhandled' ? (each.name ?? '') : '',
      each.unstarted ? '1' : '',
      ...(each.reason === 'rate_limited' ? this.restArguments(each) : ['', '', '']),
    ]);
    return call(
      'attemptRelease',
      this.keys.standard,
      [...this.retention, ...args],
      (reply) => reply as ReleaseOutcome[],
    );
  }

  private restArguments({ id, maxRests = this.options.maxRests }: Release): [number, string, string] {
    const { name, message } = new RestsExhaustedError(id, maxRests);
    return [maxRests, message, JSON.stringify({ name, message })];
  }

  /**
   * @param gapMs a gap between sweeps that means the server was away; @param waitMs how long to wait after one
   * @param everyMs how often the caller maintains the queue; undefined where it only takes claims back
   */
  reclaim(limit: number, gapMs: number, waitMs: number, everyMs?: number) {
    const args = [...this.retention, limit, gapMs, waitMs, everyMs ?? ''];
    return call('sweepReclaim', this.keys.standard, args, (reply) => {
      const [more, ...pairs] = reply as string[];
      return { reclaimed: decodeReclaimed(pairs), more: more === '1' };
    });
  }

  promote(limit: number): ScriptCall<number> {
    return call('sweepPromote', this.keys.standard, [limit], Number);
  }

  /** @param paceMs as of tidy, for what those clients failed */
  adopt(limit: number, paceMs = 0) {
    const args = [...this.retention, limit, this.options.foreignVisibilityMs, paceMs];
    return call('sweepAdoptForeign', this.keys.standard, args, (reply) => {
      const [deadLetters, sweptByClients, clientsAtWork, ...pairs] = reply as [number, number, number, ...string[]];
      return {
        reclaimed: decodeReclaimed(pairs),
        deadLetters,
        /** The number of claims that a sweep of such a client reclaimed. */
        sweptByClients: Number(sweptByClients),
        /** True if such clients worked here within ten minutes. */
        clientsAtWork: Number(clientsAtWork) === 1,
      };
    });
  }

  /** Returns how many of the jobs, which a client of the Redis pattern failed, are now dead letters. */
  adoptFailed(ids: readonly string[]): ScriptCall<number> {
    return call('sweepAdoptFailed', this.keys.standard, [this.options.deadLetterCap, ...ids], Number);
  }

  /**
   * Returns whether more is left to tidy.
   *
   * @param paceMs it does nothing where another call with a pace began less long ago; 0: whatever others do
   */
  tidy(limit: number, paceMs = 0): ScriptCall<boolean> {
    const { deadLetterAgeMs, completedHistory, failedHistory, cancelledHistory, deadLetterCap } = this.options;
    const ages = [deadLetterAgeMs, WORKER_FORGOTTEN_MS, UNDECLARED_AGE_MS];
    const caps = [completedHistory, failedHistory, cancelledHistory, deadLetterCap];
    const args = [limit, ...ages, ...caps, EVICTED_TTL_MS, paceMs];
    return call('sweepTidy', this.keys.standard, args, (reply) => Number(reply) === 1);
  }

  /** Returns whether the name was written. */
  name({ id, token, name }: Pick<ClaimedJob, 'id' | 'token' | 'name'>): ScriptCall<boolean> {
    return call('attemptSetName', this.keys.standard, [id, token, name], (reply) => Number(reply) === 1);
  }

  /** Returns whether there was a subscriber. */
  tell({ id, name }: Pick<ClaimedJob, 'id' | 'name'>, status: 'lost' | 'stuck'): ScriptCall<boolean> {
    return call(
      'queuePublish',
      this.keys.standard,
      [id, name, status, this.options.events],
      (reply) => Number(reply) === 1,
    );
  }

  /** Publishes that the queue is drained, if it is. */
  tellDrained(): ScriptCall<DrainedAnswer> {
    const { events } = this.options;
    return call('queueTellDrained', this.keys.standard, [events], (reply) => reply as DrainedAnswer);
  }

  get(id: string): CommandCall<JobRecord | null> {
    return {
      script: 'get',
      args: [id],
      send: (client) => client.hgetall(this.keys.job(id)),
      decode: (reply) => {
        const hash = reply as Record<string, string>;
        return Object.keys(hash).length > 0 ? decodeJobHash(this.keys.queue, id, hash) : null;
      },
    };
  }

  now(): CommandCall<number> {
    return {
      script: 'now',
      args: [],
      send: (client) => client.time(),
      decode: (reply) => {
        const [seconds, microseconds] = (reply as string[]).map(Number);
        return seconds! * 1_000 + Math.floor(microseconds! / 1_000);
      },
    };
  }

  stats(): ScriptCall<QueueStats> {
    return call('queueStats', this.keys.standard, [WORKER_SEEN_MS], (reply) =>
      decodeStats(reply as (string | number)[]),
    );
  }

  list(status: JobStatus, offset: number, limit: number, mostBytes?: number): ScriptCall<JobRecord[]> {
    return call('queueList', this.keys.standard, [status, offset, limit, mostBytes ?? ''], (reply) =>
      decodeJobs(this.keys.queue, reply as (string | string[])[]),
    );
  }

  find(status: JobStatus, query: JobQuery): ScriptCall<FoundJobs> {
    const { place, looks, skip, most, mostBytes, name, olderThanMs, newerThanMs, metadata = {} } = query;
    const filter = [name ?? '', olderThanMs ?? '', newerThanMs ?? '', ...Object.entries(metadata).flat()];
    return call(
      'queueFind',
      this.keys.standard,
      [status, place, looks, skip, most, mostBytes ?? '', ...filter],
      (reply) => {
        const [next, passed, ...jobs] = reply as [number, number, ...(string | string[])[]];
        return { jobs: decodeJobs(this.keys.queue, jobs), passed, next: next < 0 ? undefined : next };
      },
    );
  }

  cancel(id: string, ifStatus: JobStatus | '' = ''): ScriptCall<CancelAnswer> {
    const args = [...this.retention, id, '', ifStatus];
    return call('jobCancel', this.keys.standard, args, (reply) => reply as 'cancelled');
  }

  /** Returns the job too, where this request cancelled it. */
  cancelAndTell(
    id: string,
    request: string,
    ifStatus: JobStatus | '' = '',
  ): ScriptCall<{ answer: CancelAnswer; cancelled?: JobRecord }> {
    return call('jobCancel', this.keys.standard, [...this.retention, id, request, ifStatus], (reply) =>
      Array.isArray(reply)
        ? { answer: 'cancelled', cancelled: decodeJob(this.keys.queue, id, reply as string[]) }
        : { answer: reply as CancelAnswer },
    );
  }

  /** @param payload JSON that takes the place of the stored one */
  redrive(ids: readonly string[], payload = ''): ScriptCall<number> {
    return call('deadLetterRedrive', this.keys.standard, [payload, ...ids], Number);
  }

  /** Returns how many were deleted, and how many the next call passes over; undefined when no more are old. */
  clean(place: JobStatus | 'prioritized' | 'grouped', olderThanMs: number, limit: number, passed: number) {
    return call('queueClean', this.keys.standard, [place, olderThanMs, limit, passed], (reply) => {
      const [deleted, next] = (reply as number[]).map(Number);
      return { deleted: deleted!, next: next === -1 ? undefined : next };
    });
  }

  pause({ by = '', reason = '' }: PauseOptions = {}): ScriptCall<boolean> {
    return call('queuePause', this.keys.standard, [by, reason], (reply) => Number(reply) === 1);
  }

  resume(): ScriptCall<boolean> {
    return call('queueResume', this.keys.standard, [], (reply) => Number(reply) === 1);
  }

  purge(limit: number): ScriptCall<{ deleted: number; more: boolean }> {
    const args = [limit, WORKER_SEEN_MS, WORKER_FORGOTTEN_MS, this.options.visibilityMs];
    return call('queuePurge', this.keys.standard, args, (reply) => {
      const [deleted, more] = (reply as number[]).map(Number);
      return { deleted: deleted!, more: more === 1 };
    });
  }
}
