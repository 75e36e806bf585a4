import { Inject, Injectable } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { AroundEachJob, HandlerFunction } from '../../worker/handlers/handler.js';
import type { Job } from '../../worker/handlers/job.js';
import { RESOLVED_OPTIONS, type ResolvedModuleOptions } from '../options/job-queue.options.js';
import { isScoped, resolveForAttempt } from './attempt-scope.js';
import { EnhancedHandlers } from './enhanced-handlers.js';
import { EnhancerContainer } from './enhancer-container.js';
import { checkEnhancers, hasEnhancers } from './enhancer-metadata.js';
import type { Call, FoundMethod, HandlerHost } from './handler-host.js';

type Instance = HandlerHost['instance'];

/**
 * Returns the function that a worker calls for a handler: the method, or Nest's external context if it has enhancers.
 */
@Injectable()
export class HandlerBinder {
  private container: EnhancerContainer | undefined;
  private enhanced: EnhancedHandlers | undefined;

  constructor(
    private readonly modules: ModulesContainer,
    private readonly app: ApplicationConfig,
    @Inject(RESOLVED_OPTIONS) private readonly options: Pick<ResolvedModuleOptions, 'globalEnhancers'>,
  ) {}

  /**
   * @param thread runs the job in place of the method
   * @throws InvalidOptionError that names class and method
   */
  bind(found: FoundMethod, thread?: HandlerFunction): HandlerFunction {
    const enhanced = this.enhancedFor(found);
    const call = thread ? (_instance: Instance, [job]: unknown[]) => thread(job as Job) : callerOf(found);
    if (isScoped(found.wrapper)) {
      return this.bindScoped(found, call, enhanced);
    }
    const instance = found.instance ?? {};
    if (!enhanced) {
      return (job) => call(instance, [job]);
    }
    return enhanced.wrap(found, instance, undefined, call);
  }

  /**
   * Returns the wrapper of each job of a bulk handler; undefined if it has no enhancers.
   *
   * @throws InvalidOptionError that names class and method
   */
  bindEachJob(found: FoundMethod): AroundEachJob | undefined {
    const enhanced = this.enhancedFor(found);
    return (
      enhanced &&
      ((join) => enhanced.wrap(found, found.instance ?? {}, undefined, (_instance, [job]) => join(job as Job)))
    );
  }

  /** Creates one instance for each attempt, with its enhancers. */
  private bindScoped(found: FoundMethod, call: Call, enhanced: EnhancedHandlers | undefined): HandlerFunction {
    return async (job) => {
      const { instance, contextId } = await resolveForAttempt(found.wrapper, job);
      return enhanced ? enhanced.wrap(found, instance, contextId, call)(job) : call(instance, [job]);
    };
  }

  /** Returns undefined for a handler without enhancers, and for a mock that a test put in a handler's place. */
  private enhancedFor(found: FoundMethod): EnhancedHandlers | undefined {
    this.container ??= new EnhancerContainer(this.modules, this.app, this.options.globalEnhancers);
    const { type, instance, wrapper } = found;
    const isOwn = isScoped(wrapper) || (instance && type.prototype.isPrototypeOf(instance));
    if (!isOwn || !(hasEnhancers(found) || this.container.hasGlobals)) {
      return undefined;
    }
    checkEnhancers(found, this.container.config.getGlobalPipes());
    return (this.enhanced ??= new EnhancedHandlers(this.container));
  }
}

/** Returns a function that reads the method at each call, so that a test can replace it. */
function callerOf({ subject, type, instance, method, wrapper }: FoundMethod): Call {
  const source = isScoped(wrapper) ? (type.prototype as Instance) : instance;
  if (typeof source?.[method] !== 'function') {
    throw new InvalidOptionError(
      subject,
      `a method ${String(method)}(job)`,
      show(source?.[method]),
      rename(type, method),
    );
  }
  return (each, args) => (each[method] as (...args: unknown[]) => unknown).apply(each, args);
}

/** Members of a class that are no handlers: Nest calls them. */
const OF_NEST =
  /^(constructor|onModule(Init|Destroy)|onApplication(Bootstrap|Shutdown)|beforeApplicationShutdown)$/;

/** Returns which method of a handler's class was probably meant: the only one. */
function rename({ prototype }: FoundMethod['type'], method: PropertyKey): string {
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype ?? {}))
    .filter(([name, { value }]) => typeof value === 'function' && !OF_NEST.test(name))
    .map(([name]) => name);
  return own.length === 1 ? `Rename ${own[0]} to ${String(method)}.` : '';
}
