import type { JobDefinition, PayloadFor } from '../../queue/enqueue/define-job.js';
import type { EnqueueFields, EnqueueOptions, StartTime } from '../../queue/enqueue/enqueue-options.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';

/** Options of one enqueue through the service, but for the start of its job. */
export interface EnqueueJobFields extends Omit<EnqueueFields, 'name'> {
  /** The queue of the job. @default the definition's, that of the handler in this process, the one named as the job */
  queue?: string | undefined;
  /**
   * An open transaction of the app's database, such as the EntityManager of TypeORM. The queue gets the job once it has
   * committed, and never if it rolls back. Needs JobOutboxModule.
   */
  transaction?: object | undefined;
  /**
   * True if the jobs of a `group` are added in the order in which their transactions commit. The enqueue waits for other
   * open transactions that have added jobs of the group this way. Needs `transaction` and `group`. @default false
   */
  ordered?: boolean | undefined;
}

/** Options of one enqueue through the service. */
export type EnqueueJobOptions = EnqueueJobFields & StartTime;

/** The options of one job of an `enqueueMany`. */
export type OneOfManyOptions = Omit<EnqueueJobFields, 'queue' | 'transaction' | 'ordered'> & StartTime;

/** The options of all jobs of an `enqueueMany`. */
export type EnqueueManyOptions = Pick<EnqueueJobFields, 'queue' | 'transaction' | 'ordered'>;

/** A job of an `enqueueMany` over several names. */
export type JobOfAnyName = AnyNameOptions & {
  /** Its name, or its definition. */
  job: string | JobDefinition;
  /** The payload to enqueue. */
  payload: unknown;
};

/** The options of one job of an `enqueueMany` over several names. */
export type AnyNameOptions = Omit<EnqueueJobFields, 'transaction' | 'ordered'> & StartTime;

/** The jobs of an `enqueueMany` over several names: the payload of each is that of its definition. */
export type JobsOfAnyName<Jobs extends readonly (string | JobDefinition)[]> = {
  readonly [Index in keyof Jobs]: { job: Jobs[Index]; payload: PayloadFor<Jobs[Index]> } & AnyNameOptions;
};

/**
 * Returns undefined without options, so that such a job skips all checks of options.
 *
 * @param subject how errors name the job
 * @throws InvalidOptionError for a second name, which a caller without types may give
 */
export function optionsFor(
  queue: JobQueue,
  name: string,
  options: Omit<EnqueueFields, 'name'> & StartTime,
  subject: string,
): EnqueueOptions | undefined {
  if ('name' in options) {
    const hint = "The job's name is the first argument.";
    throw new InvalidOptionError(`${subject}.name`, 'a known option', show('name'), hint);
  }
  return queue.name !== name ? { ...options, name } : Object.keys(options).length > 0 ? options : undefined;
}
