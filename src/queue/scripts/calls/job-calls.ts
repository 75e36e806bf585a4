import { ALL_COMPLETED, type CompleteAnswer } from '../../store/complete-answer.js';
import { decodeClaim, decodeNamedClaim } from '../../replies/decode-job.js';
import type { ClaimAnswer, ClaimRequest, Completion, ExtendAnswer } from '../../store/store-calls.js';
import { decodeEnqueue, optionsOf, type EnqueueAnswer, type EncodedJob } from '../../store/enqueue-call.js';
import type { ClaimRef } from '../../model/job.js';
import type { StoredError } from '../../errors/stored-error.js';
import type { QueueKeys } from '../queue-keys.js';
import type { ResolvedQueueOptions } from '../../model/queue-options.js';
import { refusalOf } from '../../store/claim-refusal.js';
import type { ScriptArgument, ScriptCall } from '../../transport/script-runner.js';

/** The greatest age of an announcement of a live worker, in ms. */
export const WORKER_SEEN_MS = 30_000;

/** How long a silent worker is remembered, in ms. */
export const WORKER_FORGOTTEN_MS = 10 * WORKER_SEEN_MS;

/** How long an undeclared schedule is kept before it is removed, in ms. */
export const UNDECLARED_AGE_MS = 86_400_000;

/** How long a hash lives after its id left the history, in ms: long enough to read a result that was just announced. */
export const EVICTED_TTL_MS = 10_000;

/**
 * Builds the calls that every job passes, one method per script, with their own keys. The header of each script in `lua/`
 * has its contract.
 */
export class JobCalls {
  constructor(
    readonly keys: QueueKeys,
    readonly options: ResolvedQueueOptions,
  ) {}

  get key(): string {
    return this.keys.jobPrefix;
  }

  /**
   * Its `decode` throws a EnqueueRejected where the script wrote nothing.
   *
   * @param mayBeBounded whether plain jobs bring all keys too, since a bound may have been set at run time
   */
  enqueue(jobs: readonly EncodedJob[], mayBeBounded = false): ScriptCall<EnqueueAnswer[]> {
    const { maxPending, maxPendingBytes, events, eventExtras } = this.options;
    const told = eventExtras?.enqueued === true && events !== 'off';
    const isBounded = mayBeBounded || maxPending !== undefined || maxPendingBytes !== undefined;
    const plain = !isBounded && !told && jobs.every(({ options }) => options === '');
    return {
      script: 'jobEnqueue',
      keys: plain ? this.keys.forPlainEnqueue : told ? this.keys.forToldEnqueue : this.keys.forEnqueue,
      args: plain
        ? plainArguments(jobs)
        : [
            ...jobs.flatMap((job) => [job.id, job.name, job.payload, optionsOf(job)]),
            ...(isBounded || told ? [maxPending ?? '', maxPendingBytes ?? '', told ? events : 'off'] : []),
          ],
      ...(plain && { resend: (reply) => (isBoundedReply(reply) ? this.enqueue(jobs, true) : undefined) }),
      decode: (reply) => decodeEnqueue(jobs, (reply as (string | number)[] | null) ?? []),
    };
  }

  claim(request: ClaimRequest): ScriptCall<ClaimAnswer> {
    const { count, token, worker, stream, slots, mostBytes, only } = request;
    const attemptLimits = only?.limits ?? request.attemptLimits ?? [];
    const { visibilityMs, maxAttempts } = this.options;
    const settings = [count, visibilityMs, token, worker, maxAttempts, slots ?? '', mostBytes ?? ''];
    const maxAttemptsOf = (name: string) =>
      attemptLimits.find((limit) => limit.name === name)?.maxAttempts ?? maxAttempts;
    const claimer = `${worker}:${stream}`;
    const { queue } = this.keys;
    const args = [
      ...settings,
      ...(only ? [only.cursor, this.options.unhandledAgeMs, WORKER_SEEN_MS] : []),
      ...attemptLimits.flatMap((limit) => [limit.name, limit.maxAttempts]),
    ];
    return only
      ? {
          script: 'attemptClaim',
          keys: this.keys.forNamedClaim(claimer),
          args,
          decode: (reply) => decodeNamedClaim(reply, queue, token, maxAttemptsOf),
        }
      : {
          script: 'attemptClaim',
          keys: this.keys.forClaim(claimer),
          args,
          decode: (reply) => decodeClaim(reply, queue, token, maxAttemptsOf),
        };
  }

  /** Extends the claims of one request whose reply is still in flight. Returns how many there are. */
  extendBatch({ worker, stream, token }: Pick<ClaimRequest, 'worker' | 'stream' | 'token'>): ScriptCall<number> {
    return {
      script: 'attemptExtendBatch',
      keys: this.keys.forExtendBatch(`${worker}:${stream}`),
      args: [this.options.visibilityMs, token],
      decode: Number,
    };
  }

  /** Starts a job that waited in its worker. Returns that it may start, or why not. */
  start({ id, token }: Pick<ClaimRef, 'id' | 'token'>): ScriptCall<'started' | 'lost' | StoredError> {
    return {
      script: 'attemptStart',
      keys: this.keys.forStart,
      args: [id, token],
      decode: (reply) => refusalOf(String(reply)) ?? (Number(reply) === 1 ? 'started' : 'lost'),
    };
  }

  /**
   * Completes claims.
   *
   * @param isLimited whether the queue has limits, so that each freed slot wakes a worker
   */
  complete(completions: readonly Completion[], isLimited = false): ScriptCall<CompleteAnswer> {
    const { completedHistory, resultTtlMs } = this.options;
    return {
      script: 'attemptComplete',
      keys: this.completionKeys(completions, isLimited),
      args: [
        completedHistory,
        EVICTED_TTL_MS,
        publishArg(this.options),
        resultTtlMs,
        ...completionArguments(completions),
      ],
      decode: (reply) => (reply ? completeAnswer(reply as number[]) : ALL_COMPLETED),
    };
  }

  private completionKeys(completions: readonly Completion[], isLimited: boolean): readonly string[] {
    if (completions.some(({ plain }) => !plain)) {
      return this.keys.forFollowedComplete;
    }
    return isLimited ? this.keys.forLimitedComplete : this.keys.forComplete;
  }

  /** Returns only the claims that need attention. */
  extend(
    claims: readonly Pick<ClaimRef, 'id' | 'token'>[],
    visibilityMs = this.options.visibilityMs,
  ): ScriptCall<ExtendAnswer> {
    return {
      script: 'attemptExtend',
      keys: this.keys.forExtend,
      args: [visibilityMs, ...claims.flatMap(({ id, token }) => [id, token])],
      decode: (reply) => {
        const notices = reply as string[];
        const ids = (notice: string) => notices.filter((_, i) => notices[i + 1] === notice && i % 2 === 0);
        return { lost: ids('lost'), cancelRequested: ids('cancel') };
      },
    };
  }
}

/** Returns true if plain jobs met a bound that was set at run time, so that nothing was written. */
function isBoundedReply(reply: unknown): boolean {
  return Array.isArray(reply) && String(reply[0]) === 'bounded';
}

/** Returns when events are published, and whether with results; see lua/lib/core/events.lua. */
export function publishArg({ events, eventExtras }: ResolvedQueueOptions): string {
  return eventExtras?.results && events !== 'off' ? `${events}+results` : events;
}

/** Jobs of one name share it, and jobs with metadata share that too. */
function plainArguments(jobs: readonly EncodedJob[]): ScriptArgument[] {
  return inGroups(jobs, {
    areTogether: (a, b) => a.name === b.name && a.plainOptions === b.plainOptions,
    addHead: (args, { name, plainOptions }, count) => args.push(name, plainOptions === undefined ? count : -count),
    addOwn: (args, { id, payload }) => args.push(id, payload),
    addTail: (args, { plainOptions }) => plainOptions !== undefined && args.push(plainOptions),
  });
}

/** Jobs of one claim share its token, and most of them their ending. */
function completionArguments(completions: readonly Completion[]): ScriptArgument[] {
  return inGroups(completions, {
    areTogether: (a, b) => a.token === b.token && a.plain === b.plain && a.resultTtlMs === b.resultTtlMs,
    addHead: (args, completion, count) => args.push(completion.token, endingOf(completion), count),
    addOwn: (args, { id, fence, result }) => args.push(id, fence, result),
  });
}

/** How to write consecutive items that share a value. */
interface Grouping<Item> {
  areTogether: (a: Item, b: Item) => boolean;
  /** Writes the shared value and the number of items. */
  addHead: (args: ScriptArgument[], item: Item, count: number) => void;
  addOwn: (args: ScriptArgument[], item: Item) => void;
  addTail?: (args: ScriptArgument[], item: Item) => void;
}

function inGroups<Item>(
  items: readonly Item[],
  { areTogether, addHead, addOwn, addTail }: Grouping<Item>,
): ScriptArgument[] {
  const args: ScriptArgument[] = [];
  let start = 0;
  while (start < items.length) {
    const first = items[start]!;
    let end = start + 1;
    while (end < items.length && areTogether(first, items[end]!)) {
      end++;
    }
    addHead(args, first, end - start);
    for (let i = start; i < end; i++) {
      addOwn(args, items[i]!);
    }
    addTail?.(args, first);
    start = end;
  }
  return args;
}

function completeAnswer(positions: readonly number[]): CompleteAnswer {
  return {
    lost: positions.flatMap((position) => (position > 0 ? position - 1 : [])),
    followed: positions.flatMap((position) => (position < 0 ? -position - 1 : [])),
  };
}

function endingOf({ plain = false, resultTtlMs }: Completion): string {
  if (resultTtlMs === undefined) {
    return plain ? '1' : '';
  }
  return JSON.stringify({ plain, result_ttl_ms: resultTtlMs });
}
