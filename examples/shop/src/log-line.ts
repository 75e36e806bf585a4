const LONGEST = 200;

/**
 * Formats a line of the log: logLine`${job.id}: sent to ${to}`. Each value is shortened, and line ends, control
 * characters and invisible characters are escaped (`\u001b`). So no visitor can forge a line of the log.
 */
export function logLine(texts: TemplateStringsArray, ...values: unknown[]): string {
  return String.raw({ raw: texts }, ...values.map(printable));
}

function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return shown.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, spelledOut);
}

/** Escapes each UTF-16 unit of a character; some characters have two. */
function spelledOut(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
