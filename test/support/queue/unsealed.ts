import type { StoredError } from '#queue/errors/stored-error.js';
import type { Sealed, SealedError } from '#queue/codec/sealed.js';

type UnsealedValue<Value> = Value extends Sealed
  ? string
  : Value extends SealedError
    ? StoredError
    : Value extends string | number | boolean | Date | ((...args: never) => unknown)
      ? Value
      : Value extends object
        ? { [Key in keyof Value]: UnsealedValue<Value[Key]> }
        : Value;

type UnsealedCall<Call> = Call extends (...args: infer Args) => infer Reply
  ? (...args: UnsealedValue<Args> extends infer Given extends unknown[] ? Given : never) => Reply
  : Call;

type IsCall = (...args: never) => unknown;

/** Calls that take plain texts in place of sealed ones: a test of a script writes what it likes. */
export type Unsealed<Calls> = {
  [Key in keyof Calls]: Calls[Key] extends IsCall
    ? UnsealedCall<Calls[Key]>
    : Calls[Key] extends Record<string, IsCall>
      ? { [Verb in keyof Calls[Key]]: UnsealedCall<Calls[Key][Verb]> }
      : Calls[Key];
};

/** Returns a plain text as a sealed one, for a test that calls a store. */
export const sealed = (text: string): Sealed => text as Sealed;

/** Does the same for an error. */
export const sealedError = (error: StoredError): SealedError => error as SealedError;
