import { numberHint } from '../queue/validation/numbers.js';
import { CliError, EXIT } from './exit-codes.js';

/** The options that take ms. */
const IN_MS = new Set(['delay', 'every', 'newer-than', 'older-than', 'period', 'quiet', 'watch']);

/**
 * Parses an option as a whole number.
 *
 * @throws CliError
 */
export function wholeNumber(
  option: string,
  text: string | boolean | undefined,
  expected = IN_MS.has(option) ? 'a whole number of ms' : 'a whole number',
): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text)) {
    const said = `--${option}: expected ${expected}, found ${JSON.stringify(text)}. ${numberHint(expected, text)}`;
    throw new CliError(said.trimEnd(), EXIT.usage);
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

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Parses an option as a time: `90s`, `15m`, `2h`, `1d`. Returns ms.
 *
 * @throws CliError
 */
export function timeSpan(option: string, text: string | undefined): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  const [, digits, unit = ''] = /^(\d{1,6})(s|m|h|d)$/.exec(text) ?? [];
  const ms = Number(digits) * UNIT_MS[unit]!;
  if (!(ms > 0)) {
    throw new CliError(
      `--${option}: expected a time such as 90s, 15m, 2h or 1d, found ${JSON.stringify(text)}.`,
      EXIT.usage,
    );
  }
  return ms;
}
