import type { LazyModuleLoader } from '@nestjs/core';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { BootAudit } from './boot-audit.js';
import type { ModuleMiddleware } from './module-middleware.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { ResolvedModuleOptions } from '../options/job-queue.options.js';
import type { JobListeners } from '../handlers/job-listeners.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import type { MaintenanceScheduler } from './maintenance.scheduler.js';
import type { VerdictWatch } from '../verdicts/verdict-watch.js';
import type { ServerConnection } from '../connection/server-connection.js';
import type { LifecycleOrder } from './lifecycle-order.js';

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
