import { z } from 'zod';
import type { Logged } from '../actions/action-log.js';
import { type NewAction, onJobs, onKind, onTarget } from '../actions/noted-action.js';
import { encodeContent } from '../codec/encode-content.js';
import type { Sealed } from '../codec/sealed.js';
import { announceGiant, checkPayload } from '../enqueue/encode-job.js';
import { type JobDefinition, type PayloadInput, isJobDefinition } from '../enqueue/define-job.js';
import { type EditedQueue, handlerDefinition } from '../enqueue/update-job.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import type { ActionName } from '../model/actions.js';
import { CRASHED, type JobRecord } from '../model/job.js';
import type { JobSource } from '../results/job-handle.js';
import { tryToDeliver } from '../operate/maintain-batches.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import type { SleepingQueue } from '../store/queue-store.js';
import type { StoreCalls } from '../store/store-calls.js';
import type { DeadLetterPlace, DeadLetterQuery, RedriveAsNewReply } from '../store/job-queries.js';
import { checkText } from '../validation/names.js';
import { duration, wholeNumber, flag } from '../validation/numbers.js';
import { checkCount, checkOptions } from '../validation/validate-options.js';
import { type ErrorKind, withSamples } from './error-kinds.js';

/** The most dead letters that one script call looks at, and the most that one changes. */
const LOOKS = 500;
const CHANGES = 100;

/** Returns an action on all that match. A text that was searched for may be of a person, so the log has none. */
function onMatching(action: ActionName, { error, ...filter }: DeadLetterFilter): NewAction {
  return onJobs(
    action,
    error === undefined ? 'all dead letters' : 'all dead letters with a text in their error',
    filter,
  );
}

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

/** How several dead letters are redriven. */
export interface RedriveOptions {
  /** The most to redrive, the oldest failure first, such as the first ten after a repair. @default all */
  limit?: number | undefined;
  /** The most per second. @default as fast as Redis takes them */
  perSecond?: number | undefined;
  /** True if each job runs alone in its worker, because it may kill it. A job that killed a worker before always runs alone. @default false */
  isolated?: boolean | undefined;
  /** True if dead letters that killed their workers are redriven too. @default false, unless the filter has a `kind` */
  crashed?: boolean | undefined;
}

/** Returns the filter of a redrive. It leaves out dead letters that killed their workers, unless they are asked for. */
export function redriveFilter(filter: DeadLetterFilter, crashed: boolean): DeadLetterFilter {
  return crashed || filter.kind !== undefined ? filter : { ...filter, kind: `!${CRASHED}` };
}

/** One page of dead letters. */
export interface DeadLetterPage {
  /** The latest failure first. */
  jobs: JobRecord[];
  /** The cursor of the next call; undefined when nothing is left. */
  cursor: string | undefined;
}

/** The queue that dead letters belong to. */
type DeadLetterQueue = SleepingQueue & Pick<JobSource, 'get'> & Logged & Pick<EditedQueue, 'definitionOf'>;

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
const kindSchema = z.strictObject({
  kind: text.max(64, 'expected the kind of an error').regex(/^\S+$/, 'expected the kind of an error'),
});
export const markFields = {
  known: flag.optional(),
  quietForMs: wholeNumber(1, 30 * 86_400_000, ' ms').optional(),
  note: text.max(500, 'expected text of 1 to 500 characters').optional(),
  by: text.max(200, 'expected text of 1 to 200 characters').optional(),
};
const markSchema = z.strictObject(markFields, {
  error: 'expected an object with known, quietForMs, note, by, or null',
});
const kindsSchema = z.strictObject({ lastMs: duration(1).optional() }, { error: 'expected an object with lastMs' });
const manySchema = z.strictObject(
  {
    limit: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
    perSecond: wholeNumber(1, 100_000).optional(),
    isolated: flag.optional(),
    crashed: flag.optional(),
  },
  { error: 'expected an object with limit, perSecond, isolated, crashed' },
);
const redriveSchema = z.strictObject(
  { payload: z.unknown().optional(), isolated: flag.optional() },
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
        deadLetters.list({ ...query, looks: LOOKS, most, withJobs: true }),
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
   * @param options.lastMs only kinds of which a job died within this time, in ms. Default: all
   * @throws InvalidOptionError
   * @example
   * const [worst] = await queue.deadLetters.kinds();
   * await queue.deadLetters.redriveAll({ kind: worst.kind });
   */
  async kinds(options: { lastMs?: number | undefined } = {}): Promise<ErrorKind[]> {
    const { lastMs = Infinity } = checkOptions('deadLetters.kinds', kindsSchema, options);
    const { nowMs, kinds } = await this.queue.exec(({ deadLetters }) => deadLetters.kinds());
    const meant = kinds.filter(({ lastAtMs }) => nowMs - lastAtMs <= lastMs);
    const queue: Parameters<typeof withSamples>[0] = {
      get: (id) => this.queue.get(id),
      list: (filter) => this.list(filter),
    };
    return withSamples(queue, { nowMs, kinds: meant });
  }

  /**
   * Says something of a kind of error, in place of what was said of it. `null` forgets it. The queue keeps it for 180 days
   * after the last call, of at most 200 kinds.
   *
   * @param mark.known no alert tells the kind until it comes again. It does so if a job dies of it after its last dead letter has gone
   * @param mark.quietForMs no alert tells the kind for this long, in ms; at most 30 days
   * @param mark.note a note for other people, of at most 500 characters
   * @param mark.by who says so, of at most 200 characters
   * @returns false if there was nothing to forget
   * @throws InvalidOptionError
   * @example await queue.deadLetters.markKind(worst.kind, { known: true, note: 'ticket 4711' });
   */
  async markKind(
    kind: string,
    mark: {
      known?: boolean | undefined;
      quietForMs?: number | undefined;
      note?: string | undefined;
      by?: string | undefined;
    } | null,
  ): Promise<boolean> {
    checkOptions('deadLetters.markKind', kindSchema, { kind });
    const said = mark && checkOptions('deadLetters.markKind', markSchema, mark);
    const { quietForMs = 0, ...words } = said ?? {};
    const change = () =>
      this.queue.exec((calls) => calls.deadLetters.markKind({ kind, words: said && words, quietForMs }));
    return this.queue.actionLog.record(onKind(kind, said), change, { count: Number });
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
   * @param options.isolated true if it runs alone in its worker. One that killed its workers always does
   * @returns false if there is no dead letter with that id
   * @throws InvalidPayloadError with the path of the fault, InvalidOptionError. Nothing was changed
   * @example await queue.deadLetters.redrive(id, { payload: { ...job.payload, to: 'ada@example.com' } });
   * @example await queue.deadLetters.redrive(SendEmail, id, { payload: { to: 'ada@example.com' } });
   */
  async redrive<Definition extends JobDefinition>(
    definition: Definition,
    id: string,
    options?: { payload?: PayloadInput<Definition> | undefined; isolated?: boolean | undefined },
  ): Promise<boolean>;
  /** Sends one back to work by its id. Its payload is checked by the definition of its handler, where this process has it. */
  async redrive(id: string, options?: { payload?: unknown; isolated?: boolean | undefined }): Promise<boolean>;
  async redrive(first: string | JobDefinition, ...rest: unknown[]): Promise<boolean> {
    const given = isJobDefinition(first) ? first : undefined;
    const [id, options = {}] = (given ? rest : [first, ...rest]) as [
      string,
      { payload?: unknown; isolated?: boolean }?,
    ];
    checkText('job id', id);
    checkOptions('deadLetters.redrive', redriveSchema, options);
    const payload = await this.editedPayload(id, options.payload, given);
    const action = onTarget('redrive', 'job', id, payload === undefined ? undefined : 'with another payload');
    return (
      (await this.record(action, () => this.redriveThese({ ids: [id], payload, isolated: options.isolated }))) === 1
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
    const redrive = () => this.queue.exec((calls) => calls.deadLetters.redriveAsNew({ id, newId, payload }));
    const other = { kind: 'job', id: newId } as const;
    return this.queue.actionLog.record({ ...onTarget('redrive-as-new', 'job', id), other }, redrive, {
      count: ({ outcome }) => (outcome === 'redriven' ? 1 : 0),
    });
  }

  /** Returns a payload as JSON, checked as the job's handler will receive it; undefined without a payload. */
  private async editedPayload(
    id: string,
    payload: unknown,
    given: JobDefinition | undefined,
    ownerId = id,
  ): Promise<Sealed | undefined> {
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
    return this.record(action, () => this.redriveThese({ ids }));
  }

  /** Redrives dead letters. Batches in other queues wait for them again once this resolves, or after the next maintenance. */
  private async redriveThese(asked: Parameters<StoreCalls['deadLetters']['redrive']>[0]): Promise<number> {
    const redriven = await this.queue.exec((calls) => calls.deadLetters.redrive(asked));
    await (redriven > 0 && tryToDeliver(this.queue));
    return redriven;
  }

  /**
   * Makes all matching ones pending again, the oldest failure first, at most 100 in one step. Jobs that fail after the
   * start of the call are left alone. So are those that killed their workers, unless they are asked for.
   *
   * @param filter default: all
   * @returns how many
   * @throws InvalidOptionError; QueueClosedError if the queue is closed between two steps of a `perSecond`
   * @example await queue.deadLetters.redriveAll({ kind }, { limit: 10 });
   */
  async redriveAll(filter: DeadLetterFilter = {}, options: RedriveOptions = {}): Promise<number> {
    checkOptions('deadLetters.redriveAll', filterSchema, filter);
    const {
      crashed = false,
      isolated,
      limit = Infinity,
      perSecond,
    } = checkOptions('deadLetters.redriveAll', manySchema, options);
    return this.record(onMatching('redrive', filter), () =>
      this.each(
        redriveFilter(filter, crashed),
        (letters) => this.redriveThese({ ids: letters.map(({ id }) => id), isolated }),
        { limit, perSecond },
      ),
    );
  }

  /** Deletes one permanently. Returns false if there is no dead letter with that id. */
  async discard(id: string): Promise<boolean> {
    checkText('job id', id);
    const discard = () => this.queue.exec(({ deadLetters }) => deadLetters.discard({ letters: [{ id }] }));
    return (await this.record(onTarget('discard', 'job', id), discard)) === 1;
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
    return this.record(onMatching('discard', filter), () =>
      this.each(filter, (letters) => this.queue.exec(({ deadLetters }) => deadLetters.discard({ letters }))),
    );
  }

  private record(action: NewAction, change: () => Promise<number>): Promise<number> {
    return this.queue.actionLog.record(action, change, { count: Number });
  }

  private async each(
    filter: DeadLetterFilter,
    change: (letters: { id: string; at: string }[]) => Promise<number>,
    { limit = Infinity, perSecond }: { limit?: number; perSecond?: number | undefined } = {},
  ): Promise<number> {
    let query: DeadLetterQuery = { ...filter, order: 'oldest' };
    let total = 0;
    for (;;) {
      const { found, next, nowMs } = await this.queue.exec(({ deadLetters }) =>
        deadLetters.list({
          ...query,
          looks: LOOKS,
          most: Math.min(CHANGES, limit - total, perSecond ?? CHANGES),
          withJobs: false,
        }),
      );
      total += found.length > 0 ? await change(found) : 0;
      if (!next || total >= limit) {
        return total;
      }
      if (perSecond !== undefined) {
        await this.queue.sleep((found.length / perSecond) * 1_000);
      }
      query = { ...query, untilMs: query.untilMs ?? nowMs, place: next };
    }
  }
}

/** Returns the place behind which a page of dead letters begins. */
function placeOf(cursor: string): DeadLetterPlace {
  const [, at, id] = /^(\d+)-(.+)$/s.exec(cursor) ?? [];
  if (at === undefined || id === undefined) {
    throw new InvalidOptionError('deadLetters.list.cursor', 'the cursor of a page', show(cursor));
  }
  return { at, id };
}
