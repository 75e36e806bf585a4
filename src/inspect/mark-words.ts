import type { KindMark } from '../queue/dead-letters/error-kinds.js';
import { sinceWords } from './shared-errors.js';
import { relative } from './words.js';

/** Returns what people said of a kind of error in a few words, and whether it comes again. */
export function markWords({ known, comesAgain, quietUntil, note, by, at }: KindMark, nowMs: number): string {
  const quiet =
    quietUntil && quietUntil.getTime() > nowMs ? `quiet, ends ${relative(quietUntil.getTime(), nowMs)}` : '';
  const life = comesAgain ? `comes again, known since ${sinceWords(at, nowMs)}` : known ? 'known' : '';
  const said = note === undefined ? '' : `“${note}”`;
  const words = [life, quiet, said].filter(Boolean).join(', ');
  return by === undefined || words === '' ? words : `${words} (${by})`;
}
