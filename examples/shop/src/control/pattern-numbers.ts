import { z } from 'zod';

/** Reads form fields like the pattern's demo: text counts as missing, and a number out of bounds as the bound. */
export function wholeNumber(least: number, most: number) {
  return formField((text) => Number.parseInt(text, 10), least, most);
}

export function fraction() {
  return formField((text) => Number.parseFloat(text), 0, 1);
}

/** Returns the schema of a number in a form. It refuses objects and lists, because no form sends these. */
function formField(parse: (text: string) => number, least: number, most: number) {
  return z.union([z.string(), z.number()], { error: 'expected a number' }).transform((given) => {
    const number = parse(String(given));
    return Number.isFinite(number) ? Math.min(most, Math.max(least, number)) : undefined;
  });
}
