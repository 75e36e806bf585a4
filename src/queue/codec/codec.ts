import { InvalidPayloadError, JobQueueError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { CODEC, type Envelope, isEncoded } from './stored-value.js';
import type { Redact } from './redact.js';

/** Where a value belongs. A secret codec binds the value to it, so that another job's value cannot take its place. */
export interface ContentContext {
  /** The queue of the job. */
  readonly queue: string;
  /** The part of the job; `error` and `log` only for a secret codec. */
  readonly field: 'payload' | 'result' | 'progress' | 'checkpoint' | 'step' | 'signal' | 'chunk' | 'error' | 'log';
  /**
   * The id of the job at its enqueue. `@schedule:` and the schedule's id for its jobs, `@batch:` and the batch's id for
   * its follow-ups. Decoding gets the same id.
   */
  readonly id: string;
}

/** The job of a value. */
export interface ContentOwner {
  readonly queue: string;
  readonly id: string;
  /** The id under which its payload was encoded, if not its own. A schedule, a batch or a replacement has another. */
  readonly payloadId?: string;
}

/** The `payloadId` of a job whose stored options are not known. It is shown, and not run. */
export const ANY_PAYLOAD = '*';

/**
 * Converts payloads, results and progress to JSON values, and back. All processes of a queue must have the same codec.
 * `encrypted()` is one; docs/encryption.md shows others.
 *
 * @example
 * const dates: JobCodec = { name: 'superjson', encode: (value) => superjson.serialize(value), decode: (json) => superjson.deserialize(json) };
 */
export interface JobCodec {
  /** Stored beside each value, so that a different codec is noticed: 1 to 32 of a-z 0-9 - */
  readonly name: string;
  /** True if errors and log lines are encoded too. Then `encode` returns text. @default false */
  readonly secret?: boolean;
  /**
   * The ids of its keys, the encrypting one first. Workers announce them, and a booting process compares them with its
   * own.
   */
  readonly keyIds?: readonly string[];
  /**
   * Returns a text by which equal texts are recognised. It tells nothing of them without the key. A codec that is `secret`
   * needs it. Otherwise the version of a schedule is a plain hash of the payload. All errors of one name are of one kind
   * then.
   */
  digest?(text: string): string;
  /**
   * What becomes of a job that was stored in the clear in a queue whose codec is `secret`. `run`: it runs, and a warning is
   * logged. `refuse`: it becomes a dead letter. @default `run`
   */
  readonly plainJobs?: 'run' | 'refuse' | undefined;
  /** True if it encodes only what JSON can carry, as `encrypted()` does. @internal */
  readonly takesJson?: boolean;
  /**
   * Returns a value that JSON can represent. An error refuses the enqueue, or fails the attempt. @param subject names
   * the value in errors
   */
  encode(value: unknown, subject: string, context: ContentContext): unknown;
  /** Returns the original value. An error makes the job a dead letter with that reason. */
  decode(encoded: unknown, context: ContentContext): unknown;
}

export function isCodec(value: unknown): value is JobCodec {
  const { name, encode, decode } = (value ?? {}) as Partial<JobCodec>;
  const isNamed = typeof name === 'string' && /^[a-z0-9-]{1,32}$/.test(name);
  return isNamed && typeof encode === 'function' && typeof decode === 'function';
}

/** The options of a queue that decide how content is stored. */
export interface ContentRules {
  readonly maxPayloadBytes: number;
  readonly codec?: JobCodec;
  /** The parts of the content that logs do not show. */
  readonly redact?: Redact;
}

/** A value was stored by another codec than this process's, or with a key that this process lacks. */
export class CodecError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'CODEC';
}

const TEXT = /^\$codec:([a-z0-9-]{1,32}):/;

/**
 * Returns a value as its codec stores it.
 *
 * @throws InvalidPayloadError for a value that the codec refuses
 */
export function enveloped(
  codec: JobCodec,
  subject: string,
  value: unknown,
  field: ContentContext['field'],
  { queue, id, payloadId }: ContentOwner,
): Envelope {
  try {
    const encoded = codec.encode(value, subject, { queue, field, id: payloadId ?? id });
    return { [CODEC]: codec.name, ...(payloadId !== undefined && { of: payloadId }), value: encoded };
  } catch (error) {
    if (error instanceof InvalidPayloadError) {
      throw error;
    }
    throw new InvalidPayloadError(
      subject,
      `a value that the codec ${codec.name} takes`,
      `one that it refuses (${(error as Error).message})`,
    );
  }
}

/**
 * Decodes a stored JSON value. A value without a codec is returned unchanged. So older jobs and jobs of clients of the
 * Redis pattern stay readable.
 *
 * @throws CodecError
 */
export function decodeContent(
  codec: JobCodec | undefined,
  stored: unknown,
  field: ContentContext['field'],
  owner: ContentOwner,
): unknown {
  if (!isEncoded(stored)) {
    return stored;
  }
  const reads = checkedCodec(codec, stored[CODEC]);
  const id = stored.of ?? owner.id;
  if (!belongsTo(id, owner)) {
    throw new CodecError(`The ${field} of job ${show(owner.id)} was stored for ${show(id)}. Discard the job.`);
  }
  return guarded(reads, () => reads.decode(stored.value, { queue: owner.queue, field, id }));
}

/** Returns whether a job may have a payload that was encoded under this id. */
function belongsTo(id: unknown, owner: ContentOwner): id is string {
  return (
    typeof id === 'string' &&
    (id === owner.id ||
      id === owner.payloadId ||
      owner.payloadId === ANY_PAYLOAD ||
      (id.startsWith('@') && id === owner.id.slice(0, owner.id.lastIndexOf(':'))))
  );
}

/** Returns the codec that wrote a value or a text, or undefined. */
export function codecOf(value: unknown): string | undefined {
  return typeof value === 'string' ? TEXT.exec(value)?.[1] : isEncoded(value) ? value[CODEC] : undefined;
}

/** Returns a text that must not be stored in the clear, as a secret codec stores it. */
export function encodeText(codec: JobCodec, text: string, context: ContentContext): string {
  return `${CODEC}:${codec.name}:${String(codec.encode(text, 'text', context))}`;
}

/**
 * Decodes a stored text, or returns it unchanged if no codec wrote it.
 *
 * @throws CodecError
 */
export function decodeText(codec: JobCodec | undefined, text: string, context: ContentContext): string {
  const match = TEXT.exec(text);
  if (!match) {
    return text;
  }
  const reads = checkedCodec(codec, match[1]!);
  return String(guarded(reads, () => reads.decode(text.slice(match[0].length), context)));
}

function checkedCodec(codec: JobCodec | undefined, name: string): JobCodec {
  if (codec?.name !== name) {
    const own = codec ? `has the codec "${codec.name}"` : 'has no codec';
    throw new CodecError(`Stored by the codec "${name}", but the queue ${own} in this process.`);
  }
  return codec;
}

function guarded<Value>(codec: JobCodec, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof CodecError
      ? error
      : new CodecError(`The codec "${codec.name}" cannot read what is stored: ${(error as Error).message}`, {
          cause: error,
        });
  }
}
