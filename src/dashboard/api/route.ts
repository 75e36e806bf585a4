// The way of a request. Its input is checked, then its queue and its permissions. A change has an entry in the action
// log. The decorators at the end declare a route, and controllers need no more than these.
import {
  Injectable,
  NotFoundException,
  HttpException,
  Logger,
  StreamableFile,
  type BeforeApplicationShutdown,
  Get,
  Inject,
  Post,
  Req,
  Res,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { z } from 'zod';
import { inTime } from '../../inspect/unreadable.js';
import type { NewAction } from '../../queue/actions/noted-action.js';
import { EncryptedQueueError } from '../../queue/errors/enqueue-errors.js';
import {
  InvalidOptionError,
  InvalidPayloadError,
  JobQueueError,
  RedisUnsuitableError,
} from '../../queue/errors/errors.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ACTIONS, actionOf, type LoggedAction, permissionsOf } from '../../queue/model/actions.js';
import { JOB_STATUSES } from '../../queue/model/job.js';
import { withoutUndefined } from '../../queue/runtime/collections.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads, SnapshotFeed } from '../live/snapshot-feed.js';
import { declareRoute } from '../security/access.guard.js';
import { Permissions, type Need } from '../security/permissions.js';
import { Redactor } from '../security/redactor.js';
import { ShownQueues } from '../shown-queues.js';
import { ToldErrors } from '../told-errors.js';
import type { TextFile } from '../views/job-file.js';
import type { ProblemView } from '../views/views.js';

export const stateSchema = z.enum(JOB_STATUSES, { error: `expected ${JOB_STATUSES.join(', ')}` });
export const queueName = z.string({ error: 'expected the name of a queue' });
export const jobId = z
  .string({ error: 'expected a job id' })
  .min(1, 'expected a job id')
  .max(1_000, 'expected a job id');

export const cursor = z.string({ error: 'expected the cursor of a page' }).max(2_000).optional();

/** Returns a whole number in a query. */
export const queryCount = (most: number) =>
  z.coerce.number({ error: 'expected a whole number' }).int('expected a whole number').min(0).max(most);

/**
 * Checks the input of a request.
 *
 * @throws InvalidOptionError that names the field
 */
function checkInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  return checkOptions('request', schema, input ?? {});
}

/** Finds the queues that the dashboard shows. A request cannot create another one. */
@Injectable()
export class KnownQueues {
  constructor(private readonly queues: ShownQueues) {}

  /** @throws NotFoundException */
  async find(name: string): Promise<JobQueue> {
    const queue = await this.queues.find(name);
    if (!queue) {
      throw new NotFoundException(
        'This dashboard shows no queue of that name. Its name may be misspelled, or all its jobs are gone.',
      );
    }
    return queue;
  }

  /** Returns the shards of a queue. @throws NotFoundException */
  async findShards(name: string): Promise<JobQueue[]> {
    const queue = await this.find(name);
    const shards = this.queues.shardsOf(name);
    return shards.length === 0 ? [queue] : shards.map((shard) => this.queues.get(shard));
  }
}

/**
 * Sends every answer through Nest's HTTP adapter. A returned value would pass the app's global interceptors, which may
 * change its form for the page.
 */
@Injectable()
export class Responder implements BeforeApplicationShutdown {
  private readonly logger = SafeLogger.of(new Logger('JobQueueDashboard'));
  private closing = false;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly told: ToldErrors,
  ) {}

  /** Ends each connection with its answer from now on, because a polling page would delay the end of the app. */
  beforeApplicationShutdown(): void {
    this.closing = true;
  }

  /** Sends what `work` returns as JSON, or its error with a matching status. */
  async json(response: unknown, work: () => unknown): Promise<void> {
    let status = 200;
    let body: unknown;
    try {
      body = await work();
    } catch (error) {
      [status, body] = this.problem(error);
    }
    this.send(response, status, body);
  }

  /** Sends what `work` returns as a file to save, or its error as JSON. */
  async file(response: unknown, work: () => Promise<TextFile>): Promise<void> {
    let file: TextFile;
    try {
      file = await work();
    } catch (error) {
      await this.json(response, () => Promise.reject(error));
      return;
    }
    this.send(response, 200, new StreamableFile(Buffer.from(file.text)), {
      'Content-Type': `${file.type}; charset=utf-8`,
      'Content-Disposition': `attachment; filename="${file.name.replaceAll(/[^\w.-]+/g, '_')}"`,
    });
  }

  /** Sends a response. The guard has set the headers that all responses have. */
  send(response: unknown, status: number, body: unknown, headers: Record<string, string> = {}): void {
    const { httpAdapter } = this.host;
    const closing = this.closing ? { Connection: 'close' } : {};
    for (const [name, value] of Object.entries({ ...headers, ...closing })) {
      httpAdapter.setHeader(response, name, value);
    }
    httpAdapter.reply(response, body, status);
  }

  private problem(error: unknown): [status: number, body: ProblemView] {
    if (error instanceof HttpException) {
      return [error.getStatus(), problemOf('refused', error.message)];
    }
    if (error instanceof RedisUnsuitableError) {
      return [503, problemOf('redis-away', this.told.tell(error))];
    }
    if (error instanceof InvalidOptionError || error instanceof InvalidPayloadError) {
      const subject = error instanceof InvalidOptionError ? error.subject : error.path;
      return [400, { error: { code: 'invalid', message: error.message, subject } }];
    }
    if (error instanceof JobQueueError) {
      return [409, problemOf(error.name, this.told.tell(error))];
    }
    this.logger.error('The dashboard failed to handle a request', error);
    return [500, problemOf('internal', 'The dashboard failed; the log of the app says why.')];
  }
}

function problemOf(code: string, message: string): ProblemView {
  return { error: { code, message } };
}

/** What a route gets beside its checked input. */
export interface Call {
  request: DashboardRequest;
}

/** The call of a route whose input names a queue that the dashboard shows. */
export interface QueueCall extends Call {
  queue: JobQueue;
}

/** The call of a route that changes something. The verbs of its queue write no entry, because the route does. */
export interface ChangeCall extends QueueCall {
  user: string;
}

/** The outcome of a change. */
export interface Outcome {
  /** The number of changed jobs, for the action log too. */
  done: number;
  /** The number of jobs that were left alone. @default 0 */
  spared?: number;
  /** The shards that gave no reply, of a change of all shards. Absent if all did. */
  unreached?: string[];
}

/** A route before it is a handler of Nest. */
interface Route<Input = unknown> {
  schema: z.ZodType<Input>;
  /** Returns the permissions that it needs. All are checked before anything else happens. */
  needs(input: Input, controller: object): readonly Need[] | Promise<readonly Need[]>;
  run(controller: object, input: Input, call: Call): unknown;
}

/** What the input of a change names. */
interface ChangeInput {
  queue: string;
  /** True to change all shards of the queue. Its permission and its row of the log are those of the queue. */
  allShards?: boolean | undefined;
}

/** A route that changes something. */
interface ChangingRoute<Input extends ChangeInput> extends Route<Input> {
  /** Returns its entry in the action log. */
  logs(input: Input): NewAction;
  run(controller: object, input: Input, call: Call): Promise<Outcome>;
}

/** The request of the HTTP adapter, with what its body parser read. */
type ParsedRequest = DashboardRequest & { query?: unknown; body?: unknown };

/** Runs declared routes: checks, permissions, the action log, the response. */
@Injectable()
export class RouteRunner {
  constructor(
    private readonly queues: KnownQueues,
    private readonly permissions: Permissions,
    private readonly reads: SharedReads,
    private readonly feed: SnapshotFeed,
    private readonly responder: Responder,
    private readonly redactor: Redactor,
  ) {}

  async read<Input>(
    controller: object,
    route: Route<Input>,
    request: ParsedRequest,
    response: unknown,
  ): Promise<void> {
    await this.responder.json(response, () => this.valueOf(controller, route, request));
  }

  async download<Input>(
    controller: object,
    route: Route<Input>,
    request: ParsedRequest,
    response: unknown,
  ): Promise<void> {
    await this.responder.file(response, () => this.valueOf(controller, route, request) as Promise<TextFile>);
  }

  /** Returns what a route reads, once its input and its permissions are checked. */
  private async valueOf<Input>(controller: object, route: Route<Input>, request: ParsedRequest): Promise<unknown> {
    const input = checkInput(route.schema, request.query);
    await this.admit(request, await route.needs(input, controller));
    const { queue: name } = (input ?? {}) as { queue?: string };
    const queue = name === undefined ? undefined : await this.queues.find(name);
    await (queue && this.redactor.learn(queue.name));
    const call: Call | QueueCall = { request, ...(queue && { queue }) };
    return route.run(controller, input, call);
  }

  async change<Input extends ChangeInput>(
    controller: object,
    route: ChangingRoute<Input>,
    request: ParsedRequest,
    response: unknown,
  ): Promise<void> {
    await this.responder.json(response, async () => {
      const input = checkInput(route.schema, request.body);
      await this.admit(request, await route.needs(input, controller));
      const user = this.permissions.userOf(request);
      const change = async (queue: JobQueue) => {
        await this.redactor.learn(queue.name);
        const call: ChangeCall = { request, queue: queue.as(null), user };
        const { actionLog } = queue.as({ via: 'dashboard', by: user });
        const run = () => route.run(controller, input, call);
        return { spared: 0, ...(await actionLog.record(route.logs(input), run, { count: doneOf, isRefusal })) };
      };
      try {
        return await (input.allShards
          ? this.changeShards(await this.queues.findShards(input.queue), change)
          : change(await this.queues.find(input.queue)));
      } finally {
        this.reads.forget();
        this.feed.forget();
      }
    });
  }

  /** Changes all shards of a queue. Goes on without a shard that gives no reply. @throws the error of the first one if none did it */
  private async changeShards(
    shards: readonly JobQueue[],
    change: (shard: JobQueue) => Promise<Outcome>,
  ): Promise<Outcome> {
    const settled = await Promise.allSettled(shards.map((shard) => inTime(shard, change(shard))));
    const outcomes = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const failed = settled.filter((each) => each.status === 'rejected');
    if (outcomes.length === 0 || failed.some(({ reason }) => isRefusal(reason))) {
      throw failed[0]!.reason;
    }
    const unreached = shards.filter((_, i) => settled[i]!.status === 'rejected').map(({ name }) => name);
    return {
      done: outcomes.reduce((sum, { done }) => sum + done, 0),
      spared: outcomes.reduce((sum, { spared = 0 }) => sum + spared, 0),
      ...(unreached.length > 0 && { unreached }),
    };
  }

  /** @throws ForbiddenException unless the request has all the permissions */
  async admit(request: DashboardRequest, needs: readonly Need[]): Promise<void> {
    for (const need of needs) {
      await this.permissions.require(request, need);
    }
  }
}

/** Returns the number for the action log. */
function doneOf({ done }: Outcome): number {
  return done;
}

/** Returns whether the error means that nothing was changed. */
function isRefusal(error: unknown): boolean {
  return [HttpException, InvalidOptionError, InvalidPayloadError, EncryptedQueueError].some(
    (type) => error instanceof type,
  );
}

type CallOf<Input> = Input extends { queue: string } ? QueueCall : Call;
/** A decorator of methods of this type only. */
type Declares<Method> = <Own extends Method>(
  target: object,
  key: string,
  found: TypedPropertyDescriptor<Own>,
) => void;

/** What the input of a change may name. */
interface Named {
  queue: string;
  id?: string;
  ids?: readonly string[];
  group?: string;
}

interface Change<Input, Controller> {
  /** Returns the permissions that the change needs. @default those of the action of its entry */
  needs?(input: Input, controller: Controller): readonly Need[] | Promise<readonly Need[]>;
  /** Returns its entry in the action log. */
  logs(input: Input): NewAction;
}

/** The base of controllers. Their routes are declared by the decorators of this file, and by no others. */
export abstract class Routes {
  @Inject(RouteRunner) protected readonly runner!: RouteRunner;
}

/**
 * Declares a route that reads. Its query is checked by the schema, and its value is sent as JSON.
 *
 * @param needs the permissions; by default `view` of the queue in the query
 */
export function Reads<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  needs: (input: z.output<Schema>) => readonly Need[] = viewOf,
): Declares<(input: z.output<Schema>, call: CallOf<z.output<Schema>>) => unknown> {
  return (target, key, found) => {
    const route = { schema, needs, run: runOf(found) };
    serve(target, key, found, Get(path), function (request, response) {
      return this.runner.read(this, route, request, response);
    });
  };
}

/** Declares a route whose value is downloaded as a file. Otherwise it is as one of `Reads`. */
export function Downloads<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  needs: (input: z.output<Schema>) => readonly Need[],
): Declares<(input: z.output<Schema>, call: CallOf<z.output<Schema>>) => Promise<TextFile>> {
  return (target, key, found) => {
    const route = { schema, needs, run: runOf(found) };
    serve(target, key, found, Get(path), function (request, response) {
      return this.runner.download(this, route, request, response);
    });
  };
}

/**
 * Declares a route that changes something. Its body is checked by the schema. Then follow the permissions, the name of
 * the user, the entry in the action log, and the change.
 */
export function Changes<Schema extends z.ZodType<{ queue: string }>, Controller extends Routes>(
  path: string,
  schema: Schema,
  { logs, needs = (input) => needsOf(logs(input).action, input) }: Change<z.output<Schema>, Controller>,
): Declares<(input: z.output<Schema>, call: ChangeCall) => Promise<Outcome>> {
  return (target, key, found) => {
    const route = { schema, needs, logs, run: runOf(found) };
    serve(target, key, found, Post(path), function (request, response) {
      return this.runner.change(this, route, request, response);
    });
  };
}

/** Declares a file of the page. It may be opened by a link of another site. */
export function Serves(
  path: string,
  needs: readonly Need[],
): Declares<(request: never, response: unknown) => unknown> {
  return (target, key, found) => {
    const method = found.value!;
    serve(target, key, found, Get(path), async function (request, response) {
      await this.runner.admit(request, needs);
      return method.call(this, request as never, response);
    });
    declareRoute(found.value!, 'page');
  };
}

/** Declares a stream of events. It needs `view` to open; its method decides what each event may show. */
export function Streams(path: string): Declares<(request: DashboardRequest, response: unknown) => void> {
  return (target, key, found) => {
    const method = found.value!;
    serve(target, key, found, Get(path), async function (request, response) {
      await this.runner.admit(request, [{ action: 'view' }]);
      method.call(this, request, response);
    });
  };
}

/** Replaces the method by a handler of Nest, whose arguments are the request and the response. */
function serve(
  target: object,
  key: string,
  found: PropertyDescriptor,
  method: MethodDecorator,
  handler: (this: Routes & { runner: RouteRunner }, request: DashboardRequest, response: unknown) => unknown,
): void {
  found.value = handler;
  Req()(target, key, 0);
  Res()(target, key, 1);
  method(target, key, found);
  declareRoute(handler, 'api');
}

function runOf({ value }: PropertyDescriptor) {
  const method = value as (input: unknown, call: Call) => never;
  return (controller: object, input: unknown, call: Call) => method.call(controller, input, call);
}

/** Returns the permissions of an action on what its input names. */
function needsOf(action: LoggedAction, input: Named): Need[] {
  const { queue, id, ids, group } = input;
  const name = actionOf(action);
  const subject: Omit<Need, 'action'> = withoutUndefined({ queue, id, ids, group });
  return permissionsOf(name).map((permission) => ({
    action: permission,
    ...subject,
    isBlind: 'isBlind' in ACTIONS[name],
  }));
}

function viewOf(input: unknown): Need[] {
  const { queue } = (input ?? {}) as { queue?: string };
  return [{ action: 'view', ...(queue !== undefined && { queue }) }];
}
