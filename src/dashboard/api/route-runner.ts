import { HttpException, Injectable } from '@nestjs/common';
import type { z } from 'zod';
import type { NewAction } from '../../queue/actions/noted-action.js';
import { EncryptedQueueError } from '../../queue/errors/enqueue-errors.js';
import { InvalidOptionError, InvalidPayloadError } from '../../queue/errors/errors.js';
import { inTime } from '../../inspect/unreadable.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads } from '../live/shared-reads.js';
import { SnapshotFeed } from '../live/snapshot-feed.js';
import { Permissions, type Need } from '../security/permissions.js';
import { Redactor } from '../security/redactor.js';
import { checkInput, KnownQueues } from './known-queue.js';
import type { TextFile } from '../views/job-file.js';
import { Responder } from './responder.js';

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
export interface Route<Input = unknown> {
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
