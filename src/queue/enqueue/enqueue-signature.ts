// The arguments of an enqueue, in one signature for all its forms.
import { redactValue, type Redact } from '../codec/redact.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import type { JobDefinition, PayloadFor } from './define-job.js';
import type { EnqueueOptions } from './enqueue-options.js';
import type { TypedEnqueueOptions } from './encode-typed-job.js';

/**
 * The arguments after the first one of an enqueue. One signature instead of overloads, so that the compiler names the field
 * of an invalid payload. A text takes no further argument, because it may be a payload or a name.
 */
export type EnqueueRest<First> = 0 extends First & 1
  ? [options?: EnqueueOptions]
  : [First] extends [JobDefinition]
    ? [payload: PayloadFor<First>, options?: TypedEnqueueOptions]
    : [First] extends [string]
      ? [hint?: 'A text takes no further argument. Name the job by an option: enqueue(payload, { name })']
      : [options?: EnqueueOptions];

/** The definition that an argument may be; of `any` nothing is known. */
export type DefinitionOf<First> = 0 extends First & 1 ? unknown : First;

/** A queue that may hide parts of its payloads. */
interface RedactingQueue {
  readonly name: string;
  readonly options: { readonly redact?: Redact | undefined };
}

/**
 * Returns the error for the arguments of the service, `(name, payload, options)`. The name would be stored as the payload.
 * The text may be a payload, so `redact` decides what is shown of it.
 */
export function namedShapeError(given: unknown, third: unknown, queue: RedactingQueue): InvalidOptionError {
  const job = { id: '', name: queue.name, queue: queue.name };
  const first = redactValue(queue.options.redact, given, { part: 'payload', job });
  const name = typeof first === 'string' ? show(first) : '…';
  return new InvalidOptionError(
    'enqueue',
    '(payload, options) on a queue, where nothing follows a payload that is text',
    `${third === undefined ? 'two' : 'three'} arguments, the first ${show(first)}`,
    `To name the job: queue.enqueue({ … }, { name: ${name} }). ` +
      `With text as its payload: queue.enqueueMany([{ payload: ${name}, … }]).`,
  );
}
