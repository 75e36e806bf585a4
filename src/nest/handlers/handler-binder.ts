import { AsyncLocalStorage } from 'node:async_hooks';
import { Inject, Injectable, type ArgumentsHost, type Type } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  ROUTE_ARGS_METADATA,
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  PIPES_METADATA,
} from '@nestjs/common/constants.js';
import {
  ApplicationConfig,
  ModulesContainer,
  type ContextId,
  type DiscoveryService,
  ExternalContextCreator,
  NestContainer,
  ContextIdFactory,
  ModuleRef,
} from '@nestjs/core';
import { BaseExceptionFilterContext } from '@nestjs/core/exceptions/base-exception-filter-context.js';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { STATIC_CONTEXT } from '@nestjs/core/injector/constants.js';
import { REQUEST_CONTEXT_ID } from '@nestjs/core/router/request/request-constants.js';
import { isObservable, lastValueFrom } from 'rxjs';
import { InvalidOptionError, JobQueueError, NonRetryableError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { AroundEachJob, HandlerFunction } from '../../worker/handlers/handler.js';
import type { Job } from '../../worker/handlers/job.js';
import { JOB_CONTEXT, jobParameters, parameterRecords, WRITE_PIPES } from './job-params.decorator.js';
import { RESOLVED_OPTIONS, type ResolvedModuleOptions, type EnhancerKind } from '../job-queue.options.js';

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
      renameAdvice(type, method),
    );
  }
  return (each, args) => (each[method] as (...args: unknown[]) => unknown).apply(each, args);
}

/** Members of a class that are no handlers: Nest calls them. */
const OF_NEST =
  /^(constructor|onModule(Init|Destroy)|onApplication(Bootstrap|Shutdown)|beforeApplicationShutdown)$/;

/** Returns the advice to rename the method that was probably meant: the only one of the class. */
function renameAdvice({ prototype }: FoundMethod['type'], method: PropertyKey): string {
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype ?? {}))
    .filter(([name, { value }]) => typeof value === 'function' && !OF_NEST.test(name))
    .map(([name]) => name);
  return own.length === 1 ? `Rename ${own[0]} to ${String(method)}.` : '';
}

/** A provider or controller as Nest keeps it. */
export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** The class and the method of a handler, and where Nest keeps it. */
interface Decorated {
  /** The name of the handler in errors. */
  subject: string;
  type: HandlerClass;
  method: string | symbol;
  wrapper: Wrapper;
}

/** A handler that Nest found. */
interface FoundMethod extends Decorated {
  /** The provider; undefined while Nest has not made it. */
  instance: HandlerHost['instance'] | undefined;
}

/** The class of a handler, with any constructor. */
export interface HandlerClass {
  readonly name: string;
  readonly prototype: object;
}

/** An instance of a handler's class with the function that Nest calls. */
interface HandlerHost {
  wrapper: Wrapper;
  instance: Record<PropertyKey, unknown>;
  /** Calls the handler; has the metadata of its method. */
  callback: (...args: unknown[]) => unknown;
  /** The context of scoped enhancers; undefined for static ones. */
  contextId: ContextId | undefined;
}

type Call = (instance: HandlerHost['instance'], args: unknown[]) => unknown;

/**
 * The job of a call whose parameters are decorated: Nest gives such a handler those parameters alone. All such handlers
 * share one, because below Node 24 each storage in use slows down every promise of the process.
 */
const jobOfCall = new AsyncLocalStorage<Job>();

/** Calls handlers through their guards, interceptors, pipes and exception filters, by Nest's own means. */
class EnhancedHandlers {
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
const LATER_STATUSES = [408, 425, 429];

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
  return typeof status === 'number' && status >= 400 && status < 500 && !LATER_STATUSES.includes(status);
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

/** The modules of the app, with the global enhancers that apply to jobs. Nest looks both up in a container. */
class EnhancerContainer extends NestContainer {
  /** The global enhancers that hold for jobs. */
  readonly config: ApplicationConfig;

  /** @throws InvalidOptionError for a scoped global enhancer */
  constructor(
    private readonly appModules: ModulesContainer,
    app: ApplicationConfig,
    kinds: readonly EnhancerKind[],
  ) {
    const config = configOf(app, kinds);
    super(config);
    this.config = config;
  }

  override getModules(): ModulesContainer {
    return this.appModules;
  }

  /** Returns whether any global enhancer holds for jobs. */
  get hasGlobals(): boolean {
    const { config } = this;
    return [
      config.getGlobalGuards(),
      config.getGlobalInterceptors(),
      config.getGlobalPipes(),
      config.getGlobalFilters(),
    ].some((list) => list.length > 0);
  }
}

/** @throws InvalidOptionError for a scoped global enhancer, which Nest creates only for its own requests */
function configOf(app: ApplicationConfig, kinds: readonly EnhancerKind[]): ApplicationConfig {
  const config = new ApplicationConfig();
  const scoped = {
    guards: app.getGlobalRequestGuards(),
    interceptors: app.getGlobalRequestInterceptors(),
    pipes: app.getGlobalRequestPipes(),
    filters: app.getGlobalRequestFilters(),
  };
  const take = {
    guards: () => config.useGlobalGuards(...app.getGlobalGuards()),
    interceptors: () => config.useGlobalInterceptors(...app.getGlobalInterceptors()),
    pipes: () => config.useGlobalPipes(...app.getGlobalPipes()),
    filters: () => config.useGlobalFilters(...app.getGlobalFilters()),
  };
  for (const kind of kinds) {
    if (scoped[kind].length > 0) {
      throw new InvalidOptionError(
        'JobQueueModule.forRoot.globalEnhancers',
        `global ${kind} of the default scope`,
        `a scoped one, ${scoped[kind][0]!.metatype?.name ?? 'of a factory'}`,
        `Leave ${kind} out, or put it on the handlers that need it.`,
      );
    }
    take[kind]();
  }
  return config;
}

/** An instance, or the class that Nest makes it of. */
type Enhancer = object | Type;

const ENHANCER_METADATA = [GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA, EXCEPTION_FILTERS_METADATA];

/** Returns whether a handler has its own enhancers or decorated parameters. */
function hasEnhancers(handler: Decorated): boolean {
  return (
    ENHANCER_METADATA.some((kind) => enhancersOf(handler, kind).length > 0) || parametersOf(handler).length > 0
  );
}

/** Returns whether a handler has pipes, or parameters for them. */
export function hasPipes(handler: Decorated): boolean {
  return enhancersOf(handler, PIPES_METADATA).length > 0 || parametersOf(handler).length > 0;
}

/**
 * Refuses enhancers that Nest would skip without a word.
 *
 * @param globalPipes the pipes of the app that apply to jobs
 * @throws InvalidOptionError
 */
function checkEnhancers(handler: Decorated, globalPipes: readonly object[] = []): void {
  const { subject } = handler;
  const { host } = handler.wrapper;
  if (typeof handler.method === 'symbol') {
    throw new InvalidOptionError(subject, 'a method with a text as its name, since it has enhancers', 'a symbol');
  }
  if (enhancersOf(handler, PIPES_METADATA).length > 0 && parametersOf(handler).length === 0) {
    throw new InvalidOptionError(
      subject,
      'a parameter with @JobPayload() for its pipes',
      'none',
      'Write handle(@JobPayload() payload: EmailDto).',
    );
  }
  checkSchemas(handler, globalPipes);
  const parameterPipes = parametersOf(handler).flatMap(({ pipes = [] }) => pipes);
  const classes = [...ENHANCER_METADATA.flatMap((kind) => enhancersOf(handler, kind)), ...parameterPipes].filter(
    (each): each is Type => typeof each === 'function',
  );
  const unknown = classes.find((each) => !host?.injectables.has(each));
  if (unknown) {
    throw new InvalidOptionError(
      subject,
      'enhancers that Nest makes: those of a class in providers',
      `${unknown.name} on what a factory or value provides`,
      'Provide the class itself, or decorate it with instances: @UseGuards(new TenantGuard()).',
    );
  }
}

/** The pipes of Nest that read no schema. */
const WITHOUT_SCHEMA = /^(Parse\w+|DefaultValue|Validation)Pipe$/;

/** @throws InvalidOptionError for a schema that no pipe applies, so that any payload would reach the handler */
function checkSchemas(handler: Decorated, globalPipes: readonly object[]): void {
  const shared = [...globalPipes, ...enhancersOf(handler, PIPES_METADATA)];
  const unread = parametersOf(handler).find(
    ({ schema, pipes = [] }) => schema !== undefined && [...shared, ...pipes].every(readsNoSchema),
  );
  if (unread) {
    throw new InvalidOptionError(
      handler.subject,
      'a pipe that applies the schema of @JobPayload',
      'none',
      WRITE_PIPES,
    );
  }
}

function readsNoSchema(pipe: Enhancer): boolean {
  return WITHOUT_SCHEMA.test(typeof pipe === 'function' ? pipe.name : pipe.constructor.name);
}

function enhancersOf({ type, method }: Decorated, kind: string): Enhancer[] {
  const callback = (type.prototype as Record<PropertyKey, unknown>)[method];
  const ofMethod: unknown = typeof callback === 'function' ? Reflect.getMetadata(kind, callback) : undefined;
  return [Reflect.getMetadata(kind, type), ofMethod].flatMap((list) =>
    Array.isArray(list) ? (list as Enhancer[]) : [],
  );
}

function parametersOf({ type, method }: Decorated) {
  return parameterRecords(type, method);
}

/** A context id with the payload of a strategy for durable providers. */
type Context = ContextId & { payload?: unknown };

/** An instance for one attempt, and the context that its scoped dependencies live in. */
interface ScopedInstance {
  instance: HandlerHost['instance'];
  contextId: ContextId;
}

/** Returns whether a provider is created for each attempt. */
export function isScoped(wrapper: Wrapper): boolean {
  return wrapper.isTransient || !wrapper.isDependencyTreeStatic();
}

/** Returns whether a provider can be called: Nest has made it, or makes it for each attempt. */
export function isMade(wrapper: Wrapper): boolean {
  return isScoped(wrapper) || wrapper.getInstanceByContextId(STATIC_CONTEXT).isResolved === true;
}

/**
 * Makes the instance of a scoped handler for one attempt: the job is the request. The context is dropped after the
 * attempt, except for durable providers, whose strategy keeps it.
 */
async function resolveForAttempt(wrapper: Wrapper, job: Job): Promise<ScopedInstance> {
  const ref = wrapper.host!.getProviderByKey<ModuleRef>(ModuleRef).instance;
  const contextId = contextOf(wrapper, job, ref);
  const instance: unknown = await ref.resolve(wrapper.token, contextId, { strict: true });
  return { instance: instance as HandlerHost['instance'], contextId };
}

/** Stores the context as Nest does for an HTTP request: `ContextIdFactory.getByRequest(job)` finds it from now on. */
function contextOf(wrapper: Wrapper, job: Job, ref: ModuleRef): ContextId {
  const contextId: Context = ContextIdFactory.getByRequest(job);
  Object.defineProperty(job, REQUEST_CONTEXT_ID, { value: contextId, enumerable: false, configurable: true });
  const isDurable = wrapper.isDependencyTreeDurable();
  const request = isDurable ? contextId.payload : Object.assign(job, contextId.payload);
  ref.registerRequestByContextId(request, contextId);
  return contextId;
}
