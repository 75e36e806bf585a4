import type {
  ChunkInput,
  JobDefinition,
  PayloadOf,
  ResultInput,
  SignalsOf,
} from '../../queue/enqueue/define-job.js';
import type { BulkCall, BulkHandler, BulkOptions, BulkOutcomes } from '../handlers/bulk-handler.js';
import { handlerDefaults, subjectOf } from '../handlers/define-handler.js';
import { checkBulkOptions } from '../handlers/handler-options.js';
import type { HandlerOptions } from '../handlers/handler.js';
import type { Job } from '../handlers/job.js';
import { withBulkSchemas } from '../handlers/schema-handler.js';

/** A bulk handler of a definition. It gets payloads parsed by their schema, and returns results that fit theirs. */
export type TypedBulkFunction<Definition extends JobDefinition> = (
  jobs: Job<PayloadOf<Definition>, SignalsOf<Definition>, ChunkInput<Definition>>[],
  call: BulkCall,
) => BulkOutcomes<ResultInput<Definition>> | Promise<BulkOutcomes<ResultInput<Definition>>>;

/**
 * Binds a bulk function to a definition, for a Worker without Nest. Each job is checked against the schemas separately:
 * an invalid one fails, and the others of its call do not.
 *
 * @throws InvalidOptionError
 * @example
 * const index = defineBulkHandler(Index, (jobs) => search.add(jobs.map(({ payload }) => payload)), { bulk: { size: 100 } });
 * new Worker([{ queue, handlers: { [Index.name]: index } }]);
 */
export function defineBulkHandler<Definition extends JobDefinition>(
  definition: Definition,
  handle: TypedBulkFunction<Definition>,
  options: HandlerOptions & { bulk: BulkOptions },
): BulkHandler {
  const subject = subjectOf('defineBulkHandler', definition, handle);
  checkBulkOptions(subject, options);
  return {
    ...options,
    ...handlerDefaults(definition),
    handle: withBulkSchemas(definition, handle),
  };
}
