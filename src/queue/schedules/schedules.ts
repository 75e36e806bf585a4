import type { Logged } from '../actions/action-log.js';
import { inWords, onTarget } from '../actions/noted-action.js';
import { announceGiant } from '../enqueue/encode-job.js';
import { InvalidOptionError, ScheduleNotFoundError } from '../errors/errors.js';
import type { ActionName } from '../model/actions.js';
import type { Recurrence, ScheduleRecord } from '../model/schedule.js';
import { registerQueues } from '../register/register-queues.js';
import { JobHandle, type JobSource } from '../results/job-handle.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import { outsideOfCaller } from '../runtime/clock.js';
import type { QueueAccess } from '../store/queue-store.js';
import type { StoreCall } from '../store/store-call.js';
import type { StoreCalls } from '../store/store-calls.js';
import type { DueSchedule, StoredSchedule, UpsertOutcome } from '../verbs/schedule.js';
import { SCHEDULE_PREFIX, checkText } from '../validation/names.js';
import type { StandardSchema } from '../validation/validate-with-schema.js';
import { checkCount, checkKnown } from '../validation/validate-options.js';
import { nextDue } from './recurrence.js';
import { type ScheduleOptions, type TypedScheduleOptions, checkSchedule, encodeSchedule } from './schedule.js';

/** The most schedules that one script call ticks. */
const SLICE = 100;

/** The queue that schedules belong to. */
type ScheduledQueue = JobSource & Logged & QueueAccess;

/** The result of one slice of ticks. */
export interface TickReport {
  /** The number of ticks that enqueued a job. */
  enqueued: number;
  /** The number of ticks that were missed and skipped, or that found the last job unfinished without overlap. */
  skipped: number;
  /** The number of schedules with a due time later than their next time. A clock that was ahead had set it. */
  moved: number;
  /** ms until the next schedule is due; undefined when none is active. */
  nextDueInMs: number | undefined;
  /** True if more schedules are due. */
  more: boolean;
  /** The schedules whose next time this process could not compute; another process may. */
  faults: { id: string; reason: string }[];
}

/**
 * The recurring jobs of one queue. Each tick enqueues one job, whatever the number of processes. Workers make the ticks
 * of their queues.
 *
 * @example
 * await queue.schedules.upsert('report', { cron: '0 3 * * *', timeZone: 'Europe/Berlin' }, { payload: { kind: 'daily' } });
 */
export class Schedules {
  private readonly listeners = new Set<() => void>();
  private readonly verified = new VerifiedDueTimes();

  /** @internal */
  constructor(private readonly queue: ScheduledQueue) {}

  /**
   * Creates or changes a schedule, which lives until it is removed. An equal one changes nothing. A changed one keeps a
   * due tick and a pause. The first tick is the next time of the recurrence.
   *
   * @param id 1 to 100 of A-Z a-z 0-9 _ . : @ -
   * @param options.definition sets the name and defaults of its jobs; the payload must fit its schema
   * @throws InvalidOptionError, also if code declares a schedule with that id; InvalidPayloadError with the path of the
   *   fault. Nothing was written
   */
  async upsert<Payload extends StandardSchema>(
    id: string,
    recurrence: Recurrence,
    options?: ScheduleOptions | TypedScheduleOptions<Payload>,
  ): Promise<'created' | 'changed' | 'unchanged'> {
    const schedule = encodeSchedule(this.queue, id, recurrence, options);
    await checkSchedule(schedule, options?.definition, this.queue);
    const outcome = await this.putByCall(schedule);
    return outcome as Exclude<typeof outcome, 'stale'>; // which only a known time of the last change has
  }

  /**
   * Stores a schedule as `upsert` does, unless somebody changed it meanwhile: then the outcome is `stale`, and nothing
   * was written.
   *
   * @param schedule as encodeSchedule returns it
   * @param knownAt the time of the last change that the caller knows; null for a new schedule
   * @internal
   */
  putByCall(
    schedule: StoredSchedule,
    knownAt?: Date | null,
  ): Promise<'created' | 'changed' | 'unchanged' | 'stale'> {
    const { id, recurrence } = schedule;
    const put = async () => {
      const outcome = await this.put(schedule, undefined, knownAt);
      if (outcome === 'declared' || outcome === 'conflict') {
        throw refusal(id, 'change it');
      }
      return outcome;
    };
    return this.record('set-schedule', id, put, {
      details: inWords(recurrence),
      count: (outcome) => Number(outcome === 'created' || outcome === 'changed'),
    });
  }

  /**
   * Returns one page of the schedules, the next due first, resting ones last. @param options.limit at most 1,000. @default
   * 50
   */
  async list(options: { offset?: number | undefined; limit?: number | undefined } = {}): Promise<ScheduleRecord[]> {
    checkKnown('schedules.list', options, ['offset', 'limit']);
    const { offset = 0, limit = 50 } = options;
    checkCount('offset', offset, 0, Number.MAX_SAFE_INTEGER);
    checkCount('limit', limit, 1, LARGEST_PAGE);
    return this.call((calls) => calls.list({ offset, limit }));
  }

  /** Returns a schedule, or null for an unknown id. */
  async get(id: string): Promise<ScheduleRecord | null> {
    checkText('schedule id', id);
    const [record] = id === '' ? [] : await this.call((calls) => calls.get({ id }));
    return record ?? null;
  }

  /** Stops its ticks for the whole fleet until it is resumed, also across deploys. Missed ticks are not made up. */
  async pause(id: string): Promise<'paused' | 'missing'> {
    checkText('schedule id', id);
    return this.record('pause-schedule', id, () => this.call((calls) => calls.pause({ id })));
  }

  /** Ends a pause. The schedule continues with the next time of its recurrence. */
  async resume(id: string): Promise<'resumed' | 'missing'> {
    checkText('schedule id', id);
    return this.record('resume-schedule', id, () => this.resumeWithNext(id));
  }

  private async resumeWithNext(id: string): Promise<'resumed' | 'missing'> {
    let next: { dueMs: number; version: string } | undefined;
    for (;;) {
      const reply = await this.call((calls) => calls.resume({ id, next }));
      if (reply.outcome !== 'next') {
        this.announceChange();
        return reply.outcome;
      }
      next = {
        dueMs: nextDue(reply.recurrence, reply.nowMs, { queue: this.queue.name, id }),
        version: reply.version,
      };
    }
  }

  /**
   * Deletes a schedule. The jobs that it enqueued stay.
   *
   * @throws InvalidOptionError if code declares it, which would create it again
   */
  async remove(id: string): Promise<'removed' | 'missing'> {
    checkText('schedule id', id);
    return this.record('remove-schedule', id, async () => {
      const outcome = await this.call((calls) => calls.remove({ id }));
      if (outcome === 'declared') {
        throw refusal(id, 'remove it');
      }
      return outcome;
    });
  }

  /**
   * Enqueues its job now, also while it is paused. Its ticks stay as they are.
   *
   * @returns a handle; with outcome `kept`, that of the unfinished job of a schedule without overlap
   * @throws ScheduleNotFoundError
   */
  async runNow<Result = unknown>(id: string): Promise<JobHandle<Result>> {
    checkText('schedule id', id);
    const { outcome, jobId, name } = await this.record(
      'run-schedule',
      id,
      () =>
        this.call((calls) =>
          calls.run({ id, jobId: `${SCHEDULE_PREFIX}${id}:${this.queue.store.clock.randomId()}` }),
        ),
      { count: (reply) => Number(reply.outcome === 'added') },
    );
    if (outcome === 'missing') {
      throw new ScheduleNotFoundError(id, this.queue.name);
    }
    return new JobHandle<Result>(jobId, name, this.queue.name, outcome === 'kept' ? 'kept' : 'new', this.queue);
  }

  /**
   * Makes due ticks, one bounded slice, for processes without a worker. Several processes may do it at once.
   *
   * @param options.limit the most schedules to read, at most 1,000. Default 100
   */
  async tick(options: { limit?: number | undefined } = {}): Promise<TickReport> {
    checkKnown('schedules.tick', options, ['limit']);
    const { limit = SLICE } = options;
    checkCount('limit', limit, 1, LARGEST_PAGE);
    const { nowMs, nextDueInMs, more, due } = await this.call((calls) =>
      calls.due({ limit, othersFrom: this.verified.offset }),
    );
    this.verified.advance(due.filter(({ dueAtMs }) => dueAtMs > nowMs).length);
    const report: TickReport = { enqueued: 0, skipped: 0, moved: 0, nextDueInMs, more, faults: [] };
    const ticks = due.flatMap((each) => this.withNext(each, nowMs, report));
    if (ticks.length > 0) {
      const outcomes = await this.call((calls) => calls.tick({ ticks }));
      report.enqueued = outcomes.filter((outcome) => outcome === 'enqueued').length;
      report.skipped = outcomes.filter((outcome) => outcome === 'skipped' || outcome === 'kept').length;
      report.moved = outcomes.filter((outcome) => outcome === 'moved').length;
      // A process that made a tick before this one has set the same next time.
      const nextInMs = Math.min(nextDueInMs ?? Infinity, ...ticks.map(({ nextDueMs }) => nextDueMs - nowMs));
      report.nextDueInMs = nextInMs === Infinity ? undefined : nextInMs;
    }
    return report;
  }

  /**
   * Stores a schedule that a worker's code declares. Returns `conflict` while another version of the code declares it.
   * @internal
   */
  async put(
    schedule: StoredSchedule,
    worker: string | undefined,
    knownAt?: Date | null,
  ): Promise<Exclude<UpsertOutcome, 'next'>> {
    await announceGiant(this.queue, schedule.payload);
    let nextDueMs: number | undefined;
    for (;;) {
      const { outcome, nowMs } = await this.call((calls) => calls.upsert({ schedule, worker, nextDueMs, knownAt }));
      if (outcome !== 'next') {
        registerQueues(this.queue);
        this.announceChange();
        return outcome;
      }
      nextDueMs = nextDue(schedule.recurrence, nowMs, { queue: this.queue.name, id: schedule.id });
    }
  }

  /** Declares schedules for a worker, or ends that; see `lua/schedule/declare.lua`. @internal */
  async declare(worker: string, declares: boolean, schedules: readonly StoredSchedule[]) {
    return this.call((calls) => calls.declare({ worker, declares, schedules }));
  }

  /**
   * Calls the listener after each change made here, so that a ticker learns of an earlier due time at once. Returns a
   * function that unsubscribes. @internal
   */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private announceChange(): void {
    outsideOfCaller(() => this.listeners.forEach((listener) => listener()));
  }

  private withNext(due: DueSchedule, nowMs: number, report: TickReport): (DueSchedule & { nextDueMs: number })[] {
    if (due.dueAtMs > nowMs && this.verified.holds(due, nowMs)) {
      return [];
    }
    try {
      const recurrence = JSON.parse(due.recurrence) as Recurrence;
      const nextDueMs = nextDue(recurrence, nowMs, { queue: this.queue.name, id: due.id });
      if (due.dueAtMs > nowMs && due.dueAtMs <= nextDueMs) {
        this.verified.note(due, nowMs);
        return [];
      }
      return [{ ...due, nextDueMs }];
    } catch (error) {
      if (due.dueAtMs > nowMs) {
        return []; // reported once it is due
      }
      report.faults.push({ id: due.id, reason: (error as Error).message });
      return [];
    }
  }

  private record<Outcome>(
    action: ActionName,
    id: string,
    change: () => Promise<Outcome>,
    how: { details?: string; count?: (outcome: Outcome) => number } = {},
  ): Promise<Outcome> {
    const { details, count = (outcome) => Number(outcome !== 'missing') } = how;
    return this.queue.actionLog.record(onTarget(action, 'schedule', id, details), change, { count });
  }

  private call<Reply>(build: (calls: StoreCalls['schedules']) => StoreCall<Reply>): Promise<Reply> {
    return this.queue.exec(({ schedules }) => build(schedules));
  }
}

function refusal(id: string, what: string): InvalidOptionError {
  return new InvalidOptionError(
    `schedule ${JSON.stringify(id)}`,
    'one that no code declares',
    'one that a running process declares',
    `To ${what}, change the code; or pause it, or use another id.`,
  );
}

/** The most schedules to remember. */
const MOST_KNOWN = 1_000;

/**
 * Remembers which due times of schedules were right. Such a time stays right until the schedule is due, unless the
 * server's clock is set back.
 */
class VerifiedDueTimes {
  private readonly known = new Map<string, { dueAtMs: number; version: string; atMs: number }>();

  /** The first schedule to verify in the next look. */
  offset = 0;

  /** Moves on by the schedules that were read. Begins again after the last. */
  advance(count: number): void {
    this.offset = count > 0 ? this.offset + count : 0;
  }

  holds({ id, dueAtMs, version }: DueSchedule, nowMs: number): boolean {
    const last = this.known.get(id);
    return last?.dueAtMs === dueAtMs && last.version === version && last.atMs <= nowMs;
  }

  note({ id, dueAtMs, version }: DueSchedule, nowMs: number): void {
    if (this.known.size >= MOST_KNOWN) {
      this.known.clear();
    }
    this.known.set(id, { dueAtMs, version, atMs: nowMs });
  }
}
