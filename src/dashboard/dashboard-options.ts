import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { z } from 'zod';
import { DEFAULT_CONNECTION } from '../nest/connection/connection-tokens.js';
import type { Redact, RedactedPart } from '../queue/codec/redact.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { PERMITTED_ACTIONS } from '../queue/model/actions.js';
import { flag, wholeNumber } from '../queue/validation/numbers.js';
import { checkKnown, checkObject, checkOptions } from '../queue/validation/validate-options.js';

/** The actions of a request to the dashboard. `view` covers every page; each other action changes something. */
export const DASHBOARD_ACTIONS: readonly DashboardAction[] = ['view', ...PERMITTED_ACTIONS];
/** The permissions of a user of the dashboard. */
export type DashboardAction =
  | 'view'
  | 'redrive'
  | 'discard'
  | 'cancel'
  | 'promote'
  | 'remove'
  | 'run-again'
  | 'edit'
  | 'signal'
  | 'pause'
  | 'resume'
  | 'limits'
  | 'profile'
  | 'run-schedule'
  | 'pause-schedule'
  | 'resume-schedule'
  | 'set-schedule'
  | 'remove-schedule'
  | 'remove-subscription';

/** The subject of an action. Empty for a page of all queues. */
export interface DashboardSubject {
  /** The queue of the action. That of a shard, where it is on one. */
  queue?: string;
  /** The job, the schedule, or the batch. Absent for an action on many jobs, or on the queue itself. */
  id?: string;
  /** The group, for an action on one. */
  group?: string;
}

/** The request of the app's HTTP adapter, Express's or Fastify's, with the properties that the app's guards set. */
export type DashboardRequest = {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  method: string;
  socket?: { remoteAddress?: string; destroySoon?(): void };
  user?: unknown;
} & object;

/** Options of the dashboard; all of them can come from a factory. */
export interface DashboardOptions {
  /**
   * Decides whether a request may do an action. The page hides refused actions. Default: everything is allowed.
   *
   * @example can: (action, request: DashboardRequest & { user: User }) => action === 'view' || request.user.role === 'operator'
   */
  can?:
    | {
        // A method, as of `user`, so that it may take a request with the properties that the app's guards set.
        can(
          action: DashboardAction,
          request: DashboardRequest,
          subject: DashboardSubject,
        ): boolean | Promise<boolean>;
      }['can']
    | undefined;
  /** Refuses every action but `view`, whatever `can` says. @default false */
  readOnly?: boolean | undefined;
  /** Names who sends a request, for the action log. @default `email`, `username`, `name` or `id` of `request.user` */
  user?: { user(request: DashboardRequest): string | undefined }['user'] | undefined;
  /** Labels a job in a few words, shown in lists beside its name. @default the start of its payload */
  label?: ((job: { name: string; queue: string; payload: unknown }) => string | undefined) | undefined;
  /**
   * Hides parts of payloads, results and progress, beside the `redact` of the queues. It has the names of fields at any
   * depth, or is a function that returns the visible value.
   * @default nothing more is hidden
   */
  redact?: Redact | undefined;
  /** Queues to show beside the queues of this process. @default none */
  queues?: readonly string[] | undefined;
  /**
   * Shows the other queues of this Redis, apart from the queues of this process. They are of other apps, of a misspelled
   * name, or of clients in other languages. The dashboard changes nothing in them, because their apps did not agree to
   * it. `'operate'` allows every action but `edit`, `signal` and `set-schedule`, as far as `can` does.
   * @default true
   */
  otherQueues?: boolean | 'operate' | undefined;
  /** Origins whose pages may send requests, beside that of the asked host. For a proxy that changes the host. @default none */
  origins?: readonly string[] | undefined;
  /**
   * Names of hosts at which the dashboard is served, beside `localhost`, addresses and the name of this machine. One that
   * begins with a dot stands for all below it. Where only the token of the link lets in, every host is served.
   * @default none
   * @example hosts: ['admin.example.com', '.preview.example.com']
   */
  hosts?: readonly string[] | undefined;
  /** The heading of every page. @default `Queues` */
  title?: string | undefined;
  /**
   * A link at the head of every page, back to the app. `href` is a path of the app or an http address.
   * @default none
   * @example back: { text: 'Admin', href: '/admin' }
   */
  back?: { text: string; href: string } | undefined;
  /**
   * The dashboards of several Redis servers in this app, as a switch at the head of every page. `path` is that of their
   * module. Each of them may get the same list.
   * @default none
   * @example servers: [{ name: 'EU', path: 'queues/eu' }, { name: 'US', path: 'queues/us' }]
   */
  servers?: readonly { name: string; path: string }[] | undefined;
  /** The interval at which queues are read while there is a viewer, in ms. @default 1,000 */
  refreshMs?: number | undefined;
}

/** The path of the dashboard, and who may use it. Set when the module is declared, so never from a factory. */
export interface DashboardMount {
  /** Path of the dashboard, after a global prefix. @default `queues` */
  path?: string | undefined;
  /**
   * Guards of the app, run for every request. Without one only the link in the log opens the dashboard, and an app with
   * `NODE_ENV=production` does not start.
   */
  guards?: readonly (Type<CanActivate> | CanActivate)[] | undefined;
  /**
   * Decorators for its controllers. They mark the dashboard for global guards of the app, which run before it.
   * @default none
   * @example decorators: [Public(), SkipThrottle()]
   */
  decorators?: readonly ClassDecorator[] | undefined;
  /** Serves everybody without a guard here, because a global guard or a proxy protects it. @default false */
  allowRemote?: boolean | undefined;
  /**
   * The name of a `forRoot({ name })` whose queues it shows. Each server has a separate dashboard. @default that
   * without a name
   */
  connection?: string | undefined;
  /** The modules that export the dependencies of the guards. */
  imports?: ModuleMetadata['imports'] | undefined;
}

export type ResolvedDashboardOptions = DashboardOptions &
  Required<
    Pick<
      DashboardOptions,
      'readOnly' | 'redact' | 'queues' | 'otherQueues' | 'origins' | 'hosts' | 'title' | 'servers' | 'refreshMs'
    >
  >;

const names = (what: string) =>
  z.array(z.string({ error: `expected ${what}` }), { error: `expected an array of ${what}` });
const callable = <Fn>(what: string) =>
  z.custom<Fn>((value) => typeof value === 'function', { error: `expected a function ${what}` });

const path = z
  .string({ error: 'expected text' })
  .regex(/^\/?[\w~-][\w.~-]*(\/[\w~-][\w.~-]*)*\/?$/, "expected a path such as 'queues' or 'admin/queues'");

const optionsSchema = z.strictObject(
  {
    can: callable<NonNullable<DashboardOptions['can']>>('(action, request, subject)').optional(),
    readOnly: flag.default(false),
    user: callable<NonNullable<DashboardOptions['user']>>('(request)').optional(),
    label: callable<NonNullable<DashboardOptions['label']>>('(job)').optional(),
    redact: z
      .union(
        [names('names of fields'), callable<(value: unknown, about: RedactedPart) => unknown>('(value, about)')],
        {
          error: 'expected names of fields or a function',
        },
      )
      .default([]),
    queues: names('names of queues').default([]),
    otherQueues: z
      .union([z.boolean(), z.literal('operate')], { error: "expected true, false or 'operate'" })
      .default(true),
    origins: names('origins, such as https://admin.example.com')
      .refine((all) => all.every(isOrigin), 'expected origins, such as https://admin.example.com, without a path')
      .default([]),
    hosts: names('names of hosts')
      .refine(
        (all) => all.every((each) => /^\.?[\w-]+(\.[\w-]+)*$/.test(each)),
        'expected names of hosts without a scheme and a port, such as admin.example.com or .example.com',
      )
      .default([]),
    title: z.string({ error: 'expected text' }).default('Queues'),
    back: z
      .strictObject(
        {
          text: z.string({ error: 'expected text' }).min(1, 'expected text'),
          href: z
            .string({ error: 'expected text' })
            .regex(/^(\/(?![/\\])|https?:\/\/)[^\s\\]*$/, "expected a path such as '/admin', or an http address"),
        },
        { error: 'expected an object with text and href' },
      )
      .optional(),
    servers: z
      .array(
        z.strictObject(
          { name: z.string({ error: 'expected text' }).min(1, 'expected text'), path },
          { error: 'expected an object with name and path' },
        ),
        { error: 'expected an array of { name, path }' },
      )
      .refine(
        (all) => new Set(all.map(({ name }) => name)).size === all.length,
        'expected a name of its own for each',
      )
      .default([]),
    refreshMs: wholeNumber(100, 60_000, ' ms').default(1_000),
  },
  { error: 'expected an object of dashboard options' },
);

const mountSchema = z.strictObject(
  {
    path: path.default('queues'),
    guards: z
      .array(
        z.custom<Type<CanActivate> | CanActivate>((value) => typeof value === 'function' || isGuard(value)),
        {
          error: 'expected an array of guards',
        },
      )
      .default([]),
    decorators: z
      .array(callable<ClassDecorator>('(class), such as the result of SkipThrottle()'), {
        error: 'expected an array of decorators, such as [Public()]',
      })
      .default([]),
    allowRemote: flag.default(false),
    connection: z.string({ error: 'expected the name of a connection' }).default(DEFAULT_CONNECTION),
  },
  { error: 'expected an object with path, guards, decorators, allowRemote, connection' },
);

export type ResolvedMount = z.output<typeof mountSchema>;

/** Returns whether nothing but the link in the log protects the dashboard. */
export function hasNoGuard({ guards, allowRemote }: ResolvedMount): boolean {
  return guards.length === 0 && !allowRemote;
}

/**
 * Checks the names of all options of `forRoot`, so that a misspelled one is answered with the probable one.
 *
 * @throws InvalidOptionError
 */
export function checkDashboardNames(options: DashboardMount & DashboardOptions): void {
  const known = [...Object.keys(mountSchema.shape), 'imports', ...Object.keys(optionsSchema.shape)];
  checkKnown('JobQueueDashboardModule', options, known);
}

function isOfMount(key: string): boolean {
  return key === 'imports' || Object.hasOwn(mountSchema.shape, key);
}

/** Parts where the dashboard is mounted from its other options. */
export function partOptions(all: DashboardMount & DashboardOptions): {
  mount: DashboardMount;
  options: DashboardOptions;
} {
  const entries = Object.entries(all);
  return {
    mount: Object.fromEntries(entries.filter(([key]) => isOfMount(key))),
    options: Object.fromEntries(entries.filter(([key]) => !isOfMount(key))),
  };
}

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError that names the option
 */
export function resolveDashboardOptions(options: DashboardOptions): ResolvedDashboardOptions {
  return checkOptions('JobQueueDashboardModule', optionsSchema, options);
}

/**
 * Checks that `forRootAsync` has a factory, and beside it only where the dashboard is mounted.
 *
 * @throws InvalidOptionError
 */
export function checkAsyncOptions(options: DashboardMount & { useFactory?: unknown }): void {
  const subject = 'JobQueueDashboardModule.forRootAsync';
  checkObject(subject, 'an object with useFactory', options);
  if (typeof options.useFactory !== 'function') {
    throw new InvalidOptionError(
      `${subject}.useFactory`,
      'a function that returns the options',
      show(options.useFactory),
    );
  }
  const other = Object.keys(options).find((key) => Object.hasOwn(optionsSchema.shape, key));
  if (other !== undefined) {
    throw new InvalidOptionError(
      `${subject}.${other}`,
      'no such option here',
      show(other),
      'Return it from useFactory.',
    );
  }
}

/**
 * Checks where the dashboard is mounted, and fills in the defaults.
 *
 * @throws InvalidOptionError that names the option
 */
export function resolveMount({ imports: _imports, ...mount }: DashboardMount): ResolvedMount {
  return checkOptions('JobQueueDashboardModule', mountSchema, mount);
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

function isGuard(value: unknown): boolean {
  return typeof (value as Partial<CanActivate> | null)?.canActivate === 'function';
}

/** Injection tokens; registered symbols, so that an ES module and a CommonJS copy share them. */
export const DASHBOARD_RAW_OPTIONS = Symbol.for('nest-job-queue:dashboard-raw-options');
export const DASHBOARD_OPTIONS = Symbol.for('nest-job-queue:dashboard-options');
export const DASHBOARD_MOUNT = Symbol.for('nest-job-queue:dashboard-mount');
