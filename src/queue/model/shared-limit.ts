import { z } from 'zod';
import { own, withoutUndefined } from '../runtime/collections.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { numberOrRange, wholeNumber } from '../validation/numbers.js';
import { nearest } from '../validation/suggest.js';
import { isLimitName, OWN_LIMIT, QUEUE_NAME_RULE } from '../validation/names.js';
import { maxRunningAndRate, type RateLimit, ratesField, ratesOf, withNames } from './limits.js';

/** A queue that leads to a limit, where no other is known. No key of it is read or written. */
export const ANY_QUEUE = 'limits';

/** The most keys that the state of a limit lists. */
export const MOST_LISTED_KEYS = 100;

/** The largest cost of a job. */
const MOST_COST = 1_000_000;
/** The most limits of a queue. A claim asks each. */
const MOST_OF_QUEUE = 8;

/** The values of a limit that queues share. They hold for all workers of all these queues together. */
export interface SharedLimitValues {
  /** The most jobs that run at once. Absent: without a limit. */
  maxRunning?: number | undefined;
  /** The most jobs that start in a period, or several such rates, which all hold. Absent: without a limit. */
  rateLimit?: RateLimit | readonly RateLimit[] | undefined;
}

/** Changes of a limit that queues share: null removes a value, and an omitted value stays as it is. */
export type SharedLimitChanges = { [Value in keyof SharedLimitValues]: SharedLimitValues[Value] | null };

/** A limit that a queue shares with others, with what each of its jobs costs. */
export interface SharedLimitUse {
  /** The name of the limit. */
  limit: string;
  /**
   * The number of starts that each job counts as in the rates of the limit, at most their burst. With a range,
   * `{ default: 1, most: 20 }`, each enqueue says its number by `limitCosts`.
   * @default 1
   */
  cost?: number | CostRange | undefined;
  /**
   * `'group'` if each group has the limit for itself, over all queues that name it so. A job without a group is not limited.
   * @default one limit for all jobs
   */
  key?: 'group' | undefined;
}

/** What the jobs of a queue cost of a limit, if each enqueue says it. */
export interface CostRange {
  /** What a job costs whose enqueue does not say it. @default 1 */
  default?: number | undefined;
  /** The most that a job costs, at most the burst of each rate of the limit. */
  most: number;
}

/** A limit of which each job of a queue needs a permit. */
export interface PermitNeed {
  readonly limit: string;
  /** What a job costs of the rates, unless its enqueue says it. */
  readonly cost: number;
  /** The most that an enqueue may say. Absent: its jobs have no costs of their own. */
  readonly most?: number;
  /** Set if each group has permits of its own. They are leased after the claim. */
  readonly key?: 'group';
}

/** What applies to each key of a limit. */
export interface KeyRules {
  /** The values; undefined if no app has declared any. */
  readonly values: SharedLimitValues | undefined;
  /** For how long no job of any key may start, in ms; undefined if one may. */
  readonly heldMs: number | undefined;
}

/** A worker that holds permits of a limit. */
export interface PermitHolder {
  /** The name of the queue. */
  queue: string;
  /** The id of the worker. */
  worker: string;
  /** The jobs of the queue that run there. */
  permits: number;
}

/** The keys of a limit for which jobs wait, by what they wait for. */
export interface WaitingKeys {
  /** As many jobs run as may, or the rate is used up. */
  full: number;
  /** The key is paused, or rests since a handler threw a RateLimitedError. */
  closed: number;
}

/** A limit that queues share, as it holds now. */
export interface SharedLimitState extends SharedLimitValues {
  /** The name of the limit. */
  name: string;
  /** The key of which this is the state. Absent for the limit itself. */
  key?: string;
  /** All its rates. */
  rateLimit: readonly RateLimit[];
  /** The origin of the values: `set` at run time, `configuration` of an app, or `none`. */
  source: 'set' | 'configuration' | 'none';
  /** The values of the code while others are set at run time. Absent: no app has declared them. */
  configured?: SharedLimitValues;
  /** The number of jobs that run. */
  running: number;
  /** The workers that run them, for at most 10,000 jobs. */
  holders: readonly PermitHolder[];
  /** The queues with jobs that wait for it, the first first. */
  waiting: readonly string[];
  /** The queues that use it: a worker of each began with it in the last 30 days. */
  queues: readonly string[];
  /** The keys that were used in the last day, the last first, at most 100. Absent if no queue used it with a key. */
  keys?: readonly string[];
  /** The number of its keys for which jobs waited in the last seconds. Absent if no queue used it with a key. */
  waitingKeys?: WaitingKeys;
  /** The time when the rates let the next job start. Absent: now. */
  nextStartAt?: Date;
  /** The end of its rest, since a handler threw a RateLimitedError. Absent: it does not rest. */
  restsUntil?: Date;
  /** The time of its pause. Absent: it is not paused. */
  pausedAt?: Date;
  /** The end of the pause. Absent: until somebody resumes it. */
  pausedUntil?: Date;
  /** Who paused it, if the pause says so. */
  pausedBy?: string;
  /** Why, if the pause says so. */
  pauseReason?: string;
}

/** The permits that a limit leased to a claim. */
export interface Lease {
  readonly granted: number;
  /** The ms until more may be leased; undefined if no time is known. */
  readonly waitMs: number | undefined;
  /** Why there are no more; '' if there are as many as asked for. */
  readonly why: string;
  /** The version of the values, for a refund. */
  readonly version: string;
  /** The waiting queues whose turn it is. */
  readonly toWake: readonly string[];
  /** The smallest burst of its rates, if the cost of a permit is above it. */
  readonly burst?: number;
  /** What each permit cost of the rates. */
  readonly cost: number;
}

/** Returns the limits that workers announce, each once. Other text of a record is left out. */
export function announcedLimits(workers: readonly { limits?: string[] }[]): string[] {
  return [...new Set(workers.flatMap(({ limits = [] }) => limits))].filter(isLimitName);
}

/** Returns the costs above one that workers announce for their jobs, by limit, the largest of each. */
export function announcedCosts(
  workers: readonly { limitCosts?: Record<string, number> }[],
): Record<string, number> {
  const costs = workers.flatMap(({ limitCosts = {} }) => Object.entries(limitCosts));
  return Object.fromEntries(costs.toSorted(([, a], [, b]) => a - b)); // the last of a name wins
}

/** The name of a limit. */
export const limitName = z.custom<string>(isLimitName, {
  error: `expected the name of a limit: ${QUEUE_NAME_RULE}`,
});

/** The fields of a shared limit, each with its bounds. */
const valueFields = { maxRunning: maxRunningAndRate.maxRunning, rateLimit: ratesField.optional() };

/** The name of a limit that code may define. That of a queue's own rates is made of the queue's name. */
const RESERVED = `expected a name that does not begin with ${OWN_LIMIT}, which is for the rates of a queue`;
const definedName = limitName.refine((name) => !name.startsWith(OWN_LIMIT), RESERVED);

/** The values of a shared limit. */
export const sharedLimitSchema = z.strictObject(...withNames(valueFields));

/** The changes of a shared limit at run time. */
export const sharedLimitChanges = z.strictObject(
  ...withNames(
    { maxRunning: valueFields.maxRunning.nullable(), rateLimit: ratesField.nullable().optional() },
    ', with null for none',
  ),
);

/** The limits of an app, by their names. */
export const sharedLimitsField = z
  .record(z.string(), sharedLimitSchema, { error: 'expected an object of limits by their names' })
  .refine((limits) => Object.keys(limits).every((name) => !name.startsWith(OWN_LIMIT)), RESERVED);

const costSchema = wholeNumber(1, MOST_COST);

/** What a job costs of limits, by their names. */
export const limitCostsField = z
  .record(limitName, costSchema, { error: 'expected an object of costs by the names of limits' })
  .refine((costs) => Object.keys(costs).length <= MOST_OF_QUEUE, `expected at most ${MOST_OF_QUEUE} limits`);

const limitUseSchema = z.strictObject({
  limit: definedName,
  cost: numberOrRange(1, MOST_COST).optional(),
  key: z.literal('group', "expected 'group', which gives each group the limit for itself").optional(),
});

/** The limits that a queue shares, each by its name, or with a cost or a key. */
export const limitUsesField = z
  .array(
    z.union([definedName, limitUseSchema], { error: 'expected the name of a limit, or { limit, cost?, key? }' }),
    { error: 'expected a list of limits: their names, or { limit, cost?, key? }' },
  )
  .max(MOST_OF_QUEUE, `expected at most ${MOST_OF_QUEUE} limits`)
  .refine((uses) => new Set(limitNamesOf(uses)).size === uses.length, 'expected each limit once');

/** Returns the limits of a queue, each with its cost. */
export function limitUsesOf(uses: readonly (string | SharedLimitUse)[] = []): PermitNeed[] {
  return uses.map((use) => {
    const {
      limit,
      cost = 1,
      key,
    }: SharedLimitUse = typeof use === 'string' ? { limit: use } : withoutUndefined(use);
    const costs = typeof cost === 'number' ? { cost } : { cost: cost.default ?? 1, most: cost.most };
    return { limit, ...costs, ...(key !== undefined && { key }) };
  });
}

/** Returns what a job costs of each limit. */
export function costsOf(needs: readonly PermitNeed[], asked: Readonly<Record<string, number>> = {}): number[] {
  return needs.map(({ limit, cost, most }) => (most === undefined ? cost : (own(asked, limit) ?? cost)));
}

/**
 * Checks what an enqueue says that its job costs. A process whose code has no limits of the queue cannot know.
 *
 * @param subject how errors name the job, if its call has several
 * @throws InvalidOptionError
 */
export function checkLimitCosts(
  queue: string,
  costs: Readonly<Record<string, number>>,
  uses: readonly (string | SharedLimitUse)[] | undefined,
  subject?: string,
): void {
  if (uses === undefined) {
    return;
  }
  const place = subject === undefined ? 'limitCosts' : `${subject}.limitCosts`;
  const varying = limitUsesOf(uses).filter(({ most }) => most !== undefined);
  for (const [limit, cost] of Object.entries(costs)) {
    const need = varying.find((each) => each.limit === limit);
    if (!need) {
      throw new InvalidOptionError(
        place,
        `limits whose cost is a range in queue ${JSON.stringify(queue)}: ${varying.map((each) => each.limit).join(', ') || 'none'}`,
        JSON.stringify(limit),
        `Give the queue a range: limits: [{ limit: ${JSON.stringify(limit)}, cost: { default: 1, most: ${cost} } }].`,
      );
    }
    if (cost > need.most!) {
      throw new InvalidOptionError(
        `${place}.${limit}`,
        `at most ${need.most}, as queue ${JSON.stringify(queue)} says`,
        String(cost),
        'Split the job, or raise `most` and the burst of the limit.',
      );
    }
  }
}

/** A queue with its limits, as its options resolve. */
interface LimitedQueue {
  readonly name: string;
  readonly options: {
    readonly limits?: readonly (string | SharedLimitUse)[] | undefined;
    readonly rates?: readonly RateLimit[] | undefined;
  };
}

/** Returns the limits of which each job of a queue needs a permit. The last one is that of its own rates. */
export function permitsNeeded({ name, options: { limits, rates } }: LimitedQueue): PermitNeed[] {
  return [...limitUsesOf(limits), ...(rates ? [{ limit: OWN_LIMIT + name, cost: 1 }] : [])];
}

/**
 * Checks that a queue has the limit that a RateLimitedError rests.
 *
 * @param group that of the job, whose key rests
 * @throws InvalidOptionError
 */
export function checkRestedLimit(limit: unknown, queue: LimitedQueue, group?: string): void {
  const needs = permitsNeeded(queue);
  const known = needs.map((each) => each.limit);
  if (!known.some((name) => name === limit)) {
    const meant = typeof limit === 'string' ? nearest(limit, known) : undefined;
    throw new InvalidOptionError(
      'RateLimitedError.limit',
      known.length > 0 ? `a limit of the queue: ${known.join(', ')}` : 'none, because the queue has no limits',
      show(limit),
      (meant === undefined ? '' : `Did you mean ${meant}? `) +
        "Name it in the option limits of the handler or the queue, such as limits: ['openai'].",
    );
  }
  if (group === undefined && needs.some((need) => need.limit === limit && need.key)) {
    throw new InvalidOptionError(
      'RateLimitedError.limit',
      'a limit without a key, because the job has no group',
      show(limit),
      'Enqueue the job with a group, or leave the limit out. Then the queue rests.',
    );
  }
}

/** Returns the values of the limit that a queue with several rates has by itself. Empty for other queues. */
export function ownLimit({ name, options: { rates } }: LimitedQueue): Record<string, SharedLimitValues> {
  return rates ? { [OWN_LIMIT + name]: { rateLimit: rates } } : {};
}

/** Returns the queue whose own rates a limit has; undefined for a limit that queues share. */
export function queueOfLimit(limit: string): string | undefined {
  return limit.startsWith(OWN_LIMIT) ? limit.slice(OWN_LIMIT.length) : undefined;
}

/** Returns the names of the limits of a queue. */
export function limitNamesOf(uses: readonly (string | SharedLimitUse)[] = []): string[] {
  return limitUsesOf(uses).map(({ limit }) => limit);
}

/** Returns the smallest burst of the rates of a limit. A job counts as no more than it. Infinity without a rate. */
export function smallestBurst(values: SharedLimitValues): number {
  return Math.min(...ratesOf(values).map(({ burst = 1 }) => burst));
}

/** Returns whether an app has values to declare. One that only names a limit takes those of the others. */
export function hasValues(values: SharedLimitValues): boolean {
  return values.maxRunning !== undefined || ratesOf(values).length > 0;
}
