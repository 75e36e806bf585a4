import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import { ModuleRef, ModulesContainer, type NestContainer, type LazyModuleLoader } from '@nestjs/core';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { CONNECTION_NAME, DEFAULT_CONNECTION } from '../connection/connection-tokens.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import type { ServerConnection } from '../connection/server-connection.js';
import { containerOf } from '../context/container.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { JobListeners } from '../handlers/job-listeners.js';
import type { ResolvedModuleOptions } from '../job-queue.options.js';
import type { VerdictWatch } from './verdict-watch.js';
import type { BootAudit } from './boot-audit.js';
import type { MaintenanceScheduler } from './maintenance.scheduler.js';
import type { ModuleMiddleware } from './module-middleware.js';

/** Starts when the app is ready, and stops before anything else of the app. */
export interface Runtime {
  start(): Promise<void>;
  drain(): Promise<void>;
  /** Drains, and closes its connection. */
  close(): Promise<void>;
}

/**
 * Calls a runtime after every other provider's bootstrap hook and before every other provider's shutdown hook.
 *
 * Nest orders modules by their distance from the root: far ones bootstrap first and shut down last. A global module is
 * the farthest of all. A worker needs the reverse, because it calls into the whole app. So these hooks are in a
 * separate module, which is placed nearer than the root.
 */
@Injectable()
export class LifecycleOrder implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly runtimes = new Map<string, Runtime>();

  constructor(
    container: ModulesContainer,
    private readonly ref: ModuleRef,
  ) {
    const modules = [...container.values()];
    const own = modules.find(({ metatype }) => metatype === LifecycleOrderModule)!;
    own.distance = Math.min(...modules.map(({ distance }) => distance)) - 1;
  }

  /** @throws InvalidOptionError at the second one: two would run every handler twice */
  attach(runtime: Runtime, connection: string): void {
    if (this.runtimes.has(connection)) {
      throw new InvalidOptionError(
        'JobQueueModule.forRoot',
        'to be imported once in an app',
        `${connection === DEFAULT_CONNECTION ? 'two imports' : `two imports of the name "${connection}"`}${importersInWords(this.ref, connection)}`,
        'It is global: import it in the root module only, or share one constant. ' +
          'A dynamic module that is imported twice is two modules: let it return one constant. ' +
          'For another Redis server give it another name.',
      );
    }
    this.runtimes.set(connection, runtime);
  }

  /** The names of the connections of the app. */
  get connections(): string[] {
    return [...this.runtimes.keys()];
  }

  /** Starts all runtimes. If one fails, closes all. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      for (const runtime of this.runtimes.values()) {
        await runtime.start();
      }
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Closes all runtimes of an app that does not boot, because Nest calls no hook of it. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.runtimes.values()].map((runtime) => runtime.close()));
  }

  /** Stops before other providers close in their `onModuleDestroy` what running handlers need. */
  async onModuleDestroy(): Promise<void> {
    await this.drain();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.drain();
  }

  private async drain(): Promise<void> {
    await Promise.all([...this.runtimes.values()].map((runtime) => runtime.drain()));
  }
}

@Module({ providers: [LifecycleOrder], exports: [LifecycleOrder] })
export class LifecycleOrderModule {}

/** A module of the app with its own imports. Nest adds every global module to those of each module. */
interface Importer {
  name: string;
  metatype: unknown;
  imports: unknown[];
}

/** Returns the modules that import a connection, for an error: `, in AppModule and ReportsModule`. */
function importersInWords(ref: ModuleRef, connection: string): string {
  const all = importersIn(containerOf(ref));
  const found = all.flatMap((each) => each.imports.filter((it) => isRoot(it, connection)).map(() => each));
  const shown = found.map((each) =>
    found.some((other) => other !== each && other.name === each.name)
      ? `${each.name} (imported by ${namesOf(all.filter(({ imports }) => imports.some((it) => typeOf(it) === each.metatype)))})`
      : each.name,
  );
  return shown.length === 0 ? '' : `, in ${[...new Set(shown)].join(' and ')}`;
}

function importersIn(container: NestContainer): Importer[] {
  return [...container.getModules().values()].map(({ name, metatype, token }) => ({
    name,
    metatype,
    imports: [
      ...((Reflect.getMetadata(MODULE_METADATA.IMPORTS, metatype) as unknown[] | undefined) ?? []),
      ...(container.getDynamicMetadataByToken(token, 'imports') as unknown[]),
    ],
  }));
}

/** Returns whether an import is the `forRoot` of a connection. It imports the core module, which has the name. */
function isRoot(imported: unknown, connection: string): boolean {
  const { imports } = (imported ?? {}) as Partial<DynamicModule>;
  const core = (Array.isArray(imports) ? imports[0] : undefined) as Partial<DynamicModule> | undefined;
  const named = core?.providers?.find((each) => 'provide' in each && each.provide === CONNECTION_NAME);
  return named !== undefined && ((named as { useValue?: unknown }).useValue ?? DEFAULT_CONNECTION) === connection;
}

function typeOf(imported: unknown): unknown {
  return (imported as Partial<DynamicModule> | null)?.module ?? imported;
}

function namesOf(importers: readonly Importer[]): string {
  return importers.map(({ name }) => name).join(' and ') || 'the root';
}

/** The parts of a connection that its worker's life needs. */
export interface LifecycleParts {
  readonly hooks: LifecycleOrder;
  readonly options: ResolvedModuleOptions;
  readonly redis: ServerConnection;
  readonly queues: QueueRegistry;
  readonly handlers: HandlerRegistry;
  readonly maintenance: MaintenanceScheduler;
  readonly verdicts: VerdictWatch;
  readonly logger: JobQueueLogger;
  readonly listeners: JobListeners;
  readonly audit: BootAudit;
  readonly middleware: ModuleMiddleware;
  readonly lazyModules: LazyModuleLoader;
  readonly connection: string;
}
