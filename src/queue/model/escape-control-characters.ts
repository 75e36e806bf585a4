/**
 * Text as it may be printed. Control characters, but for line breaks and tabs, halves of characters, and marks that
 * turn the direction of writing are spelled out (`\x1b`), so that what somebody put into a payload, a name or an error cannot steer the
 * terminal of whoever reads the log.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Surrogate}\u202A-\u202E\u2066-\u2069]/gu, (character) =>
    character === '\n' || character === '\t' ? character : spelledOut(character.charCodeAt(0)),
  );
}

function spelledOut(code: number): string {
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
}
