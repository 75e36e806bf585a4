// Texts as they may be stored. The calls of a store take no other content. So a plain text of an encrypted queue does not
// compile into a call.
import { nameOfCode, type StoredError } from '../errors/stored-error.js';
import { errorFingerprint } from '../errors/error-kind.js';
import { oneLine } from '../errors/show.js';
import {
  encodeText,
  enveloped,
  type ContentContext,
  type ContentOwner,
  type ContentRules,
  type JobCodec,
} from './codec.js';

declare const REPLIED: unique symbol;

/** A text as its queue stores it: encrypted by a secret codec, plain by any other. */
export type Sealed = string & { readonly '#sealed': true };

/** An error as its queue stores it. */
export type SealedError = StoredError & { readonly '#sealed': true };

/** A failure before its error is sealed. */
interface UnsealedError {
  readonly id: string;
  readonly error: StoredError;
  readonly ownKind?: string;
  /** True if the library made the error, and it quotes nothing of the job: it stays readable without the key. */
  readonly isReadable?: boolean;
}

/** Returns a line of a job's log as its queue stores it: JSON. */
export function sealLine(codec: JobCodec | undefined, line: string, context: ContentContext): Sealed {
  return JSON.stringify(codec?.secret ? encodeText(codec, line, context) : line) as Sealed;
}

/** Returns a failure as its queue stores it, with the kind of its error. The name of an error stays readable. */
export function sealFailure<Failure extends UnsealedError>(
  codec: JobCodec | undefined,
  queue: string,
  failure: Failure,
): Failure & { error: SealedError; kind?: string } {
  const { id, error, ownKind, isReadable } = failure;
  if (!codec?.secret || isReadable) {
    const kind = ownKind === undefined ? {} : { kind: errorFingerprint(error, undefined, ownKind) };
    return { ...failure, error: error as SealedError, ...kind };
  }
  const message = encodeText(codec, JSON.stringify(error), { queue, field: 'error', id });
  return {
    ...failure,
    error: { name: nameOfCode(error.name), message } as SealedError,
    kind: sealedKind(codec, error, ownKind),
  };
}

/** Returns the kind of a sealed error. Without a digest only the name of the error makes it, which is readable. */
function sealedKind(codec: JobCodec, error: StoredError, ownKind?: string): string {
  return codec.digest
    ? errorFingerprint(error, (text) => codec.digest!(`kind of error\n${text}`), ownKind)
    : errorFingerprint({ name: nameOfCode(error.name), message: '' });
}

/** The empty text. */
export const NO_TEXT = '' as Sealed;

/** A text of a reply: `check-reply.ts` makes them. */
export type Replied = string & { readonly [REPLIED]: true };

/**
 * Returns a text that was stored, and goes back unchanged. It takes a text of a reply, and a value of a row, which is
 * `unknown`. A text that this process has made does not compile.
 */
export function asStored<Text>(
  text: Text & (unknown extends Text ? unknown : Text extends Replied ? unknown : never),
): Sealed {
  return String(text) as Sealed;
}

/** Returns JSON of another library as its queue stores it. Without a codec the text itself stays. */
export function sealJson({ codec }: Pick<ContentRules, 'codec'>, json: string, owner: ContentOwner): Sealed {
  return (codec ? JSON.stringify(enveloped(codec, 'payload', JSON.parse(json), 'payload', owner)) : json) as Sealed;
}

/** The most characters of an error that the crash of a job quotes. */
const LONGEST_QUOTE = 500;

/**
 * Returns the words on an uncaught error, for the jobs that run in its process. Any of them may have left it behind. So the
 * words have its message only where no queue of the process hides content.
 *
 * @param queues the options of all queues of the process
 */
export function sealUncaught(queues: readonly Hiding[], { name, message }: StoredError): Sealed {
  return (queues.some(hidesContent) ? nameOfCode(name) : oneLine(`${name}: ${message}`, LONGEST_QUOTE)) as Sealed;
}

/** The options by which a queue hides content. */
interface Hiding {
  readonly codec?: JobCodec | undefined;
  readonly redact?: unknown;
}

/** Returns whether a queue redacts or encrypts. */
export function hidesContent({ codec, redact }: Hiding): boolean {
  return redact !== undefined || codec?.secret === true;
}

type IsCall = (...args: never) => unknown;

/** True if a value, or a part of it, is sealed. */
type HasSealed<Value> = Value extends Sealed | SealedError
  ? true
  : Value extends string | number | boolean | Date | undefined | null | IsCall
    ? false
    : Value extends readonly (infer Item)[]
      ? HasSealed<Item>
      : { [Key in keyof Value]-?: HasSealed<Value[Key]> }[keyof Value];

/** The names of the parts of a value that are plain texts. A text that is the value itself has the given name. */
export type PlainNames<Value, Name = 'itself'> = Value extends Sealed | SealedError
  ? never
  : string extends Value
    ? Name
    : Value extends string | number | boolean | Date | undefined | null | IsCall
      ? never
      : Value extends readonly (infer Item)[]
        ? PlainNames<Item, Name>
        : string extends keyof Value
          ? PlainNames<Value[keyof Value], Name>
          : { [Key in keyof Value]-?: PlainNames<Value[Key], Key> }[keyof Value];

type SealedCall<Calls, Verb extends keyof Calls, Prefix extends string> = Calls[Verb] extends IsCall
  ? true extends HasSealed<Parameters<Calls[Verb]>[number]>
    ? `${Prefix}${Verb & string}`
    : never
  : never;

type SealedCalls<Calls, Prefix extends string> = {
  [Verb in keyof Calls]: SealedCall<Calls, Verb, Prefix>;
}[keyof Calls];

/** The verbs of calls, and their rooms. */
type VerbOrRoom<Calls> = Exclude<keyof Calls, 'options' | 'key' | 'announced'>;

/** The verbs of calls whose arguments have a sealed text, also those of rooms, such as `deadLetters.redrive`. */
export type SealedVerb<Calls> = {
  [Verb in VerbOrRoom<Calls>]: Calls[Verb] extends IsCall
    ? SealedCall<Calls, Verb, ''>
    : SealedCalls<Calls[Verb], `${Verb & string}.`>;
}[VerbOrRoom<Calls>];
