/** The field of an envelope with the name of its codec. */
export const CODEC = '$codec';

/** A value as a codec stores it. */
export interface Envelope {
  readonly [CODEC]: string;
  /** The id under which a payload was encoded, if not the id of its job. */
  readonly of?: string;
  readonly value: unknown;
}

/** Returns whether a codec wrote a value. */
export function isEncoded(value: unknown): value is Envelope {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Envelope>)[CODEC] === 'string';
}
