import { cut, startOf } from '../runtime/cut.js';

/** The most items of an array that an error shows. */
const MOST_ITEMS = 3;

/**
 * Returns an address, or a failed try at one, without a possible password. It may be before an @, in a query, or after a
 * colon in place of a port.
 */
export function withoutPassword(address: string): string {
  return address
    .replace(/^.*@/s, '…@')
    .replace(/\?.*$/s, '?…')
    .replace(/:(?!\/\/|\d+([/?]|$)).*$/s, ':…');
}

/** Returns a text in which no address has a password. */
export function withoutPasswords(text: string): string {
  return text.replaceAll(/\S+/g, hidePassword);
}

/** Hides the password of a text that may be an address: before its last @, or in its query. */
export function hidePassword(text: string): string {
  const at = text.lastIndexOf('@');
  const before = text.slice(0, Math.max(0, at));
  const scheme = before.toLowerCase().indexOf('redis');
  const isAddress = before.includes('//') || (scheme >= 0 && before.includes(':', scheme));
  const shown = isAddress ? `…${text.slice(at)}` : text;
  const query = shown.search(/[?&]/);
  const hasPassword = query >= 0 && shown.toLowerCase().includes('password=', query);
  return hasPassword ? `${shown.slice(0, query)}?…` : shown;
}

/** Returns a value for an error message: short, on one line, without a password, with its type if that helps. */
export function show(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(cut(hidePassword(value), 80));
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
      : `an object with ${startOf(Object.keys(value).slice(0, 5).map(hidePassword).join(', '), 80) || 'no keys'}`;
  }
  return String(value);
}

/** Returns a short list of scalars as it is, because a wrong list is found by its items. */
function showArray(items: readonly unknown[]): string {
  const isShort = items.length > 0 && items.length <= MOST_ITEMS;
  const areScalars = items.every((item) => ['string', 'number', 'boolean'].includes(typeof item));
  return isShort && areScalars ? `[${items.map(show).join(', ')}]` : `an array of ${items.length}`;
}
