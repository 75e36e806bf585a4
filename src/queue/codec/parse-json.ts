/** A stored JSON text; `broken` is the text where it is none. */
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

/** The values of one JSON text a line; what is none is left out. */
export function jsonLines<Line extends object>(text: string | undefined): Line[] {
  const values = (text ? text.split('\n') : []).map((line) => parseJson(line).value);
  return values.filter((value): value is Line => typeof value === 'object' && value !== null);
}
