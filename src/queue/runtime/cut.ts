/** Returns a text as it is, or its beginning and a mark if it is longer. */
export function cut(text: string, longest: number, mark = '…'): string {
  return text.length > longest ? `${startOf(text, longest)}${mark}` : text;
}

/** Returns the beginning of a text, without half a character. A length counts UTF-16 units, so it may divide an emoji. */
export function startOf(text: string, longest: number): string {
  return text.length > longest ? text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '') : text;
}

/** Returns the end of a text, without half a character. */
export function endOf(text: string, longest: number): string {
  return text.length > longest ? text.slice(text.length - longest).replace(/^[\uDC00-\uDFFF]/, '') : text;
}

/** Returns a text as it is. A longer text loses its middle, and gets a mark there. */
export function short(text: string, longest: number): string {
  return text.length > longest ? `${startOf(text, longest - 5)}…${endOf(text, 4)}` : text;
}

/** Returns a text with a mark in place of each half of a character. Redis keeps UTF-8, which has none. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}
