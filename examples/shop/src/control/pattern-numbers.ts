import { z } from 'zod';

/** As the pattern's demo reads its forms: what is no number counts as not given, what is beyond a bound as the bound. */
export function wholeNumber(least: number, most: number) {
  return formField((text) => Number.parseInt(text, 10), least, most);
}

export function fraction() {
  return formField((text) => Number.parseFloat(text), 0, 1);
}

function formField(parse: (text: string) => number, least: number, most: number) {
  return z.unknown().transform((text) => {
    const number = typeof text === 'string' || typeof text === 'number' ? parse(String(text)) : Number.NaN;
    return Number.isFinite(number) ? Math.min(most, Math.max(least, number)) : undefined;
  });
}
