import { AsyncLocalStorage } from 'node:async_hooks';
import { ExternalContextCreator, type ContextId } from '@nestjs/core';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { JobQueueError } from '../../queue/errors/errors.js';
import type { HandlerFunction } from '../../worker/handlers/handler.js';
import type { Job } from '../../worker/handlers/job.js';
import type { EnhancerContainer } from './enhancer-container.js';
import type { Call, Decorated, HandlerHost } from './handler-host.js';
import { JobFilterContext, type JobFilters } from './job-filters.js';
import { JOB_CONTEXT } from './job-context.js';
import { jobParameters, parameterRecords } from './job-params.decorator.js';
import { finalRefusal, isRefusal } from './refusal.js';

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
