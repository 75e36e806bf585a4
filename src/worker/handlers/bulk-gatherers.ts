import { compose, type Link } from '../../queue/model/compose.js';
import { BulkGatherer, type BulkOwner, type BulkMember } from './bulk-calls.js';
import { withMiddleware, type AttemptMiddleware } from './attempt-middleware.js';
import { definitionOf, schemaMiddleware } from './define-handler.js';
import {
  type Handler,
  type HandlerFunction,
  type HandlerRetries,
  aroundEachJob,
  resolveBulkOptions,
  type BulkCall,
  type BulkHandler,
  type ResolvedBulk,
} from './handler.js';
import type { Job } from './job.js';

/** The bulk handlers of a queue runner, and the count of its slots. A slot is a call of any handler. */
export class BulkGatherers {
  /** Returns undefined without a bulk handler, so that a plain queue pays nothing. */
  static of(
    handlers: ReadonlyMap<string, ResolvedHandler>,
    concurrency: () => number,
    owner: BulkOwner,
  ): BulkGatherers | undefined {
    const gatherers = new Map(
      [...handlers].flatMap(([name, { bulk }]) => (bulk ? [[name, new BulkGatherer(bulk, owner)] as const] : [])),
    );
    return gatherers.size > 0 ? new BulkGatherers(gatherers, concurrency) : undefined;
  }

  /** The most jobs of one call. */
  readonly size: number;
  /** The most jobs of one group that are called together; 1 if no call is of one group. */
  readonly sizeByGroup: number;
  private readonly all: readonly BulkGatherer[];

  private constructor(
    private readonly byName: ReadonlyMap<string, BulkGatherer>,
    private readonly concurrency: () => number,
  ) {
    this.all = [...byName.values()];
    this.size = Math.max(...this.all.map(({ size }) => size));
    this.sizeByGroup = Math.max(1, ...this.all.map(({ size, isByGroup }) => (isByGroup ? size : 1)));
  }

  of(name: string): BulkGatherer | undefined {
    return this.byName.get(name);
  }

  /** Returns how many calls run. @param running jobs of the runner whose handlers run */
  calls(running: number): number {
    const inBulk = this.sum(({ running: jobs }) => jobs);
    return this.sum(({ calls }) => calls) + running - inBulk;
  }

  /** Returns how many more jobs fit. @param others jobs that wait elsewhere, or are in flight */
  room(running: number, others: number): number {
    return this.isSpokenFor(running)
      ? 0
      : this.free(running) * this.size - this.sum(({ gathered }) => gathered) - others;
  }

  /** Returns whether the waiting jobs need more calls than there are slots. Then they run before others are claimed. */
  isSpokenFor(running: number): boolean {
    return this.sum(({ neededCalls }) => neededCalls) > this.free(running);
  }

  private free(running: number): number {
    return Math.max(0, this.concurrency() - this.calls(running));
  }

  /** Returns how many slots are in use or reserved. Jobs that wait may need more calls than full ones. @param others as of room */
  used(running: number, others: number): number {
    const full = Math.ceil((this.sum(({ gathered }) => gathered) + others) / this.size);
    return (
      this.calls(running) +
      Math.max(
        full,
        this.sum(({ neededCalls }) => neededCalls),
      )
    );
  }

  /** True if waiting jobs are due, so that only a slot is missing. */
  get hasDue(): boolean {
    return this.all.some((gatherer) => gatherer.hasDue);
  }

  beginDue(): void {
    this.all.forEach((gatherer) => gatherer.beginDue());
  }

  releaseWaiting(): void {
    this.all.forEach((gatherer) => gatherer.releaseWaiting());
  }

  left(attempt: BulkMember): void {
    this.all.forEach((gatherer) => gatherer.left(attempt)); // a handler of every name has jobs of other names than its own
  }

  private sum(count: (gatherer: BulkGatherer) => number): number {
    return this.all.reduce((sum, gatherer) => sum + count(gatherer), 0);
  }
}

/** A handler as a queue runner uses it. With `bulk`, that does the work, and `handle` is never called. */
export interface ResolvedHandler extends Handler, HandlerRetries {
  bulk?: ResolvedBulk;
}

/** A call that passes through the middleware. */
interface CallInMiddleware {
  jobs: Job[];
  call: BulkCall;
}

export function isBulk(handler: HandlerFunction | Handler | BulkHandler): handler is BulkHandler {
  return typeof handler === 'object' && (handler as Partial<BulkHandler>).bulk !== undefined;
}

/** Puts a bulk handler inside of the middleware, which acts once around each call. */
export function resolveBulk(
  handler: BulkHandler,
  middleware: readonly AttemptMiddleware[],
): Omit<ResolvedHandler, keyof HandlerRetries> {
  const { bulk, handle: _handle, ...options } = handler;
  const links = middleware
    .filter((each) => each.bulk)
    .map(
      (each): Link<CallInMiddleware, unknown> =>
        ({ jobs }, next) =>
          each.bulk!(jobs, next),
    );
  const chain = compose<CallInMiddleware, unknown>(links, ({ jobs, call }) => handler.handle(jobs, call));
  const definition = definitionOf(handler);
  const schemas = definition ? [schemaMiddleware(definition)] : [];
  return {
    ...options,
    handle: () => undefined,
    bulk: {
      ...resolveBulkOptions(bulk),
      call: (jobs, call) => chain({ jobs, call }),
      around: (join) => withMiddleware(schemas, aroundEachJob(handler)?.(join) ?? join),
    },
  };
}
