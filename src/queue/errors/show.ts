import { cut, startOf } from '../runtime/cut.js';

/** The most items of an array that an error shows. */
const MOST_ITEMS = 3;

/** Removes user and password, because a URL in the wrong place may have them. */
function withoutUser(text: string): string {
  const [start, end] = [text.indexOf('://'), text.lastIndexOf('@')];
  return start >= 0 && end > start ? `${text.slice(0, start)}://…${text.slice(end)}` : text;
}

/** Returns a value for an error message: short, on one line, without a password, with its type if that helps. */
export function show(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(cut(withoutUser(value), 80));
  }
  if (typeof value === 'function') {
    return `a function${value.name && ` (${value.name})`}`;
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  }
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value)
      ? showArray(value)
      : `an object with ${startOf(Object.keys(value).slice(0, 5).join(', '), 80) || 'no keys'}`;
  }
  return String(value);
}

/** Returns a short list of scalars as it is, because a wrong list is found by its items. */
function showArray(items: readonly unknown[]): string {
  const isShort = items.length > 0 && items.length <= MOST_ITEMS;
  const areScalars = items.every((item) => ['string', 'number', 'boolean'].includes(typeof item));
  return isShort && areScalars ? `[${items.map(show).join(', ')}]` : `an array of ${items.length}`;
}
