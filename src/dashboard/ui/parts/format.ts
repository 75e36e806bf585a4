import { onClock } from '../../../inspect/clock.js';
import * as words from '../../../inspect/words.js';

export { relative } from '../../../inspect/words.js';
export { short } from '../../../queue/runtime/cut.js';

/** Returns a length of time in the largest fitting unit: 340 ms, 2.1 s, 3 min. */
export function duration(ms: number | null | undefined): string {
  return known(ms) ? words.duration(ms) : '–';
}

/** Formats two durations, with a common unit once: 125 / 181 ms. */
export function durations(first: number | null | undefined, second: number | null | undefined): string {
  const [one, two] = [duration(first), duration(second)];
  if (one === '–' && two === '–') {
    return '–';
  }
  const unit = two.slice(two.lastIndexOf(' '));
  return `${one !== '–' && one.endsWith(unit) ? one.slice(0, -unit.length) : one} / ${two}`;
}

export function count(n: number | null | undefined): string {
  return known(n) ? words.count(n) : '–';
}

/** Returns jobs per second: 0, 0.4, 12. */
export function rate(n: number | null | undefined): string {
  return known(n) ? words.pace(n) : '–';
}

export function percent(part: number | null | undefined): string {
  return known(part) ? words.percent(part) : '–';
}

/** Marks that turn the direction of writing. They are invisible, and make a text look like another one. */
const TURNS = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** Returns text with its marks of direction spelled out: `\u202e`. */
export function spelled(text: string): string {
  return text.replaceAll(TURNS, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function known(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && !Number.isNaN(value);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Returns the exact time on the viewer's clock, for a hover and for screen readers: Fri 27 Nov 2026, 07:50:38. */
export function exact(at: number): string {
  return onClock(at, undefined);
}
