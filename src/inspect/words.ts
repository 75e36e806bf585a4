// Words for figures and marks, the same for health, CLI and dashboard.
import type { HistoryMark } from '../queue/model/history.js';

const NUMBERS = new Intl.NumberFormat('en-US');

/** Returns a count with its thousands set apart: `1,204`. */
export function count(value: number): string {
  return NUMBERS.format(value);
}

const UNITS: readonly [ms: number, unit: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** Returns a duration in its largest fitting unit, with one decimal below ten: `340 ms`, `2.1 s`, `6 min`. */
export function duration(ms: number): string {
  for (const [step, unit] of UNITS) {
    if (ms >= step) {
      const value = ms / step;
      return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
    }
  }
  return `${Math.max(0, Math.round(ms))} ms`;
}

/** Returns a time relative to now, in whole units: `3 min ago`, `in 5 s`, `now`. */
export function relative(atMs: number, nowMs: number): string {
  const distance = Math.abs(atMs - nowMs);
  const [step, unit] = UNITS.find(([each]) => distance >= each) ?? [];
  if (step === undefined) {
    return 'now';
  }
  const words = `${Math.floor(distance / step)} ${unit}`;
  return atMs < nowMs ? `${words} ago` : `in ${words}`;
}

const SIZES: readonly [bytes: number, unit: string][] = [
  [2 ** 30, 'GB'],
  [2 ** 20, 'MB'],
  [2 ** 10, 'KB'],
];

/** Returns a size in its largest fitting unit, with one decimal below ten: `500 KB`, `1.5 GB`. */
export function size(bytes: number): string {
  for (const [step, unit] of SIZES) {
    if (bytes >= step) {
      return `${rounded(bytes / step)} ${unit}`;
    }
  }
  return `${count(bytes)} bytes`;
}

/** Returns jobs per second, or per minute or hour for low rates: `12/s`, `3/min`, `1/h`. */
export function rate(perSecond: number): string {
  if (perSecond >= 1 || perSecond === 0) {
    return `${rounded(perSecond)}/s`;
  }
  const perMinute = perSecond * 60;
  return perMinute >= 1 ? `${rounded(perMinute)}/min` : `${rounded(perMinute * 60)}/h`;
}

/** Returns jobs per second as a figure of a table: `0`, `0.4`, `12`. */
export function pace(perSecond: number): string {
  return perSecond === 0 || perSecond >= 10 ? count(Math.round(perSecond)) : perSecond.toFixed(1);
}

/** Returns a share with one decimal: `4.1 %`. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function rounded(value: number): string {
  return value < 10 ? String(Number(value.toFixed(1))) : count(Math.round(value));
}

export function markInWords({ kind, version, death }: Omit<HistoryMark, 'at'>): string {
  switch (kind) {
    case 'deploy':
      return `version ${version ?? ''}`;
    case 'death':
      return `worker ${death?.worker ?? ''} died, which ran ${namesOf(death?.ran ?? [])}`;
    default:
      return 'no process maintained the queue';
  }
}

/** Returns the names of jobs in words, each once: `image`, `image, video and 2 more`. */
export function namesOf(jobs: readonly { name: string }[]): string {
  const names = [...new Set(jobs.map(({ name }) => name))];
  const more = names.length > 2 ? ` and ${count(names.length - 2)} more` : '';
  return names.slice(0, 2).join(more === '' ? ' and ' : ', ') + more;
}

/** Returns the host and the process in the id of a worker. */
export function hostOf(id: string): { host: string; pid: number | null } {
  const [, host, pid] = /^(.+?):(\d+)(?::.*)?$/.exec(id) ?? [];
  return { host: host ?? id, pid: pid === undefined ? null : Number(pid) };
}

/** Returns words that begin with a capital letter. */
export function capitalised(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** Returns a command of the command line, its words quoted for a shell where they need it. */
export function asCommand(...words: readonly string[]): string {
  return ['npx', 'nest-job-queue', ...words].map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns a value as a search reads it again, whatever it has in it. */
export function inQuotes(value: string): string {
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
