// The verbs of attempts: the scripts of lua/attempt. Those of each job are packed for speed, and written by hand.
import type { Sealed } from '../codec/sealed.js';
import { errorFingerprint } from '../errors/error-kind.js';
import { exhaustedError } from '../errors/errors.js';
import type { ClaimRef, ClaimedJob } from '../model/job.js';
import { configuresLimits } from '../model/limits.js';
import { attemptsByHand, type ResolvedQueueOptions } from '../model/queue-options.js';
import {
  MOST_BYTES_OF_STEPS,
  MOST_STEPS,
  STEP_OUTCOMES,
  type StepOutcome,
  type StoredStep,
} from '../model/step.js';
import { type JobWait, MOST_WAITS } from '../model/signal.js';
import { flagOf, listOf, oneOf, oneOfEach, wholeNumberOf } from '../replies/check-reply.js';
import { decodeClaim, decodeNamedClaim, decodeRefusal } from '../replies/decode-claim.js';
import { decodeStepsReply, decodeWaitReply } from '../replies/decode-job.js';
import { EVICTED_TTL_MS, RUN_KEPT_MS, USUAL_VISIBILITY_MS, WORKER_SEEN_MS } from '../runtime/lifetimes.js';
import { inGroups } from '../scripts/in-groups.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import type { CallContext } from '../scripts/script-call.js';
import {
  type ClaimReply,
  type ClaimRequest,
  type Completion,
  type Failure,
  type Release,
  type StartedClaim,
  ALL_COMPLETED,
  type CompleteReply,
} from '../store/attempt-forms.js';
import type { StartOutcome } from '../store/call-outcomes.js';
import { USUAL_PAYLOAD_BYTES } from '../store/claim-refusal.js';
import { UnexpectedReply } from '../store/store-call.js';
import type { ScriptArgument, ScriptCall } from '../transport/script-runner.js';
import { SCHEDULE_PREFIX } from '../validation/names.js';
import { by, byHand, each, fields, inKey, number, optional, own, sealed, text, verb, word } from './verb.js';

/** A claim as most verbs take it. */
type ClaimToken = Pick<ClaimRef, 'id' | 'token'>;

const PLAIN_CLAIM = { id: true, token: true } as const;
const claim = fields({ id: text, token: text });
const events = own((context) => context.options.events);

export const ATTEMPT = {
  /** Claims jobs. With `units` it is `attemptClaimLimited`, which takes jobs while these last. */
  claim: byHand(
    'attemptClaim',
    (context) => (request: ClaimRequest) => claimCall(context, request),
    { token: true, worker: true, stream: true, name: true, units: true },
    'same',
  ),

  /** Extends the claims of one request whose reply is still in flight. Returns how many there are. */
  extendBatch: verb('attemptExtendBatch', {
    keys: (keys, { worker, stream }) => keys.forExtendBatch(`${worker}:${stream}`),
    args: {
      visibilityMs: own((context) => context.options.visibilityMs),
      token: text,
      worker: inKey,
      stream: inKey,
    },
    reply: wholeNumberOf,
  }),

  /** Starts jobs that waited in their worker. */
  start: verb('attemptStart', {
    keys: (keys) => keys.forStart,
    args: by(
      (claims: readonly StartedClaim[]) =>
        claims.flatMap(({ id, token, fence, expires, isolated, uncharged }) => [
          id,
          token,
          fence,
          uncharged ? 'uncharged' : expires || isolated ? '1' : '',
        ]),
      PLAIN_CLAIM,
    ),
    repeat: 'same',
    reply: (reply, claims) => startOutcomes(reply, claims.length),
  }),

  /**
   * Notes an uncaught error of the process, for the text of the crashes if these claims expire. Returns how many are
   * current.
   */
  noteDeath: verb('attemptNoteDeath', {
    keys: (keys) => keys.forStart,
    args: { error: sealed, claims: each(claim) },
    reply: wholeNumberOf,
  }),

  /** Returns only the claims that need attention. @param visibilityMs default: the queue's */
  extend: byHand(
    'attemptExtend',
    ({ keys, options }) =>
      (claims: readonly ClaimToken[], visibilityMs: number = options.visibilityMs) => ({
        script: 'attemptExtend',
        keys: keys.forExtend,
        args: [visibilityMs, ...claims.flatMap(({ id, token }) => [id, token])],
        decode: decodeExtended,
      }),
    PLAIN_CLAIM,
  ),

  /** Returns for each running job the newer job that asked it to stop; '' for any other cancel. */
  supersededBy: verb('attemptSupersededBy', {
    keys: (keys) => keys.forStart,
    args: each(text),
    reply: (reply) => listOf(reply).map(String),
  }),

  /**
   * Returns the positions, from 0, of the lost claims.
   *
   * @param isLimited whether the queue has limits, so that each freed slot wakes a worker
   */
  complete: byHand(
    'attemptComplete',
    (context) => (completions: readonly Completion[], isLimited?: boolean) =>
      completeCall(context, completions, isLimited),
    PLAIN_CLAIM,
    'same',
  ),

  fail: verb('attemptFail', {
    args: by(
      (failures: readonly Failure[], context: CallContext) => [
        ...context.retention,
        ...failures.flatMap(failureArguments),
      ],
      { ...PLAIN_CLAIM, kind: true },
    ),
    repeat: 'same',
    reply: (reply, failures) => oneOfEach(failures.length, 'retry', 'failed', 'cancelled', 'lost')(reply),
  }),

  release: verb('attemptRelease', {
    args: by(
      (releases: readonly Release[], context: CallContext) => [
        ...context.retention,
        ...releases.flatMap((release) => releaseArguments(release, context.options)),
      ],
      { ...PLAIN_CLAIM, name: true, message: true }, // the message of a refusal by this library
    ),
    repeat: 'same',
    reply: (reply, releases) => oneOfEach(releases.length, 'released', 'failed', 'cancelled', 'lost')(reply),
  }),

  /**
   * Writes the name of a job without a stored one. Writes also its retries that neither its handler nor its queue sets.
   * Returns whether the name was written.
   */
  setName: verb('attemptSetName', {
    args: by(
      ({
        id,
        token,
        name,
        options: { maxAttempts, backoff },
      }: Pick<ClaimedJob, 'id' | 'token' | 'name' | 'options'>) => {
        const retries = JSON.stringify({ maxAttempts, backoff });
        return [id, token, name, retries === '{}' ? '' : retries, maxAttempts ?? ''];
      },
      { ...PLAIN_CLAIM, name: true, metadata: true, member: true, batch: true, group: true, payloadId: true },
    ),
    reply: flagOf,
  }),

  /** Returns whether the claim was current. */
  progress: verb('attemptProgress', { args: { claim, progress: sealed, events }, reply: flagOf }),

  /** Stores the checkpoint for the next attempt. Returns whether the claim was current. */
  checkpoint: verb('attemptCheckpoint', { args: { claim, checkpoint: sealed }, repeat: 'same', reply: flagOf }),

  /** Records a step; without one returns the recorded steps. */
  step: verb('attemptStep', {
    args: {
      claim,
      step: optional(
        by(
          ({ name, result }: { name: string; result: Sealed | '' }) => [
            name,
            result,
            MOST_STEPS,
            MOST_BYTES_OF_STEPS,
          ],
          { name: true },
        ),
        [],
      ),
    },
    reply: (reply, { step }): StepOutcome | StoredStep[] =>
      step ? RECORDED(reply) : reply === 'lost' ? 'lost' : decodeStepsReply(reply),
  }),

  /** Notes that the job waits for a signal or sleeps, or returns how that ended. */
  wait: verb('attemptWait', {
    args: {
      claim,
      name: text,
      kind: word<JobWait['kind']>(),
      timeoutMs: optional(number),
      most: own(() => MOST_WAITS),
    },
    reply: decodeWaitReply,
  }),

  /** Returns whether the claim was current. */
  log: verb('attemptLog', { args: { claim, keep: number, lines: each(sealed) }, reply: flagOf }),
};

const RECORDED = oneOf(...STEP_OUTCOMES);

function claimCall({ keys, options }: CallContext, request: ClaimRequest): ScriptCall<ClaimReply> {
  const { count, token, worker, stream, slots, mostBytes, only, announces, units } = request;
  const { turnsInRow = 1, waits = 0 } = request;
  const attemptLimits = only?.limits ?? request.attemptLimits ?? [];
  const { visibilityMs, maxPayloadBytes } = options;
  const { maxAttempts = attemptsByHand(options) } = request;
  const isUsual = visibilityMs <= USUAL_VISIBILITY_MS && maxPayloadBytes <= USUAL_PAYLOAD_BYTES;
  const args = [
    count,
    visibilityMs,
    token,
    worker,
    maxAttempts,
    slots === undefined || (turnsInRow === 1 && waits === 0) ? (slots ?? '') : [slots, turnsInRow, waits].join(':'),
    mostBytes ?? '',
    announces ? (configuresLimits(options) ? '1' : '0') : '',
    // A worker announces these. A claim by hand notes what a sweep or a worker could not expect.
    slots !== undefined || isUsual ? '' : maxPayloadBytes,
    ...(only ? [only.cursor, options.unhandledAgeMs, WORKER_SEEN_MS] : []),
    ...attemptLimits.flatMap((limit) => [limit.name, limit.maxAttempts]),
    ...(units ? [JSON.stringify(units)] : []),
  ];
  const maxAttemptsOf = (name: string) =>
    attemptLimits.find((limit) => limit.name === name)?.maxAttempts ?? maxAttempts;
  const claimer = `${worker}:${stream}`;
  const [claimKeys, decode] = only
    ? [keys.forNamedClaim(claimer), decodeNamedClaim]
    : [keys.forClaim(claimer), decodeClaim];
  return {
    script: units ? 'attemptClaimLimited' : 'attemptClaim',
    keys: claimKeys,
    args,
    decode: (reply) => decode(reply, keys.queue, token, maxAttemptsOf),
  };
}

function decodeExtended(reply: unknown): { lost: string[]; cancelRequested: string[] } {
  const notices = listOf(reply);
  oneOfEach(notices.length / 2, 'lost', 'cancel')(notices.filter((_, i) => i % 2 === 1));
  const ids = (notice: string) => notices.filter((_, i) => notices[i + 1] === notice && i % 2 === 0) as string[];
  return { lost: ids('lost'), cancelRequested: ids('cancel') };
}

function completeCall(
  { keys, options, published }: CallContext,
  completions: readonly Completion[],
  isLimited = false,
): ScriptCall<CompleteReply> {
  const { completedHistory, resultTtlMs, rememberedIds } = options;
  return {
    script: 'attemptComplete',
    keys: completionKeys(keys, completions, isLimited),
    args: [
      completedHistory,
      EVICTED_TTL_MS,
      published,
      resultTtlMs,
      rememberedIds,
      ...completionArguments(completions, resultTtlMs),
    ],
    decode: (reply) => (reply ? completeReply(listOf(reply), completions.length) : ALL_COMPLETED),
  };
}

function failureArguments(failure: Failure): ScriptArgument[] {
  const { id, token, fence, error, kind, final, backoffMs, begun } = failure;
  return [
    id,
    token,
    fence,
    error.message,
    JSON.stringify(error),
    final ? '1' : '0',
    backoffMs,
    begun ? '1' : '',
    kind ?? errorFingerprint(error),
  ];
}

function releaseArguments(release: Release, options: ResolvedQueueOptions): ScriptArgument[] {
  const { id, token, fence, reason, delayMs, name = '', unstarted } = release;
  return [
    id,
    token,
    fence,
    reason,
    delayMs,
    reason === 'unhandled' ? name : '',
    unstarted ? '1' : '',
    ...boundArguments(release, options),
  ];
}

/** Returns how often a job may be released for this reason, and the error of a job beyond that. An outage has its error. */
function boundArguments(release: Release, options: ResolvedQueueOptions): [number | '', string, string] {
  const { id, reason, error } = release;
  if (error) {
    return ['', '', JSON.stringify(error)];
  }
  if (reason !== 'rate_limited' && reason !== 'snooze') {
    return ['', '', ''];
  }
  const { most = reason === 'snooze' ? options.maxSnoozes : options.maxRateLimitRetries } = release;
  const { name, message } = exhaustedError(reason, id, most);
  return [most, message, JSON.stringify({ name, message })];
}

function completionKeys(
  keys: QueueKeys,
  completions: readonly Completion[],
  isLimited: boolean,
): readonly string[] {
  if (completions.some(({ plain }) => plain !== true)) {
    return keys.forFollowedComplete;
  }
  return isLimited ? keys.forLimitedComplete : keys.forComplete;
}

/**
 * Returns the arguments of completions. Jobs of one claim share its token, and most of them their ending.
 *
 * @param completions may be attempts, whose fields are getters: a copy by `...` has none of them
 */
function completionArguments(completions: readonly Completion[], queueTtlMs: number): ScriptArgument[] {
  const ttlOf = (completion: Completion) => ownTtlOf(completion, queueTtlMs);
  return inGroups(completions, {
    areTogether: (a, b) => a.token === b.token && a.plain === b.plain && ttlOf(a) === ttlOf(b),
    addHead: (args, first, count) => args.push(first.token, endingOf(first.plain, ttlOf(first)), count),
    addOwn: (args, { id, fence, result }) => args.push(id, fence, result),
  });
}

/** Returns the lifetime that is not the queue's. A run of a schedule is kept until a worker has noted its end. */
function ownTtlOf({ id, resultTtlMs }: Completion, queueTtlMs: number): number | undefined {
  return (resultTtlMs ?? queueTtlMs) < RUN_KEPT_MS && id.startsWith(SCHEDULE_PREFIX) ? RUN_KEPT_MS : resultTtlMs;
}

function completeReply(reply: readonly unknown[], count: number): CompleteReply {
  const positions = reply.map(wholeNumberOf);
  const wrong = positions.find((position) => Math.abs(position) > count);
  if (wrong !== undefined) {
    throw new UnexpectedReply(`positions up to ${count}`, wrong);
  }
  return {
    ...(positions.includes(0) && { hasEnds: true }),
    lost: positions.flatMap((position) => (position > 0 ? position - 1 : [])),
    followed: positions.flatMap((position) => (position < 0 ? -position - 1 : [])),
  };
}

/** Decodes the reply of starts: 1 if all started, else the outcome of each. */
function startOutcomes(reply: unknown, count: number): StartOutcome[] {
  const outcomes = Array.isArray(reply) ? reply : Array<number>(count).fill(wholeNumberOf(reply));
  if (outcomes.length !== count) {
    throw new UnexpectedReply(`the outcomes of ${count} starts`, reply);
  }
  return outcomes.map(
    (outcome) => decodeRefusal(String(outcome)) ?? (wholeNumberOf(outcome) === 1 ? 'started' : 'lost'),
  );
}

function endingOf(plain: Completion['plain'], resultTtlMs: number | undefined): string {
  if (resultTtlMs !== undefined) {
    return JSON.stringify({
      plain: plain === true,
      ...(plain === 'own' && { own: true }),
      result_ttl_ms: resultTtlMs,
    });
  }
  return typeof plain === 'string' ? plain : plain ? 'plain' : '';
}
