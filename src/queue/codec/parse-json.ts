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
