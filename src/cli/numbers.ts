import { CliError, EXIT } from './exit-codes.js';

/** The options that take ms, or a time with a unit. */
const IN_MS = new Set(['delay', 'every', 'newer-than', 'older-than', 'period', 'quiet', 'watch']);

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the ms of a time with its unit, such as `90s`; undefined for another text. */
function msOf(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * UNIT_MS[unit]!;
}

/**
 * Parses an option as a whole number. One in ms may be a time with a unit too.
 *
 * @throws CliError
 */
export function wholeNumber(
  option: string,
  text: string | boolean | undefined,
  expected = IN_MS.has(option) ? 'a whole number of ms, or a time such as 90s or 15m' : 'a whole number',
): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  const ms = IN_MS.has(option) && typeof text === 'string' ? msOf(text) : undefined;
  if (ms !== undefined) {
    return ms;
  }
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text)) {
    throw new CliError(`--${option}: expected ${expected}, found ${JSON.stringify(text)}.`, EXIT.usage);
  }
  return Number(text);
}

/** Parses the options of a page. @throws CliError */
export function pageOf({ limit, offset }: Record<string, string | boolean | undefined>): {
  limit: number;
  offset: number;
} {
  return { limit: wholeNumber('limit', limit)!, offset: wholeNumber('offset', offset)! };
}

/**
 * Parses an option as a time: `90s`, `15m`, `2h`, `1d`. Returns ms. A number alone is refused, because an operator may
 * mean minutes.
 *
 * @throws CliError
 */
export function timeSpan(option: string, text: string | undefined): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  const ms = msOf(text);
  if (!ms) {
    throw new CliError(
      `--${option}: expected a time such as 90s, 15m, 2h or 1d, found ${JSON.stringify(text)}.`,
      EXIT.usage,
    );
  }
  return ms;
}
