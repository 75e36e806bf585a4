import { readFileSync } from 'node:fs';
import type { Type } from '@nestjs/common';
import type { RedisOptions } from 'ioredis';
import { z } from 'zod';
import type { VerdictNotice } from '../inspect/alerts.js';
import { checkMiddleware } from '../queue/enqueue/enqueue-middleware.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show, withoutPassword } from '../queue/errors/show.js';
import { queueOptionFields, type QueueOptions } from '../queue/model/queue-options.js';
import type { Recurrence } from '../queue/model/schedule.js';
import { sharedLimitsField, type SharedLimitValues } from '../queue/model/shared-limit.js';
import { spreadFields } from '../queue/model/spread.js';
import { isRedisClient, type ForeignRedisClient, type RedisClient } from '../queue/redis/redis-client.js';
import { withoutUndefined } from '../queue/runtime/collections.js';
import { checkRecurrence, nextTick } from '../queue/schedules/recurrence.js';
import { checkQueueName } from '../queue/validation/names.js';
import { duration, timerDuration, flag, numberHint } from '../queue/validation/numbers.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import type { JobQueueMiddleware } from '../worker/handlers/attempt-middleware.js';
import { slotFields } from '../worker/handlers/define-handler.js';
import type { FailureLogging } from '../worker/reports/failure-log.js';
import { logFailuresSchema, versionSchema, type WorkerOptions } from '../worker/worker-options.js';
import type { DescribeJob } from './context/current-job.js';

/** The kinds of global enhancers. */
const ENHANCER_KINDS = ['guards', 'interceptors', 'pipes', 'filters'] as const satisfies readonly EnhancerKind[];

/** Injects what `forRoot` or `forRootAsync` was given. */
export const JOB_QUEUE_OPTIONS = Symbol.for('nest-job-queue:options');

/** Injects the options with their defaults. */
export const RESOLVED_OPTIONS = Symbol.for('nest-job-queue:resolved-options');

const FOR_ROOT = 'JobQueueModule.forRoot';
const DEFAULT_URL = 'redis://localhost:6379';
const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;

/** The options of one queue in this app, which differ from the defaults of `forRoot`. */
export interface QueueSettings extends QueueOptions {
  /** The number of the queue's jobs that this process runs at once. @default the handler's, else 10 */
  concurrency?: number | undefined;
  /** The number of jobs that it prefetches, see {@link WorkerQueue.prefetch}. @default the handler's, else by the pace */
  prefetch?: number | undefined;
  /**
   * The number of shards of the queue, from 1 to 64. They fall evenly on the masters of a Cluster. It must be the same in all
   * processes of the queue. A power of two of at least twice the masters spreads best.
   * @default the handler's, else 1: one queue
   */
  spread?: number | undefined;
}

/**
 * Options of `JobQueueModule.forRoot`. Those of a queue (`visibilityMs`, `maxAttempts`, …) are the defaults of all
 * queues; `queues` overrides them for one.
 *
 * @example JobQueueModule.forRoot({ redis: 'redis://cache:6379', maxAttempts: 5, queues: { video: { concurrency: 2 } } })
 */
export interface JobQueueModuleOptions extends Omit<QueueOptions, 'limits'> {
  /**
   * A URL, options of ioredis, or your own Redis or Cluster client, which this module never closes. `'memory'`: no server. The
   * jobs are in the memory of this process, and lost at its end. For development; refused where `NODE_ENV` is `production`.
   * @default the environment's `REDIS_URL`, else `redis://localhost:6379`
   */
  redis?: string | RedisOptions | RedisClient | ForeignRedisClient | undefined;
  /** True if `redis: 'memory'` is allowed where `NODE_ENV` is `production`. Every job is lost at the end of the process. @default false */
  memoryInProduction?: boolean | undefined;
  /** The options of single queues, by name. They win over those of `@JobHandler`. */
  queues?: Record<string, QueueSettings> | undefined;
  /**
   * The limits that queues share, by their names. They hold for the whole fleet, also for queues of other apps. A handler, a
   * definition or a queue names them in its option `limits`. `{}` takes the values that other apps define.
   *
   * @default none
   * @example limits: { openai: { maxRunning: 20, rateLimit: { limit: 500, periodMs: 60_000 } } }
   */
  limits?: Readonly<Record<string, SharedLimitValues>> | undefined;
  /** The number of jobs that this process runs at once over all its queues, with fair turns. @default as many as its queues allow */
  concurrency?: number | undefined;
  /**
   * Whether this process runs its handlers. `true`: from the end of the app's bootstrap. `'manual'`: from the call of
   * `jobs.startWorkers()`, such as after a cache is warm. `false`: never, so that it enqueues and reads only.
   *
   * @default true
   */
  worker?: boolean | 'manual' | undefined;
  /**
   * The schedule by which this process maintains its queues. Maintenance promotes due jobs, applies retention, and reclaims expired
   * claims, also of clients of the Redis pattern. `false`: never. Then another process of the fleet must do it, else
   * audit and health warn.
   * @default `{ everyMs: 5_000 }`
   */
  maintenance?: MaintenanceSchedule | false | undefined;
  /** The time running handlers and the last settlements may take when the app closes, in ms. @default 25,000 */
  shutdownTimeoutMs?: number | undefined;
  /**
   * True if the app refuses to boot without Redis, after `timeoutMs` (default 5,000).
   * @default false: it boots, and its workers start when Redis is there
   */
  requireRedis?: boolean | { timeoutMs: number } | undefined;
  /**
   * The handling of what endangers jobs on the server: eviction, no persistence, a replica, keys in the other spelling. It
   * is checked at boot, or as soon as Redis is there. `warn` logs it. `error` refuses to boot with a RedisAuditError; later
   * no worker starts, and health is down. `off` does not check.
   * @default `warn`
   */
  audit?: 'warn' | 'error' | 'off' | undefined;
  /**
   * True if failed attempts and dead letters are logged, with the error's stack and causes, and at which level. Equal
   * ones are summarised every ten seconds. Payloads are never logged.
   * @default `{ attempts: 'warn', deadLetters: 'error' }`
   */
  logFailures?: boolean | FailureLogging | undefined;
  /** Called after each round trip to Redis in which this process claimed or settled jobs, for metrics. @default none */
  onTrip?: WorkerOptions['onTrip'] | undefined;
  /**
   * Called when a queue begins or ceases to need action, and when jobs die of a new kind of error. Once for each incident
   * in the whole fleet; again if it throws or takes over 10 s.
   * @default none
   * @example onVerdict: ({ text }) => slack.send(text)
   */
  onVerdict?: ((notice: VerdictNotice) => unknown) | undefined;
  /**
   * The name of the app. Each worker announces it, and the boot warns of a queue that workers of another app serve too. Give
   * apps that share their queues on purpose the same name.
   * @default the `name` in the package.json of the working directory
   */
  app?: string | undefined;
  /**
   * The version of the app, such as a release or a commit. Each worker shows it, and each new one is marked in the
   * history.
   * @default none
   */
  version?: string | undefined;
  /**
   * False if no attempt of this process is profiled, whoever asks: by the command line, the dashboard or code.
   * @default true
   */
  profiles?: boolean | undefined;
  /**
   * Runs around the attempts and enqueues of this process; the first is outermost. An entry is an object or a class. The
   * class is the app's provider, or is created from global providers.
   * @default none
   */
  middleware?: readonly MiddlewareEntry[] | undefined;
  /**
   * Applies the app's global guards, interceptors, pipes and filters (`APP_GUARD`, `useGlobalPipes` and so on) to jobs.
   * True means all kinds, a list the named kinds. Default false, because most of them expect an HTTP request.
   *
   * @example globalEnhancers: ['interceptors', 'pipes']
   */
  globalEnhancers?: boolean | readonly EnhancerKind[] | undefined;
  /**
   * True if `currentJob()` returns the job that runs.
   * @default false: below Node 24 an AsyncLocalStorage slows down every promise of the process by a little
   */
  currentJob?: boolean | undefined;
  /**
   * Begins each line that a handler writes through Nest's Logger with the job's id, name, queue and attempt. A function
   * returns another text. Objects get a field `job`. Includes `currentJob`. Default false.
   *
   * @example logContext: (job) => `[${job.metadata.requestId}]`
   */
  logContext?: boolean | DescribeJob | undefined;
}

/** The interface of a class given to `forRootAsync({ useClass })` or `useExisting`. */
export interface JobQueueOptionsFactory {
  /** Makes the options, once, at boot. */
  createJobQueueOptions(): JobQueueModuleOptions | Promise<JobQueueModuleOptions>;
}

const ofQueue = withoutDefaults(queueOptionFields);
/** The options of all queues. Each queue names its own limits. */
const { limits: _limits, ...queueFields } = ofQueue;
const settingsFields = { ...ofQueue, ...slotFields, ...spreadFields };

const enhancersSchema = z.custom<boolean | readonly EnhancerKind[]>(
  (value) =>
    typeof value === 'boolean' || (Array.isArray(value) && value.every((kind) => ENHANCER_KINDS.includes(kind))),
  { error: `expected true, false or a list of ${ENHANCER_KINDS.join(', ')}` },
);

/** The options of the module beside those of its queues. */
const moduleFields = {
  redis: z
    .custom<string | RedisOptions | RedisClient>(
      (value) =>
        typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value)),
      { error: 'expected a URL, an object of ioredis options, or a Redis or Cluster client' },
    )
    .optional(),
  memoryInProduction: flag.default(false),
  queues: z
    .record(z.string(), z.strictObject(settingsFields, { error: 'expected an object of queue options' }), {
      error: 'expected an object of queue options by queue name',
    })
    .default({}),
  limits: sharedLimitsField.default({}),
  concurrency: slotFields.concurrency,
  worker: z.union([z.boolean(), z.literal('manual')], { error: "expected true, false or 'manual'" }).default(true),
  maintenance: z.unknown().optional(),
  shutdownTimeoutMs: timerDuration(1).default(25_000),
  requireRedis: z.unknown().optional(),
  audit: z.enum(['warn', 'error', 'off'], { error: "expected 'warn', 'error' or 'off'" }).default('warn'),
  logFailures: logFailuresSchema.default(true),
  app: versionSchema.optional(),
  version: versionSchema.optional(),
  profiles: flag.default(true),
  onTrip: z
    .custom<WorkerOptions['onTrip']>((value) => typeof value === 'function', { error: 'expected a function' })
    .optional(),
  onVerdict: z
    .custom<JobQueueModuleOptions['onVerdict']>((value) => typeof value === 'function', {
      error: 'expected a function of a notice',
    })
    .optional(),
  middleware: z.custom<readonly MiddlewareEntry[]>().optional(),
  globalEnhancers: enhancersSchema.default(false),
  currentJob: flag.default(false),
  logContext: z
    .custom<boolean | DescribeJob>((value) => ['boolean', 'function'].includes(typeof value), {
      error: 'expected true, false or a function of a job',
    })
    .default(false),
};

const optionsSchema = z.strictObject(
  { ...queueFields, ...moduleFields },
  { error: 'expected an object of options' },
);

const MODULE_OPTIONS = Object.keys(moduleFields) as (keyof typeof moduleFields)[];
const QUEUE_OPTIONS = Object.keys(queueFields) as (keyof typeof queueFields)[];

type Checked = z.output<typeof optionsSchema>;

/** The options with their defaults, as the rest of the module reads them. */
export interface ResolvedModuleOptions extends Omit<
  Pick<Checked, keyof typeof moduleFields>,
  'memoryInProduction' | 'redis' | 'maintenance' | 'requireRedis' | 'middleware' | 'globalEnhancers'
> {
  redis: string | RedisOptions | RedisClient;
  /** True if neither `redis` nor REDIS_URL says where Redis is. */
  redisIsAssumed: boolean;
  /** Only the given options: the queue adds its own defaults. */
  queueDefaults: QueueOptions;
  maintenance: MaintenanceSchedule | false;
  requireRedis: { timeoutMs: number } | false;
  middleware: readonly MiddlewareEntry[];
  globalEnhancers: readonly EnhancerKind[];
}

const requireRedisSchema = z.strictObject(
  { timeoutMs: duration(1).default(DEFAULT_CONNECT_TIMEOUT_MS) },
  { error: 'expected true, false or { timeoutMs }' },
);

/**
 * Checks the options of the module and fills in the defaults.
 *
 * @throws InvalidOptionError that names the option, the expected and the found value
 */
export function resolveModuleOptions(options: JobQueueModuleOptions): ResolvedModuleOptions {
  const checked = checkOptions(FOR_ROOT, optionsSchema, options);
  const { redis, memoryInProduction, ...own } = picked(checked, MODULE_OPTIONS);
  const { queues, globalEnhancers, currentJob, logContext } = own;
  Object.keys(queues).forEach((name) => checkQueueName(name));
  Object.keys(own.limits).forEach((name) => checkQueueName(name, `${FOR_ROOT}.limits`));
  return {
    ...own,
    redis: checkRedis(redis, memoryInProduction),
    redisIsAssumed: redis === undefined && !process.env.REDIS_URL,
    app: own.app ?? packageName(),
    queueDefaults: picked(checked, QUEUE_OPTIONS),
    queues: Object.fromEntries(Object.entries(queues).map(([name, of]) => [name, withoutUndefined(of)])),
    maintenance: checkMaintenance(`${FOR_ROOT}.maintenance`, own.maintenance),
    requireRedis: checkRequireRedis(own.requireRedis),
    middleware: checkEntries(own.middleware),
    globalEnhancers: globalEnhancers === true ? ENHANCER_KINDS : globalEnhancers || [],
    currentJob: currentJob || logContext !== false,
  };
}

/** Returns the name of the package in the working directory. Undefined without one. */
function packageName(): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync('package.json', 'utf8')) as { name?: unknown };
    return versionSchema.safeParse(name).data;
  } catch {
    return undefined;
  }
}

function checkRedis(
  redis: ResolvedModuleOptions['redis'] | undefined,
  memoryInProduction: boolean,
): ResolvedModuleOptions['redis'] {
  const [subject, value] =
    redis === undefined ? ['REDIS_URL', process.env.REDIS_URL || DEFAULT_URL] : [`${FOR_ROOT}.redis`, redis];
  if (value === IN_MEMORY) {
    checkMemory(subject, memoryInProduction);
    return value;
  }
  if (typeof value === 'string') {
    checkRedisUrl(subject, value);
  }
  if (typeof value === 'object' && !isRedisClient(value) && typeof (value as { on?: unknown }).on === 'function') {
    throw new InvalidOptionError(subject, 'a client of ioredis', 'a client of another kind');
  }
  if (typeof value === 'object' && !isRedisClient(value)) {
    checkRedisOptions(subject, value);
  }
  return value;
}

function checkMemory(subject: string, allowed: boolean): void {
  if (process.env['NODE_ENV'] === 'production' && !allowed) {
    throw new InvalidOptionError(
      subject,
      'a Redis where NODE_ENV is production',
      `'${IN_MEMORY}'`,
      'Set REDIS_URL, or `memoryInProduction: true` if every job may be lost at the end of the process.',
    );
  }
}

/** Checks the entries. A class is checked by the methods of its instances. */
function checkEntries(middleware: unknown): readonly MiddlewareEntry[] {
  const entries = middleware as readonly MiddlewareEntry[] | undefined;
  const asObjects = Array.isArray(entries)
    ? entries.map((entry: MiddlewareEntry) =>
        typeof entry === 'function' ? ((entry.prototype as object | undefined) ?? entry) : entry,
      )
    : middleware;
  checkMiddleware(`${FOR_ROOT}.middleware`, asObjects as readonly object[] | undefined);
  return entries ?? [];
}

function checkRequireRedis(value: unknown): { timeoutMs: number } | false {
  if (value === undefined || value === false) return false;
  return checkOptions(`${FOR_ROOT}.requireRedis`, requireRedisSchema, value === true ? {} : value);
}

/** The times of maintenance: at an interval in ms, or by a cron expression. */
export type MaintenanceSchedule = { everyMs: number } | { cron: string; timeZone?: string | undefined };

// Checked separately and not as a union, so that an error can name the key and suggest the intended one.
const maintenanceSchema = z.strictObject(
  {
    everyMs: timerDuration(100).optional(),
    cron: z
      .custom<string>((value) => typeof value === 'string' && isCron(value), {
        error: "expected a cron expression such as '*/10 * * * * *'",
      })
      .optional(),
    timeZone: z
      .custom<string>((value) => typeof value === 'string' && isTimeZone(value), {
        error: "expected a time zone such as 'Europe/Berlin'",
      })
      .optional(),
  },
  { error: 'expected false, { everyMs } or { cron }' },
);

/** @throws InvalidOptionError */
function checkMaintenance(subject: string, value: unknown): MaintenanceSchedule | false {
  if (value === false) {
    return false;
  }
  const { everyMs, cron, timeZone } = checkOptions(subject, maintenanceSchema, value ?? { everyMs: 5_000 });
  if ((everyMs === undefined) === (cron === undefined)) {
    throw new InvalidOptionError(subject, 'either everyMs or cron', everyMs === undefined ? 'neither' : 'both');
  }
  if (everyMs === undefined) {
    return { cron: cron!, timeZone };
  }
  if (timeZone !== undefined) {
    throw new InvalidOptionError(`${subject}.timeZone`, 'none beside everyMs', show(timeZone));
  }
  return { everyMs };
}

/** Returns the time of the first maintenance after an instant, both in ms. */
export function nextMaintenanceAt(recurrence: Recurrence, ms: number): number {
  return recurrence.everyMs === undefined ? nextTick(recurrence, ms) : ms + recurrence.everyMs;
}

function isCron(expression: string): boolean {
  try {
    return checkRecurrence('cron', { cron: expression }).cron !== undefined;
  } catch {
    return false;
  }
}

function isTimeZone(name: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}

/** The value of `redis` that keeps the queues in the memory of the process. */
export const IN_MEMORY = 'memory';

/** Every option that ioredis knows. It ignores others without a word, and then connects to localhost. */
const REDIS_OPTIONS = `
  host port path family tls db username password name role protocol connectTimeout commandTimeout
  socketTimeout disconnectTimeout blockingTimeout blockingTimeoutGrace keepAlive noDelay connectionName
  disableClientInfo clientInfoTag retryStrategy reconnectOnError maxRetriesPerRequest maxLoadingRetryTime
  lazyConnect autoResubscribe autoResendUnfulfilledCommands enableOfflineQueue enableReadyCheck readOnly
  offlineQueue commandQueue enableAutoPipelining autoPipeliningIgnoredCommands monitor stringNumbers
  replyMapping showFriendlyErrorStack scripts himportFieldsets keyPrefix sentinels sentinelUsername
  sentinelPassword sentinelTLS sentinelRetryStrategy Connector sentinelReconnectStrategy
  sentinelCommandTimeout sentinelMaxConnections enableTLSForSentinelMode preferredSlaves updateSentinels
  failoverDetector natMap
`;

const anything = z.unknown().optional();
const redisSchema = z.strictObject(
  Object.fromEntries(
    REDIS_OPTIONS.trim()
      .split(/\s+/)
      .map((option) => [option, anything]),
  ),
);

/**
 * Refuses options that ioredis would ignore, so that a misspelled option does not lead to localhost.
 *
 * @throws InvalidOptionError that names the option, and the probable intention
 */
export function checkRedisOptions(subject: string, options: RedisOptions): void {
  const address = ['url', 'uri', 'connectionString'].find((key) => key in options);
  if (address) {
    throw new InvalidOptionError(
      `${subject}.${address}`,
      'an option of ioredis',
      `"${address}", which ioredis ignores`,
      "Give the URL itself, redis: 'redis://host:6379', or host and port.",
    );
  }
  checkOptions(subject, redisSchema, options);
  if (typeof options.host === 'string' && /[/@]/.test(options.host)) {
    throw new InvalidOptionError(
      `${subject}.host`,
      'the name or address of a host',
      show(withoutPassword(options.host)),
      "Give a URL by itself, redis: 'redis://host:6379'.",
    );
  }
  checkNumber(`${subject}.port`, options.port, PORT_RANGE);
  checkNumber(`${subject}.db`, options.db, DATABASE_RANGE);
  options.sentinels?.forEach(({ port }, i) => checkNumber(`${subject}.sentinels[${i}].port`, port, PORT_RANGE));
}

const HIGHEST_PORT = 65_535;
const PORT_RANGE = [1, HIGHEST_PORT] as const;
const DATABASE_RANGE = [0, 2 ** 31 - 1] as const;

/** Refuses a number that no server has, and one that ioredis reads as NaN. It takes text, such as of the environment. */
function checkNumber(subject: string, value: unknown, [min, max]: readonly [min: number, max: number]): void {
  if (value === undefined || value === null) {
    return;
  }
  const number = typeof value === 'string' ? Number.parseInt(value, 10) : (value as number);
  if (!Number.isInteger(number) || number < min || number > max) {
    const expected = `a number from ${min} to ${max}`;
    throw new InvalidOptionError(subject, expected, show(value), numberHint(expected, value));
  }
}

/**
 * Refuses an invalid Redis URL. Ioredis would throw an error with the password, or take a part of the URL as the
 * database.
 *
 * @throws InvalidOptionError that shows it without its password
 */
function checkRedisUrl(subject: string, url: string): void {
  if (!isRedisUrl(url)) {
    throw new InvalidOptionError(
      subject,
      'a URL such as redis://localhost:6379',
      show(withoutPassword(url)),
      /^(redis|valkey)s?:/.test(url) ? hintFor(url) : '',
    );
  }
}

/** Returns what to change in an invalid URL of Redis: its port or path, or else its password. */
function hintFor(url: string): string {
  if (url.startsWith('valkey')) {
    return 'Valkey speaks the same protocol: write redis:// for valkey://, and rediss:// for valkeys://.';
  }
  const place = url.slice(url.lastIndexOf('@') + 1).replace(/^rediss?:\/\//, '');
  const [, port] = /^[^:/]+:([^:/?]*)/.exec(place) ?? [];
  if (port !== undefined && !(Number(port) <= HIGHEST_PORT)) {
    return 'After the host comes the number of a port, as in redis://localhost:6379.';
  }
  return /^rediss?:\/\/[^/]*\/[^@]+$/.test(url)
    ? 'After the host comes the number of a database, as in redis://localhost:6379/0.'
    : 'Encode what is special in the password (encodeURIComponent).';
}

function isRedisUrl(url: string): boolean {
  if (/^\/(?!\/)/.test(url)) {
    return true; // the path of a socket
  }
  if (!/^(rediss?:)?\/\/./.test(url)) {
    return false;
  }
  try {
    const { username, password, pathname, hash } = new URL(url.startsWith('//') ? `redis:${url}` : url);
    decodeURIComponent(username + password);
    return /^\/?\d*\/?$/.test(pathname) && hash === '';
  } catch {
    return false;
  }
}

/** A kind of global enhancers. */
export type EnhancerKind = 'guards' | 'interceptors' | 'pipes' | 'filters';

/** A middleware of the module: an object, or a class that Nest makes. */
export type MiddlewareEntry = JobQueueMiddleware | Type<JobQueueMiddleware>;

type Stripped<Fields> = {
  [Key in keyof Fields]: Fields[Key] extends z.ZodDefault<infer Inner>
    ? z.ZodOptional<Inner>
    : Fields[Key] extends z.ZodType
      ? z.ZodOptional<Fields[Key]>
      : never;
};

/** Returns the same fields without their defaults, for options that are laid over others. */
export function withoutDefaults<Fields extends Record<string, z.ZodType>>(fields: Fields): Stripped<Fields> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [
      key,
      (field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field).optional(),
    ]),
  ) as Stripped<Fields>;
}

/** Returns the options of these names that are set. */
export function picked<Options extends object, Name extends keyof Options>(
  options: Options,
  names: readonly Name[],
): Pick<Options, Name> {
  const entries = names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]);
  return Object.fromEntries(entries) as Pick<Options, Name>;
}
