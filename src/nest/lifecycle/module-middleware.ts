import type { Type } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import type { JobQueueMiddleware } from '../../worker/handlers/attempt-middleware.js';
import { findProvider } from '../context/container.js';
import type { MiddlewareEntry } from '../job-queue.options.js';

/** The middleware of `forRoot`, with its classes as Nest makes them. */
export class ModuleMiddleware {
  /** The middleware of queues and workers, which are created before the classes are. */
  readonly list: readonly JobQueueMiddleware[];
  private readonly instances = new Map<Type<JobQueueMiddleware>, Promise<JobQueueMiddleware>>();

  constructor(
    private readonly entries: readonly MiddlewareEntry[],
    private readonly ref: ModuleRef,
  ) {
    this.list = entries.map((entry) => (typeof entry === 'function' ? this.later(entry) : entry));
  }

  /** Creates the classes, so that a missing dependency stops the boot. */
  async open(): Promise<void> {
    const classes = this.entries.filter((entry) => typeof entry === 'function');
    await Promise.all(classes.map((type) => this.instanceOf(type)));
  }

  private later(type: Type<JobQueueMiddleware>): JobQueueMiddleware {
    const { attempt, bulk, enqueue, event } = type.prototype as JobQueueMiddleware;
    const instance = () => this.instanceOf(type);
    return {
      ...(attempt && { attempt: async (job, next) => (await instance()).attempt!(job, next) }),
      ...(bulk && { bulk: async (jobs, next) => (await instance()).bulk!(jobs, next) }),
      ...(enqueue && { enqueue: async (request, next) => (await instance()).enqueue!(request, next) }),
      ...(event && { event: async (happened) => (await instance()).event!(happened) }),
    };
  }

  /** Returns the app's own provider of the class, or creates one. */
  private instanceOf(type: Type<JobQueueMiddleware>): Promise<JobQueueMiddleware> {
    let instance = this.instances.get(type);
    if (!instance) {
      instance = this.find(type);
      this.instances.set(type, instance);
    }
    return instance;
  }

  private async find(type: Type<JobQueueMiddleware>): Promise<JobQueueMiddleware> {
    return findProvider(this.ref, type) ?? this.ref.create(type);
  }
}
