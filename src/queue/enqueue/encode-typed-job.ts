import { hidingOf } from '../codec/redact.js';
import { checkPayload } from './check-payload.js';
import type { JobDefinition } from './define-job.js';
import { InvalidOptionError } from '../errors/errors.js';
import type { JobSource } from '../results/job-handle.js';
import { show } from '../errors/show.js';
import { encodeJob, payloadSubject, type EncodeTarget } from './encode-job.js';
import type { EnqueueFields, EnqueueOptions, StartTime } from './enqueue-options.js';
import type { EncodedJob } from '../store/enqueue-call.js';
import { validateWithSchema } from '../validation/validate-with-schema.js';
import { withoutUndefined } from '../runtime/collections.js';

/** Options of an enqueue of a definition, which has its own name. */
export type TypedEnqueueOptions = Omit<EnqueueFields, 'name'> & StartTime;

/**
 * Checks and encodes one job of a definition. The payload is checked in the form that its handler will receive.
 *
 * @param subject how errors name it, if its call has several
 * @throws InvalidOptionError, InvalidPayloadError (a rejection, if the schema is asynchronous)
 */
export function encodeTypedJob(
  target: EncodeTarget,
  definition: JobDefinition,
  payload: unknown,
  options: TypedEnqueueOptions | undefined,
  subject?: string,
): EncodedJob | Promise<EncodedJob> {
  const merged = typedOptions(target.name, definition, options, subject);
  const job = encodeJob(target, payload, merged, subject);
  const read = checkPayload(definition, job.payload, target, job.id, payloadSubject(subject));
  if (!(read instanceof Promise)) {
    return job;
  }
  const made = read.then(() => job);
  // If a later job of a bulk is refused at once, no caller awaits this one. Its rejection would end the process.
  made.catch(() => undefined);
  return made;
}

/** A job of a bulk enqueue: its payload, beside its options. */
export type JobToEnqueue = { payload: unknown } & EnqueueOptions;

/** Checks and encodes many jobs, with or without a definition. Returns a promise only for an asynchronous schema. */
export function encodeJobs(
  target: EncodeTarget,
  definition: JobDefinition | undefined,
  requested: readonly JobToEnqueue[],
): EncodedJob[] | Promise<EncodedJob[]> {
  const made = requested.map(({ payload, ...rest }, i) => {
    const options = Object.keys(rest).length > 0 ? rest : undefined;
    const subject = `enqueueMany[${i}]`;
    return definition
      ? encodeTypedJob(target, definition, payload, options, subject)
      : encodeJob(target, payload, options, subject);
  });
  // Waits only where it must, so that enqueues of one tick stay together.
  return made.some((each) => each instanceof Promise)
    ? Promise.all(made.map(async (each) => each))
    : (made as EncodedJob[]);
}

/**
 * Returns the options of an enqueue, with the definition's defaults. @throws InvalidOptionError for another name than its
 * own
 */
export function typedOptions(
  queue: string,
  { name, enqueueDefaults }: JobDefinition,
  options: TypedEnqueueOptions | undefined,
  subject = 'enqueue',
): EnqueueOptions | undefined {
  const own: { name?: string } = name === queue ? {} : { name };
  if (options === undefined) {
    return enqueueDefaults || own.name ? { ...enqueueDefaults, ...own } : undefined;
  }
  if (typeof options !== 'object' || options === null) {
    return options; // refused by the check of options
  }
  const other = (options as EnqueueOptions).name;
  if (other !== undefined && other !== name) {
    throw new InvalidOptionError(`${subject}.name`, `that of the definition, ${show(name)}`, show(other));
  }
  return { ...enqueueDefaults, ...(withoutUndefined<object>(options) as TypedEnqueueOptions), ...own };
}

/** Reads results by the schema of a definition, of jobs of its name only. */
export function typedSource(source: JobSource, { name, result: schema }: JobDefinition): JobSource {
  const hidingIn = (id: string) =>
    hidingOf(source.options?.redact, { part: 'result', job: { id, name, queue: source.name ?? name } });
  if (!schema) {
    return source;
  }
  const typed: JobSource = {
    get: (id) => source.get(id),
    cancel: (id, options) => source.cancel(id, options),
    readStream: (id, options) => source.readStream(id, options, typed),
    awaitResult: async (id, options) => {
      const value = await source.awaitResult(id, options, name);
      // No result is stored, or the handler returned none, which its worker has checked.
      return value === undefined ? undefined : validateWithSchema('result', schema, value, hidingIn(id));
    },
  };
  return typed;
}
