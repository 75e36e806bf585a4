import { z } from 'zod';
import type { Logged } from '../actions/action-log.js';
import { type NewAction, onJobs, onOne } from '../actions/noted-action.js';
import { checkCount, checkOptions } from '../validation/validate-options.js';
import { type ErrorKind, withSamples } from './error-kinds.js';
import { placeOf } from './place-of-cursor.js';
import { isJobDefinition, type JobDefinition, type PayloadInput } from '../enqueue/define-job.js';
import { InvalidOptionError } from '../errors/errors.js';
import type { JobRecord } from '../model/job.js';
import { encodeContent } from '../codec/encode-content.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import { checkText } from '../validation/names.js';
import { show } from '../errors/show.js';
import { duration, wholeNumber } from '../validation/numbers.js';
import { announceGiant, checkPayload } from '../enqueue/check-payload.js';
import { handlerDefinition, type EditedQueue } from '../enqueue/update-job.js';
import type { JobSource } from '../results/job-handle.js';
import type { QueueAccess } from '../store/queue-store.js';
import type { DeadLetterQuery, RedriveAsNewReply } from '../store/verbs/dead-letter-verbs.js';

/** The most dead letters that one script call looks at, and the most that one changes. */
const LOOKS = 500;
const CHANGES = 100;

/** The filter of dead letters; all fields must match. */
export interface DeadLetterFilter {
  /** The job's name. */
  name?: string | undefined;
  /** A text in the message of the last error; letters A to Z in either case. */
  error?: string | undefined;
  /** The kind of the last error, as `kinds` returns it. */
  kind?: string | undefined;
  /** The least age since the failure, in ms. */
  olderThanMs?: number | undefined;
  /** The greatest age since the failure, in ms. */
  newerThanMs?: number | undefined;
}

/** One page of dead letters. */
export interface DeadLetterPage {
  /** The latest failure first. */
  jobs: JobRecord[];
  /** The cursor of the next call; undefined when nothing is left. */
  cursor: string | undefined;
}

/** The queue that dead letters belong to. */
type DeadLetterQueue = Pick<QueueAccess, 'name' | 'options' | 'exec' | 'store'> &
  Pick<JobSource, 'get'> &
  Logged &
  Pick<EditedQueue, 'definitionOf'>;

const text = z.string({ error: 'expected text' }).min(1, 'expected text of 1 to 2,000 characters');
const filterFields = {
  name: text.optional(),
  error: text.max(2_000, 'expected text of 1 to 2,000 characters').optional(),
  kind: text.max(64, 'expected the kind of an error').optional(),
  olderThanMs: duration(0).optional(),
  newerThanMs: duration(0).optional(),
};
const ages = {
  error: 'expected olderThanMs or more, since nothing is older and newer',
  path: ['newerThanMs'],
};
const possible = ({ olderThanMs = 0, newerThanMs = olderThanMs }: DeadLetterFilter) => newerThanMs >= olderThanMs;
/** Strict, because a misspelled filter would leave all dead letters. */
const filterSchema = z
  .strictObject(filterFields, { error: 'expected an object of filters' })
  .refine(possible, ages);
const listSchema = z
  .strictObject(
    {
      ...filterFields,
      limit: wholeNumber(1, LARGEST_PAGE).optional(),
      cursor: text.optional(),
      mostBytes: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional(),
    },
    { error: 'expected an object of filters' },
  )
  .refine(possible, ages);
const redriveSchema = z.strictObject(
  { payload: z.unknown().optional() },
  { error: 'expected an object with a payload' },
);

/**
 * The dead letters of one queue: jobs whose attempts are used up, or that could not run. They are kept until they are
 * redriven or discarded, or exceed the queue's `deadLetterCap` or `deadLetterAgeMs`.
 *
 * @example
 * const { jobs } = await queue.deadLetters.list({ error: 'ECONNREFUSED', newerThanMs: 3_600_000 });
 * await queue.deadLetters.redriveAll({ error: 'ECONNREFUSED' });
 */
export class DeadLetters {
  /** @internal */
  constructor(private readonly queue: DeadLetterQueue) {}

  /**
   * Returns one page, the latest failure first. Each step on the server reads at most 500.
   *
   * @param options.limit at most 1,000. Default 50
   * @param options.cursor the `cursor` of the page before
   * @param options.mostBytes see JobQueue.list
   * @throws InvalidOptionError
   */
  async list(
    options: DeadLetterFilter & {
      limit?: number | undefined;
      cursor?: string | undefined;
      mostBytes?: number | undefined;
    } = {},
  ): Promise<DeadLetterPage> {
    const { limit = 50, cursor, ...filter } = checkOptions('deadLetters.list', listSchema, options);
    const jobs: JobRecord[] = [];
    let place = cursor === undefined ? undefined : placeOf(cursor);
    do {
      const query: DeadLetterQuery = { ...filter, order: 'newest', place };
      const most = limit - jobs.length;
      const { found, next } = await this.queue.exec(({ deadLetters }) =>
        deadLetters.list(query, LOOKS, most, true),
      );
      jobs.push(...found.flatMap(({ job }) => job ?? []));
      place = next;
    } while (place && jobs.length < limit);
    return { jobs, cursor: place && `${place.at}-${place.id}` };
  }

  /**
   * Returns the kinds of error among the dead letters, the most frequent first. At most a hundred are counted apart, the
   * rest as one. Each job is counted when it dies, so a read costs the same for any number of dead letters.
   *
   * @example
   * const [worst] = await queue.deadLetters.kinds();
   * await queue.deadLetters.redriveAll({ kind: worst.kind });
   */
  async kinds(): Promise<ErrorKind[]> {
    const counted = await this.queue.exec(({ deadLetters }) => deadLetters.kinds());
    return withSamples({ get: (id) => this.queue.get(id), list: (options) => this.list(options) }, counted);
  }

  /** Returns a dead letter with its attempts, the last 20; null when there is none of that id. */
  async get(id: string): Promise<JobRecord | null> {
    checkText('job id', id);
    const job = await this.queue.get(id);
    return job?.status === 'failed' ? job : null;
  }

  /**
   * Makes one pending again with its attempts reset. Its attempt log and last error stay.
   *
   * @param definition the job's definition, by which the payload is checked. In a Nest app the queue knows the definition
   *   of this process's handler
   * @param options.payload replaces the stored payload
   * @returns false if there is no dead letter with that id
   * @throws InvalidPayloadError with the path of the fault, InvalidOptionError. Nothing was changed
   * @example await queue.deadLetters.redrive(id, { payload: { ...job.payload, to: 'ada@example.com' } });
   * @example await queue.deadLetters.redrive(SendEmail, id, { payload: { to: 'ada@example.com' } });
   */
  async redrive<Definition extends JobDefinition>(
    definition: Definition,
    id: string,
    options?: { payload?: PayloadInput<Definition> | undefined },
  ): Promise<boolean>;
  /** Sends one back to work by its id. Its payload is checked by the definition of its handler, where this process has it. */
  async redrive(id: string, options?: { payload?: unknown }): Promise<boolean>;
  async redrive(first: string | JobDefinition, ...rest: unknown[]): Promise<boolean> {
    const given = isJobDefinition(first) ? first : undefined;
    const [id, options = {}] = (given ? rest : [first, ...rest]) as [string, { payload?: unknown }?];
    checkText('job id', id);
    checkOptions('deadLetters.redrive', redriveSchema, options);
    const payload = await this.editedPayload(id, options.payload, given);
    const action = onOne('redrive', 'job', id, payload === undefined ? undefined : 'with another payload');
    return (
      (await this.record(action, () => this.queue.exec((calls) => calls.deadLetters.redrive([id], payload)))) === 1
    );
  }

  /**
   * Redrives one as a new job, which has its payload, options and group. The dead letter stays, with its attempts, and
   * names the new job; the new job names it. The new job is in no batch, and has no checkpoint and no steps.
   *
   * @param options.payload replaces the payload in the new job
   * @returns the id of the new job; `known` with the id of an earlier one that is still known
   * @throws InvalidPayloadError with the path of the fault, InvalidOptionError. Nothing was changed
   * @example const { outcome, id: newId } = await queue.deadLetters.redriveAsNew(id);
   */
  async redriveAsNew(id: string, options: { payload?: unknown } = {}): Promise<RedriveAsNewReply> {
    checkText('job id', id);
    checkOptions('deadLetters.redriveAsNew', redriveSchema, options);
    const newId = this.queue.store.clock.randomId();
    const payload = await this.editedPayload(id, options.payload, undefined, newId);
    const redrive = () => this.queue.exec((calls) => calls.deadLetters.redriveAsNew(id, newId, payload));
    return this.queue.actionLog.record(onOne('redrive-as-new', 'job', id, `job ${newId}`), redrive, {
      count: ({ outcome }) => (outcome === 'redriven' ? 1 : 0),
    });
  }

  /** Returns a payload as JSON, checked as the job's handler will receive it; undefined without a payload. */
  private async editedPayload(
    id: string,
    payload: unknown,
    given: JobDefinition | undefined,
    ownerId = id,
  ): Promise<string | undefined> {
    if (payload === undefined) return undefined;
    const owner = { queue: this.queue.name, id: ownerId };
    const json = encodeContent('payload', payload, this.queue.options, owner);
    const name = given && (await this.get(id))?.name;
    if (given && name !== undefined && given.name !== name) {
      throw new InvalidOptionError('deadLetters.redrive', `the definition of ${show(name)}`, show(given.name));
    }
    const definition = given ?? (await handlerDefinition(this.queue, id));
    if (definition) {
      await checkPayload(definition, json, this.queue, ownerId);
    }
    await announceGiant(this.queue, json);
    return json;
  }

  /**
   * Makes several pending again, at most 1,000 in one call.
   *
   * @returns how many; an id without a dead letter does not count
   * @throws InvalidOptionError
   * @example await queue.deadLetters.redriveMany(jobs.map(({ id }) => id));
   */
  async redriveMany(ids: readonly string[]): Promise<number> {
    if (!Array.isArray(ids)) {
      throw new InvalidOptionError('ids', 'an array of job ids', show(ids));
    }
    checkCount('ids.length', ids.length, 0, LARGEST_PAGE);
    ids.forEach((id, i) => checkText(`ids[${i}]`, id));
    const action = onJobs('redrive', `${ids.length} chosen dead letters`);
    return this.record(action, () => this.queue.exec((calls) => calls.deadLetters.redrive(ids)));
  }

  /**
   * Makes all matching ones pending again, the oldest failure first, at most 100 in one step. Jobs that fail after the
   * start of the call are left alone.
   *
   * @param filter default: all
   * @returns how many
   * @throws InvalidOptionError
   */
  async redriveAll(filter: DeadLetterFilter = {}): Promise<number> {
    checkOptions('deadLetters.redriveAll', filterSchema, filter);
    return this.record(onJobs('redrive', 'all dead letters', filter), () =>
      this.each(filter, (letters) =>
        this.queue.exec((calls) => calls.deadLetters.redrive(letters.map(({ id }) => id))),
      ),
    );
  }

  /** Deletes one permanently. Returns false if there is no dead letter with that id. */
  async discard(id: string): Promise<boolean> {
    checkText('job id', id);
    const discard = () => this.queue.exec(({ deadLetters }) => deadLetters.discard([{ id }]));
    return (await this.record(onOne('discard', 'job', id), discard)) === 1;
  }

  /**
   * Deletes all matching ones permanently, at most 100 in one step. Jobs that fail after the start of the call are left
   * alone.
   *
   * @param filter default: all
   * @returns how many
   * @throws InvalidOptionError
   */
  async discardAll(filter: DeadLetterFilter = {}): Promise<number> {
    checkOptions('deadLetters.discardAll', filterSchema, filter);
    return this.record(onJobs('discard', 'all dead letters', filter), () =>
      this.each(filter, (letters) => this.queue.exec(({ deadLetters }) => deadLetters.discard(letters))),
    );
  }

  private record(action: NewAction, deed: () => Promise<number>): Promise<number> {
    return this.queue.actionLog.record(action, deed, { count: Number });
  }

  private async each(
    filter: DeadLetterFilter,
    change: (letters: { id: string; at: string }[]) => Promise<number>,
  ): Promise<number> {
    let query: DeadLetterQuery = { ...filter, order: 'oldest' };
    let total = 0;
    for (;;) {
      const { found, next, nowMs } = await this.queue.exec(({ deadLetters }) =>
        deadLetters.list(query, LOOKS, CHANGES, false),
      );
      total += found.length > 0 ? await change(found) : 0;
      if (!next) {
        return total;
      }
      query = { ...query, untilMs: query.untilMs ?? nowMs, place: next };
    }
  }
}
