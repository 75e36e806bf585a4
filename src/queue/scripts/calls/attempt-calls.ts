import { errorFingerprint } from '../../errors/error-kind.js';
import { exhaustedError } from '../../errors/exhausted-errors.js';
import type { ClaimRef } from '../../model/job.js';
import { attemptsByHand, type ResolvedQueueOptions } from '../../model/queue-options.js';
import { UnexpectedReply } from '../../store/unexpected-reply.js';
import { flagOf, listOf, oneOf, oneOfEach, wholeNumberOf } from '../../replies/check-reply.js';
import { decodeStepsReply } from '../../replies/decode-steps.js';
import {
  MOST_BYTES_OF_STEPS,
  MOST_STEPS,
  STEP_OUTCOMES,
  type StepOutcome,
  type StoredStep,
} from '../../model/step.js';
import { decodeClaim, decodeNamedClaim } from '../../replies/decode-claim.js';
import type { StartOutcome } from '../../store/call-outcomes.js';
import { USUAL_PAYLOAD_BYTES } from '../../store/claim-refusal.js';
import { decodeRefusal } from '../../replies/decode-refusal.js';
import { ALL_COMPLETED, type CompleteReply } from '../../store/complete-reply.js';
import type { StoreCalls } from '../../store/store-calls.js';
import type { Completion, Release } from '../../store/attempt-forms.js';
import type { ScriptArgument, ScriptCall } from '../../transport/script-runner.js';
import { EVICTED_TTL_MS, RUN_KEPT_MS, USUAL_VISIBILITY_MS, WORKER_SEEN_MS } from '../../runtime/lifetimes.js';
import { configuresLimits } from '../../model/limits.js';
import type { QueueKeys } from '../queue-keys.js';
import { type CallContext, call } from '../script-call.js';
import { inGroups } from '../in-groups.js';
import { SCHEDULE_PREFIX } from '../../validation/names.js';

/** Returns the calls of `lua/attempt`, one for each script; see StoreCalls and the headers there. */
export function attemptCalls({ keys, options, published, retention }: CallContext) {
  return {
    claim(request) {
      const { count, token, worker, stream, slots, mostBytes, only, announces, turnsInRow = 1 } = request;
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
        slots === undefined || turnsInRow === 1 ? (slots ?? '') : `${slots}:${turnsInRow}`,
        mostBytes ?? '',
        announces ? (configuresLimits(options) ? '1' : '0') : '',
        // A worker announces these. A claim by hand notes what a sweep or a worker could not expect.
        slots !== undefined || isUsual ? '' : maxPayloadBytes,
        ...(only ? [only.cursor, options.unhandledAgeMs, WORKER_SEEN_MS] : []),
        ...attemptLimits.flatMap((limit) => [limit.name, limit.maxAttempts]),
      ];
      const maxAttemptsOf = (name: string) =>
        attemptLimits.find((limit) => limit.name === name)?.maxAttempts ?? maxAttempts;
      const claimer = `${worker}:${stream}`;
      const [claimKeys, decode] = only
        ? [keys.forNamedClaim(claimer), decodeNamedClaim]
        : [keys.forClaim(claimer), decodeClaim];
      return call('attemptClaim', claimKeys, args, (reply) => decode(reply, keys.queue, token, maxAttemptsOf));
    },

    extendBatch: ({ worker, stream, token }) =>
      call(
        'attemptExtendBatch',
        keys.forExtendBatch(`${worker}:${stream}`),
        [options.visibilityMs, token],
        wholeNumberOf,
      ),

    start(claims) {
      const args = claims.flatMap(({ id, token, fence, expires, isolated, uncharged }) => [
        id,
        token,
        fence,
        uncharged ? 'uncharged' : expires || isolated ? '1' : '',
      ]);
      return call('attemptStart', keys.forStart, args, (reply) => startOutcomes(reply, claims.length));
    },

    noteDeath: (claims, error) =>
      call('attemptNoteDeath', keys.forStart, [error, ...claimArguments(claims)], wholeNumberOf),

    complete(completions, isLimited = false) {
      const { completedHistory, resultTtlMs, rememberedIds } = options;
      const limits = [completedHistory, EVICTED_TTL_MS, published, resultTtlMs, rememberedIds];
      const args = [...limits, ...completionArguments(completions, resultTtlMs)];
      return call('attemptComplete', completionKeys(keys, completions, isLimited), args, (reply) =>
        reply ? completeReply(listOf(reply), completions.length) : ALL_COMPLETED,
      );
    },

    extend: (claims, visibilityMs = options.visibilityMs) =>
      call('attemptExtend', keys.forExtend, [visibilityMs, ...claimArguments(claims)], (reply) => {
        const notices = listOf(reply);
        oneOfEach(notices.length / 2, 'lost', 'cancel')(notices.filter((_, i) => i % 2 === 1));
        const ids = (notice: string) =>
          notices.filter((_, i) => notices[i + 1] === notice && i % 2 === 0) as string[];
        return { lost: ids('lost'), cancelRequested: ids('cancel') };
      }),

    fail(failures) {
      const args = failures.flatMap(({ id, token, fence, error, kind, final, backoffMs, begun }) => [
        id,
        token,
        fence,
        error.message,
        JSON.stringify(error),
        final ? '1' : '0',
        backoffMs,
        begun ? '1' : '',
        kind ?? errorFingerprint(error),
      ]);
      const decode = oneOfEach(failures.length, 'retry', 'failed', 'cancelled', 'lost');
      return call('attemptFail', keys.standard, [...retention, ...args], decode);
    },

    release(releases) {
      const args = releases.flatMap((each) => [
        each.id,
        each.token,
        each.fence,
        each.reason,
        each.delayMs,
        each.reason === 'unhandled' ? (each.name ?? '') : '',
        each.unstarted ? '1' : '',
        ...boundArguments(each, options),
      ]);
      const decode = oneOfEach(releases.length, 'released', 'failed', 'cancelled', 'lost');
      return call('attemptRelease', keys.standard, [...retention, ...args], decode);
    },

    setName({ id, token, name, options: { maxAttempts, backoff } }) {
      const retries = JSON.stringify({ maxAttempts, backoff });
      const args = [id, token, name, retries === '{}' ? '' : retries, maxAttempts ?? ''];
      return call('attemptSetName', keys.standard, args, flagOf);
    },

    progress: ({ id, token }, progress) =>
      call('attemptProgress', keys.standard, [id, token, progress, options.events], flagOf),

    checkpoint: ({ id, token }, checkpoint) =>
      call('attemptCheckpoint', keys.standard, [id, token, checkpoint], flagOf),

    step: ({ id, token }, step?): ScriptCall<StepOutcome | StoredStep[]> =>
      step
        ? call(
            'attemptStep',
            keys.standard,
            [id, token, step.name, step.result, MOST_STEPS, MOST_BYTES_OF_STEPS],
            oneOf(...STEP_OUTCOMES),
          )
        : call('attemptStep', keys.standard, [id, token], (reply) =>
            reply === 'lost' ? 'lost' : decodeStepsReply(reply),
          ),

    log: ({ id, token }, keep, lines) => call('attemptLog', keys.standard, [id, token, keep, ...lines], flagOf),
  } satisfies Partial<StoreCalls>;
}

function claimArguments(claims: readonly Pick<ClaimRef, 'id' | 'token'>[]): string[] {
  return claims.flatMap(({ id, token }) => [id, token]);
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
