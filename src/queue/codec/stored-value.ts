/** Parses a stored JSON text; `broken` is the text if it is invalid. */
export function parseJson(text: string | undefined): { value: unknown; broken?: string } {
  if (text === undefined) {
    return { value: undefined };
  }
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { value: undefined, broken: text };
  }
}

/** Parses one JSON text per line; invalid lines are left out. */
export function jsonLines<Line extends object>(text: string | undefined): Line[] {
  const values = (text ? text.split('\n') : []).map((line) => parseJson(line).value);
  return values.filter((value): value is Line => typeof value === 'object' && value !== null);
}

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
