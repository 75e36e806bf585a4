import { CliError, EXIT } from './exit-codes.js';

/**
 * Parses an option as a whole number.
 *
 * @throws CliError
 */
export function wholeNumber(
  option: string,
  text: string | boolean | undefined,
  expected = 'a whole number',
): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text)) {
    throw new CliError(`--${option}: expected ${expected}, found ${JSON.stringify(text)}.`, EXIT.usage);
  }
  return Number(text);
}
