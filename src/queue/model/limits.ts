import { z } from 'zod';
import { MOST_RATES } from '../validation/key-table.js';
import { wholeNumber } from '../validation/numbers.js';

/** The number of jobs that may start in a period, over all workers. */
export interface RateLimit {
  /** The number of jobs. A job with `cost` counts as that many. */
  limit: number;
  /** The length of the period, in ms. */
  periodMs: number;
  /** The number of jobs that may start at once after a quiet time. @default 1: the starts are spread evenly */
  burst?: number | undefined;
}

/** The limits of a queue, which hold for all workers of the fleet together. */
export interface QueueLimits {
  /** The most jobs that run at once. Absent: without a limit. */
  maxRunning?: number | undefined;
  /** The most jobs that start in a period. Absent: without a limit. */
  rateLimit?: RateLimit | undefined;
  /** The limits of each group without limits of its own. */
  groups?: GroupsOptions | undefined;
}

/** The limits of a queue that are set at run time. */
export interface RuntimeLimits extends Omit<QueueLimits, 'groups'> {
  /** The limits of each group without limits of its own. */
  groups?: Omit<GroupsOptions, 'overrides'> | undefined;
  /**
   * The number of jobs that may wait before an enqueue is refused with a QueueFullError. It applies to all processes, and takes
   * precedence over their own option. Absent: each process's own option.
   */
  maxPending?: number | undefined;
  /**
   * The most payload bytes that may wait, as stored. Estimated if more than 50 jobs wait. Absent: each process's own
   * option.
   */
  maxPendingBytes?: number | undefined;
}

/** Changes of the limits of all groups: null removes a limit, and an omitted limit stays as it is. */
export type GroupChanges = {
  [Limit in keyof Omit<GroupsOptions, 'overrides'>]:
    | (Limit extends 'rateLimit' ? Partial<RateLimit> : GroupsOptions[Limit])
    | null;
};

/** Changes of limits at run time: null removes a limit, and an omitted limit stays as it is. */
export type LimitChanges = {
  [Limit in keyof RuntimeLimits]:
    | (Limit extends 'rateLimit'
        ? Partial<RateLimit>
        : Limit extends 'groups'
          ? GroupChanges
          : RuntimeLimits[Limit])
    | null;
};

/** The limits of one group, which hold for all workers of the fleet together. */
export interface GroupLimits {
  /** The most jobs of the group that run at once. With 1 they run in order. Absent: without a limit. */
  maxRunning?: number | undefined;
  /** The most jobs of the group that start in a period. Absent: without a limit. */
  rateLimit?: RateLimit | undefined;
  /** The turns of the group, relative to other groups: 1 to 1,000. @default 1 */
  weight?: number | undefined;
  /** The most waiting jobs of the group before an enqueue is refused with a QueueFullError. Absent: without a limit. */
  maxPending?: number | undefined;
  /**
   * The most payload bytes that may wait in its line, as stored. Estimated if more than 50 jobs wait. Absent: without a
   * limit.
   */
  maxPendingBytes?: number | undefined;
  /**
   * The effect of a dead letter on a group with `maxRunning: 1`. `skip`: it continues. `hold`: it waits until the dead
   * letter is redriven or removed. @default `skip`
   */
  onDeadHead?: 'skip' | 'hold' | undefined;
}

/** The limits of single groups: settings by the group's name, or a function that returns them by that name. */
export type GroupOverrides = Readonly<Record<string, GroupLimits>> | ((group: string) => GroupLimits | undefined);

/** The limits of each group of a queue. */
export interface GroupsOptions extends GroupLimits {
  /** The weight of the jobs without a group, which take turns as one group. @default 1 */
  ungroupedWeight?: number | undefined;
  /**
   * Limits of single groups: by name, or by a function that each enqueue calls. They travel with the jobs of the
   * enqueuing process. `groups.set` takes precedence. Only in the code. @default none
   */
  overrides?: GroupOverrides | undefined;
}

const rateFields = {
  limit: wholeNumber(1, 1_000_000),
  periodMs: wholeNumber(1, 86_400_000, ' ms'),
  burst: wholeNumber(1, 1_000_000).optional(),
};

/** A rate. */
const rateField = z.strictObject(rateFields, { error: 'expected { limit, periodMs, burst? }' });

/** A rate, or several. */
export const ratesField = z.union([rateField, z.array(rateField).max(MOST_RATES)], {
  error: `expected { limit, periodMs, burst? }, or a list of at most ${MOST_RATES} of these`,
});

/** The bounds of the jobs that run at once and start in a period. */
export const maxRunningAndRate = {
  maxRunning: wholeNumber(1, 1_000_000).optional(),
  rateLimit: rateField.optional(),
};

/** The bounds of the waiting jobs of a queue or a group, in the order in which scripts take them. */
export const boundFields = {
  maxPending: wholeNumber(1, 1_000_000_000).optional(),
  maxPendingBytes: wholeNumber(1, 1_000_000_000_000, ' bytes').optional(),
};
export const BOUNDS = Object.keys(boundFields) as (keyof typeof boundFields)[];

/** The limits of one group. */
export const groupLimitFields = {
  ...maxRunningAndRate,
  weight: wholeNumber(1, 1_000).optional(),
  ...boundFields,
  onDeadHead: z.enum(['skip', 'hold'], { error: "expected 'skip' or 'hold'" }).optional(),
};

const groupsFields = { ...groupLimitFields, ungroupedWeight: wholeNumber(1, 1_000).optional() };

/** The limits of a group after the first ones, in the order in which scripts take them. */
export const GROUP_ORDER = ['weight', 'maxPending', 'onDeadHead', 'maxPendingBytes'] as const;
/** The limits of all groups after the first ones, in the order in which scripts take and return them. */
export const ALL_GROUPS_ORDER = [
  'weight',
  'maxPending',
  'onDeadHead',
  'ungroupedWeight',
  'maxPendingBytes',
] as const;

/** Returns fields for an object schema, with an error that names them. @param hint what it says after the names */
export function withNames<Fields extends z.core.$ZodShape>(fields: Fields, hint = ''): [Fields, { error: string }] {
  const names = Object.keys(fields).map((name) => `${name}?`);
  return [fields, { error: `expected { ${names.join(', ')} }${hint}` }];
}

const overridesField = z.union(
  [
    z.custom<(group: string) => GroupLimits | undefined>((value) => typeof value === 'function'),
    z.record(z.string(), z.strictObject(groupLimitFields)),
  ],
  { error: "expected settings by group, or a function of a group's name" },
);

/** The limits of a queue in the code. */
export const limitFields = {
  ...maxRunningAndRate,
  rateLimit: ratesField.optional(),
  groups: z.strictObject(...withNames({ ...groupsFields, overrides: overridesField.optional() })).optional(),
};

const changedRateField = z
  .strictObject(...withNames(z.object(rateFields).partial().shape))
  .nullable()
  .optional();

type Changeable<Fields> = {
  [Name in keyof Fields]: Name extends 'rateLimit'
    ? typeof changedRateField
    : z.ZodNullable<Extract<Fields[Name], z.ZodType>>;
};

/** Returns the fields so that null removes a limit, and a part of a rate changes that part. */
function changeable<Fields extends Record<string, z.ZodType>>(fields: Fields): Changeable<Fields> {
  const changes = Object.entries(fields).map(([name, field]) => [
    name,
    name === 'rateLimit' ? changedRateField : field.nullable(),
  ]);
  return Object.fromEntries(changes) as Changeable<Fields>;
}

/** The limits of a queue at run time. */
export const runtimeLimitFields = {
  ...maxRunningAndRate,
  groups: z.strictObject(...withNames(groupsFields)).optional(),
  ...boundFields,
};

const groupChangesSchema = z.strictObject(...withNames(changeable(groupsFields), ', with null for none'));

/** The changes of a queue's limits at run time. */
export const limitChangesSchema = z.strictObject(
  ...withNames(
    { ...changeable(runtimeLimitFields), groups: groupChangesSchema.nullable().optional() },
    ', with null for none',
  ),
);

/** Returns all rates of some limits. */
export function ratesOf({
  rateLimit = [],
}: {
  rateLimit?: RateLimit | readonly RateLimit[] | undefined;
}): readonly RateLimit[] {
  return 'limit' in rateLimit ? [rateLimit] : rateLimit;
}

/** Returns whether a worker with these options configures limits for the fleet. */
export function configuresLimits({ maxRunning, rateLimit, groups }: QueueLimits): boolean {
  return maxRunning !== undefined || rateLimit !== undefined || groups !== undefined;
}

/** The limits of a queue as they hold now. */
export interface LimitsInForce extends RuntimeLimits {
  /** The origin of the limits: `set` at run time, `configuration` of a worker, or `none`. */
  source: 'set' | 'configuration' | 'none';
  /** The limits of the code while others are set at run time; `{}` for none. Absent: no worker has said them. */
  configured?: RuntimeLimits;
  /** The end of the queue's rest, since a handler threw a RateLimitedError. Absent: it does not rest. */
  restsUntil?: Date;
  /** The time when the rate lets the next job start. Absent: now. */
  nextStartAt?: Date;
}
