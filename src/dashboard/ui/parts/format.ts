import { endOf, startOf } from '../../../queue/runtime/cut.js';

const UNITS: readonly [number, string, number][] = [
  [86_400_000, 'd', 1],
  [3_600_000, 'h', 1],
  [60_000, 'min', 1],
  [1_000, 's', 1],
];

/** Returns a length of time in the largest fitting unit: 340 ms, 2.1 s, 3 min. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || Number.isNaN(ms)) {
    return '–';
  }
  const size = Math.abs(ms);
  const [unit, name] = UNITS.find(([each]) => size >= each) ?? [1, 'ms'];
  const value = ms / unit;
  const shown = unit === 1 || Math.abs(value) >= 10 ? Math.round(value) : Math.round(value * 10) / 10;
  return `${shown.toLocaleString('en')} ${name}`;
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
  return n === null || n === undefined ? '–' : n.toLocaleString('en');
}

/** Returns jobs per second: 0, 0.4, 12. */
export function rate(n: number | null | undefined): string {
  if (n === null || n === undefined) {
    return '–';
  }
  return n === 0 ? '0' : n < 10 ? n.toFixed(1) : Math.round(n).toLocaleString('en');
}

export function percent(part: number | null | undefined): string {
  return part === null || part === undefined ? '–' : `${(part * 100).toFixed(1)} %`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Returns a time relative to now: 3 min ago, in 5 s, now. */
export function relative(at: number, nowMs: number): string {
  const distance = at - nowMs;
  if (Math.abs(distance) < 1_000) {
    return 'now';
  }
  const text = coarse(Math.abs(distance));
  return distance < 0 ? `${text} ago` : `in ${text}`;
}

function coarse(ms: number): string {
  const [unit, name] = UNITS.find(([each]) => ms >= each) ?? [1_000, 's'];
  return `${Math.floor(ms / unit)} ${name}`;
}

/** Returns the exact time, for a hover and for screen readers. */
export function exact(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** Returns a text cut in its middle. */
export function short(text: string, length: number): string {
  return text.length <= length ? text : `${startOf(text, length - 5)}…${endOf(text, 4)}`;
}
