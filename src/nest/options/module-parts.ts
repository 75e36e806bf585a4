// The options of `forRoot` that are not plain values.
import type { Type } from '@nestjs/common';
import type { JobQueueMiddleware } from '../../worker/handlers/attempt-middleware.js';

/** The kinds of global enhancers. */
export const ENHANCER_KINDS = [
  'guards',
  'interceptors',
  'pipes',
  'filters',
] as const satisfies readonly EnhancerKind[];

/** A kind of global enhancers. */
export type EnhancerKind = 'guards' | 'interceptors' | 'pipes' | 'filters';

/** A middleware of the module: an object, or a class that Nest makes. */
export type MiddlewareEntry = JobQueueMiddleware | Type<JobQueueMiddleware>;
