import {
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { InvalidOptionError } from '../../queue/model/errors.js';

/** What starts when the app is ready and stops before anything else of it does. */
export interface Runtime {
  start(): Promise<void>;
  drain(): Promise<void>;
}

/**
 * Calls a runtime after every other provider's bootstrap hook and before every other provider's shutdown hook.
 *
 * Nest runs the hooks of modules by their distance from the root: far ones bootstrap first and shut down last, and a
 * global module is the farthest of all. A worker wants the reverse, since it calls into the whole app. So these hooks
 * live in a module of their own, which is put nearer than the root.
 */
@Injectable()
export class LifecycleOrder implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private runtime: Runtime | undefined;

  constructor(container: ModulesContainer) {
    const modules = [...container.values()];
    const own = modules.find(({ metatype }) => metatype === LifecycleOrderModule)!;
    own.distance = Math.min(...modules.map(({ distance }) => distance)) - 1;
  }

  /** @throws InvalidOptionError at the second one: two would run every handler twice */
  attach(runtime: Runtime): void {
    if (this.runtime) {
      throw new InvalidOptionError(
        'JobQueueModule.forRoot',
        'to be imported once in an app',
        'a second import',
        'It is global: import it in the root module only, or share one constant.',
      );
    }
    this.runtime = runtime;
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.runtime?.start();
  }

  /** Before other providers close in their own `onModuleDestroy` what a running handler still needs. */
  async onModuleDestroy(): Promise<void> {
    await this.runtime?.drain();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.runtime?.drain();
  }
}

@Module({ providers: [LifecycleOrder], exports: [LifecycleOrder] })
export class LifecycleOrderModule {}
