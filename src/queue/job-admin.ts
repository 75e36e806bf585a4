import { readBySchema } from './validation/validate-with-schema.js';
import { checkStart, lateStart, type Start } from './operate/reschedule-options.js';
import { statusOf, type StatusCondition } from './operate/status-condition.js';
import { decodeContent, encodeContent } from './codec/codec.js';
import { isJobDefinition, type JobDefinition, type PayloadInput } from './enqueue/define-job.js';
import type { JobRecord } from './model/job.js';
import { checkText } from './validation/names.js';
import { checkCount } from './validation/validate-options.js';
import type { CallLimit, QueueStore } from './store/queue-store.js';
import type { ResolvedQueueOptions } from './model/queue-options.js';
import type { StoreCall } from './store/store-call.js';
import type { StoreCalls } from './store/store-calls.js';
import type { RestartAnswer, UpdateAnswer } from './store/call-answers.js';

/** The most urgent priority. */
const HIGHEST_PRIORITY = 1_000;

/** The verbs of operators for one job of a queue. Each verb is one step on the server. */
export abstract class JobAdmin {
  /** @internal */
  abstract readonly options: ResolvedQueueOptions;
  /** @internal */
  abstract readonly store: QueueStore;

  /** @internal */
  abstract exec<Answer>(build: (calls: StoreCalls) => StoreCall<Answer>, limit?: CallLimit): Promise<Answer>;

  /** Returns the record of a job, or null for an unknown one. */
  async get(id: string): Promise<JobRecord | null> {
    checkText('job id', id);
    return this.exec((calls) => calls.get(id));
  }

  /**
   * Deletes a job with all its traces. A claimed one is refused (`processing`): cancel it first.
   *
   * @param options.ifStatus deletes no job in another status (`changed`)
   */
  async remove(
    id: string,
    options: StatusCondition = {},
  ): Promise<'removed' | 'processing' | 'missing' | 'changed'> {
    checkText('job id', id);
    const ifStatus = statusOf('remove', options);
    return this.exec((calls) => calls.remove(id, ifStatus));
  }

  /**
   * Gives a waiting job a new start: `{ delayMs }` from now, or `{ runAt }`. See also `promote`.
   *
   * @throws InvalidOptionError, also for a start by which the job would have expired. Nothing is changed
   */
  async reschedule(id: string, start: Start): Promise<'scheduled' | 'pending' | 'refused' | 'missing'> {
    checkText('job id', id);
    const due = checkStart(start);
    const answer = await this.exec((calls) => calls.reschedule(id, due));
    if (typeof answer === 'object') {
      throw lateStart(start, answer);
    }
    return answer;
  }

  /**
   * Starts a scheduled job now. A pending job keeps its place.
   *
   * @returns `pending`; `refused` for a running or ended job; `missing`
   * @example await queue.promote(id);
   */
  async promote(id: string): Promise<RestartAnswer> {
    checkText('job id', id);
    return this.exec((calls) => calls.promoteJob(id));
  }

  /**
   * Replaces the payload of a pending or scheduled job. Its place and its options stay. Its checkpoint is deleted.
   *
   * @param definition the job's definition, by which the payload is checked. JobQueueService finds the definition of
   *   this process's handler itself
   * @returns `updated`; `refused` for a running or ended job, or one with another name than the definition's; `missing`
   * @throws InvalidPayloadError with the path of the fault. Nothing was changed
   * @example await queue.update(id, { to: 'ada@example.com' });
   * @example await queue.update(SendEmail, id, { to: 'ada@example.com' });
   */
  async update<Definition extends JobDefinition>(
    definition: Definition,
    id: string,
    payload: PayloadInput<Definition>,
  ): Promise<UpdateAnswer>;
  /** The same by the id alone: the payload is checked by no schema. */
  async update(id: string, payload: unknown): Promise<UpdateAnswer>;
  async update(first: string | JobDefinition, ...rest: unknown[]): Promise<UpdateAnswer> {
    const definition = isJobDefinition(first) ? first : undefined;
    const [id, payload] = definition ? rest : [first, ...rest];
    checkText('job id', id);
    const json = encodeContent('payload', payload, this.options);
    if (definition) {
      await readBySchema('payload', definition.payload, decodeContent(this.options.codec, JSON.parse(json)));
    }
    return this.exec((calls) => calls.update(id, json, definition?.name));
  }

  /**
   * Changes the priority of a waiting job. It goes to the back of that priority, and keeps its age. Removing one job
   * from a long queue is O(its length).
   *
   * @param priority 0 to 1,000; higher is more urgent, 0 is none
   * @returns `updated`; `refused` for a running or ended job; `missing`
   * @throws InvalidOptionError
   */
  async setPriority(id: string, priority: number): Promise<UpdateAnswer> {
    checkText('job id', id);
    checkCount('priority', priority, 0, HIGHEST_PRIORITY);
    return this.exec((calls) => calls.setPriority(id, priority));
  }

  /**
   * Runs a completed or cancelled job again with its id, payload and options, and all its attempts. Its result is
   * deleted. Its attempt log stays. The job must still be known, see `resultTtlMs`. Dead letters have `redrive`.
   *
   * @returns `pending`; `refused` for a job in another state; `missing`
   * @example await queue.runAgain(id);
   */
  async runAgain(id: string): Promise<RestartAnswer> {
    checkText('job id', id);
    const request = this.store.clock.randomId();
    return this.exec((calls) => calls.runAgain(id, request));
  }
}
