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

/** One run of a handler through its enhancers. */
interface Run {
  readonly job: Job;
  /** Whether guards and pipes have let it through, and the handler was called. */
  begun: boolean;
}

/** Calls handlers through their guards, interceptors, pipes and exception filters, by Nest's own means. */
export class EnhancedHandlers {
  private readonly runs = new AsyncLocalStorage<Run>();
  private readonly creator: ExternalContextCreator;
  private readonly filters: JobFilterContext;

  constructor(container: EnhancerContainer) {
    this.creator = ExternalContextCreator.fromContainer(container);
    this.filters = new JobFilterContext(container);
  }

  /**
   * Makes the function that runs an instance's handler inside of its enhancers.
   *
   * @param contextId where scoped enhancers live; undefined for what is made once
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
      { guards: true, interceptors: true, filters: false }, // those of Nest would log each error
      JOB_CONTEXT,
    ) as (job: Job) => Promise<unknown>;
    const filters = this.filters.of({ wrapper, instance, callback, contextId });
    return (job) => {
      const state: Run = { job, begun: false };
      return this.runs.run(state, () => runWithFilters(state, run, filters));
    };
  }

  /**
   * The function that Nest calls in the place of the method. It has the method's metadata by its prototype, and looks the
   * method up at each call, so that one that a test replaces is the one that runs.
   */
  private callbackOf(
    { type, method }: Decorated,
    instance: HandlerHost['instance'],
    call: Call,
  ): HandlerHost['callback'] {
    const decorated = parameterRecords(type, method);
    const takesJob = decorated.length > 0 && !decorated.some(({ index }) => index === 0);
    const callback = (...args: unknown[]) => {
      const run = this.runs.getStore();
      if (!run) {
        throw new JobQueueError(
          'An enhancer has left the async context of its job: call next.handle() inside of it.',
        );
      }
      run.begun = true;
      if (takesJob) {
        args[0] = run.job;
      }
      return call(instance, args);
    };
    const original: unknown = (type.prototype as Record<PropertyKey, unknown>)[method];
    Object.setPrototypeOf(callback, typeof original === 'function' ? original : Function.prototype);
    return Object.defineProperty(callback, 'name', { value: String(method) });
  }
}

async function runWithFilters(
  state: Run,
  run: (job: Job) => Promise<unknown>,
  filters: JobFilters,
): Promise<unknown> {
  try {
    return await run(state.job);
  } catch (error) {
    const decided = await filters.decide(error, state.job);
    throw decided === error && !state.begun && isRefusal(error) ? finalRefusal(error) : decided;
  }
}
