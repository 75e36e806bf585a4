/** Removes user and password, because a URL in the wrong place may have them. */
function withoutUser(text: string): string {
  const [start, end] = [text.indexOf('://'), text.lastIndexOf('@')];
  return start >= 0 && end > start ? `${text.slice(0, start)}://…${text.slice(end)}` : text;
}

/** Returns a value for an error message: short, on one line, without a password, with its type if that helps. */
export function show(value: unknown): string {
  if (typeof value === 'string') {
    const text = withoutUser(value);
    return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
  }
  if (typeof value === 'function') {
    return `a function${value.name && ` (${value.name})`}`;
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  }
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value)
      ? `an array of ${value.length}`
      : `an object with ${Object.keys(value).slice(0, 5).join(', ').slice(0, 80) || 'no keys'}`;
  }
  return String(value);
}
