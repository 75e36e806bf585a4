import type { ArgumentsHost } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA } from '@nestjs/common/constants.js';
import { BaseExceptionFilterContext } from '@nestjs/core/exceptions/base-exception-filter-context.js';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { isObservable, lastValueFrom } from 'rxjs';
import type { Job } from '../../worker/handlers/job.js';
import type { EnhancerContainer } from './enhancer-container.js';
import type { HandlerHost } from './handler-host.js';
import { JOB_CONTEXT } from './job-context.js';

/** A filter as Nest lists it. */
interface ListedFilter {
  func: (error: unknown, host: ArgumentsHost) => unknown;
  exceptionMetatypes: (abstract new (...args: never[]) => unknown)[];
}

/** Finds the exception filters of a handler: the method's before the class's before the app's. */
export class JobFilterContext extends BaseExceptionFilterContext {
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
export class JobFilters {
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
