import { AsyncLocalStorage } from 'node:async_hooks';
import type { ArgumentsHost } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { type ContextId, ExternalContextCreator } from '@nestjs/core';
import { BaseExceptionFilterContext } from '@nestjs/core/exceptions/base-exception-filter-context.js';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { isObservable, lastValueFrom } from 'rxjs';
import { JobQueueError, NonRetryableError } from '../../queue/errors/errors.js';
import type { HandlerFunction } from '../../worker/handlers/handler.js';
import type { Job } from '../../worker/handlers/job.js';
import type { EnhancerContainer } from './enhancer-container.js';
import type { Call, Decorated, HandlerHost } from './handler-host.js';
import { JOB_CONTEXT } from './job-context.js';
import { jobParameters, parameterRecords } from './job-params.decorator.js';

/**
 * The job of a call whose parameters are decorated: Nest gives such a handler those parameters alone. All such handlers
 * share one, because below Node 24 each storage in use slows down every promise of the process.
 */
const jobOfCall = new AsyncLocalStorage<Job>();

/** Calls handlers through their guards, interceptors, pipes and exception filters, by Nest's own means. */
export class EnhancedHandlers {
  /** The jobs whose handler was called after guards and pipes. */
  private readonly begun = new WeakSet<Job>();
  private readonly creator: ExternalContextCreator;
  private readonly filters: JobFilterContext;

  constructor(container: EnhancerContainer) {
    this.creator = ExternalContextCreator.fromContainer(container);
    this.filters = new JobFilterContext(container);
  }

  /**
   * Makes the function that runs an instance's handler inside of its enhancers.
   *
   * @param contextId where scoped enhancers live; undefined for shared ones
   * @param call calls the handler itself
   */
  wrap(
    handler: Decorated,
    instance: HandlerHost['instance'],
    contextId: ContextId | undefined,
    call: Call,
  ): HandlerFunction {
    const { wrapper } = handler;
    const callback = this.callbackOf(handler, instance, call);
    const run = this.creator.create(
      instance,
      callback,
      handler.method as string,
      ROUTE_ARGS_METADATA,
      jobParameters,
      contextId,
      wrapper.id,
      { guards: true, interceptors: true, filters: false }, // Nest's filters would log each error
      JOB_CONTEXT,
    ) as (job: Job) => Promise<unknown>;
    const filters = this.filters.of({ wrapper, instance, callback, contextId });
    const runFiltered = (job: Job) => this.runWithFilters(job, run, filters);
    return hasParameters(handler) ? (job) => jobOfCall.run(job, runFiltered, job) : runFiltered;
  }

  private async runWithFilters(
    job: Job,
    run: (job: Job) => Promise<unknown>,
    filters: JobFilters,
  ): Promise<unknown> {
    try {
      return await run(job);
    } catch (error) {
      const decided = await filters.decide(error, job);
      throw decided === error && !this.begun.has(job) && isRefusal(error) ? finalRefusal(error) : decided;
    }
  }

  /**
   * Returns the function that Nest calls instead of the method. Its prototype has the method's metadata. It reads the
   * method at each call, so that a test can replace it.
   */
  private callbackOf(
    { type, method }: Decorated,
    instance: HandlerHost['instance'],
    call: Call,
  ): HandlerHost['callback'] {
    const decorated = parameterRecords(type, method);
    const takesJob = decorated.length > 0 && !decorated.some(({ index }) => index === 0);
    const callback = (...args: unknown[]) => {
      const job = decorated.length > 0 ? jobOfCall.getStore() : (args[0] as Job);
      if (!job) {
        throw new JobQueueError(
          'An enhancer has left the async context of its job: call next.handle() inside of it.',
        );
      }
      this.begun.add(job);
      if (takesJob) {
        args[0] = job;
      }
      return call(instance, args);
    };
    const original: unknown = (type.prototype as Record<PropertyKey, unknown>)[method];
    Object.setPrototypeOf(callback, typeof original === 'function' ? original : Function.prototype);
    return Object.defineProperty(callback, 'name', { value: String(method) });
  }
}

function hasParameters({ type, method }: Decorated): boolean {
  return parameterRecords(type, method).length > 0;
}

/** Statuses of a 4xx that say "later", not "no". */
const LATER = [408, 425, 429];

/**
 * Returns whether a guard or a pipe refused the job: an HttpException of 4xx, also of another copy of Nest. Any other
 * error, such as a lost database, says nothing about the job.
 */
function isRefusal(error: unknown): error is Error {
  const getStatus = (error as { getStatus?: unknown } | null)?.getStatus;
  if (!(error instanceof Error) || typeof getStatus !== 'function') {
    return false;
  }
  const status: unknown = getStatus.call(error);
  return typeof status === 'number' && status >= 400 && status < 500 && !LATER.includes(status);
}

/** Returns the error that fails a refused job permanently, with the name and the details of the refusal. */
function finalRefusal(error: Error): NonRetryableError {
  const final = new NonRetryableError(messageOf(error), { cause: error });
  final.name = error.name;
  return final;
}

/** Returns the faults of a ValidationPipe, which are in its response; its message is only "Bad Request Exception". */
function messageOf(error: Error): string {
  const { getResponse } = error as { getResponse?: () => unknown };
  const response = typeof getResponse === 'function' ? getResponse.call(error) : undefined;
  const messages = (response as { message?: unknown } | null | undefined)?.message;
  return Array.isArray(messages) ? `${error.message}: ${messages.map(String).join('; ')}` : error.message;
}

/** A filter as Nest lists it. */
interface ListedFilter {
  func: (error: unknown, host: ArgumentsHost) => unknown;
  exceptionMetatypes: (abstract new (...args: never[]) => unknown)[];
}

/** Finds the exception filters of a handler: the method's before the class's before the app's. */
class JobFilterContext extends BaseExceptionFilterContext {
  constructor(private readonly enhancers: EnhancerContainer) {
    super(enhancers);
  }

  of({ instance, callback, contextId, wrapper }: HandlerHost): JobFilters {
    this.moduleContext = wrapper.host!.token;
    const list = this.createContext<ListedFilter[], ListedFilter[]>(
      instance,
      callback,
      EXCEPTION_FILTERS_METADATA,
      contextId,
      wrapper.id,
    );
    return new JobFilters(list.toReversed());
  }

  /** Returns the global filters. Its type is `never`, because Nest declares a list of whatever its caller asks for. */
  override getGlobalMetadata(): never {
    return this.enhancers.config.getGlobalFilters() as never;
  }
}

/** The exception filters of one handler. */
class JobFilters {
  constructor(private readonly list: readonly ListedFilter[]) {}

  /**
   * Lets the first filter that matches an error replace it.
   *
   * @returns what the filter throws; the error itself if no filter matches, or if the filter returns
   */
  async decide(error: unknown, job: Job): Promise<unknown> {
    const filter = this.list.find(
      ({ exceptionMetatypes: types }) => types.length === 0 || types.some((type) => error instanceof type),
    );
    if (!filter) {
      return error;
    }
    const host = new ExecutionContextHost([job]);
    host.setType(JOB_CONTEXT);
    try {
      const returned = await filter.func(error, host);
      // A filter of microservices returns an observable that throws when it is subscribed to.
      await (isObservable(returned) ? lastValueFrom(returned, { defaultValue: undefined }) : undefined);
      return error;
    } catch (thrown) {
      return thrown;
    }
  }
}
