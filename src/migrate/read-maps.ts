// The maps that an operator gives: `none=900,1=800`, `custom=exponential:1000`, `*=audio`.
import type { StoredBackoff } from '../queue/model/backoff.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import type { PriorityRule } from './move-rules.js';

function pairsOf(option: string, text: string): [key: string, value: string][] {
  return text.split(',').map((part) => {
    const at = part.lastIndexOf('=');
    if (at < 1) {
      throw new InvalidOptionError(option, 'key=value, with commas between several', show(part));
    }
    return [part.slice(0, at).trim(), part.slice(at + 1).trim()];
  });
}

/** @throws InvalidOptionError */
export function readNames(text: string): Map<string, string> {
  return new Map(pairsOf('--names', text));
}

/** @throws InvalidOptionError */
export function readPriorities(text: string): PriorityRule {
  const named = new Map<number, number>();
  let none: number | undefined;
  for (const [key, value] of pairsOf('--priorities', text)) {
    const isKnown = (key === 'none' || /^\d{1,7}$/.test(key)) && /^\d{1,4}$/.test(value) && Number(value) <= 1_000;
    if (!isKnown) {
      throw new InvalidOptionError(
        '--priorities',
        'none=900,1=800: priorities here from 0 to 1000',
        show(`${key}=${value}`),
      );
    }
    if (key === 'none') {
      none = Number(value);
    } else {
      named.set(Number(key), Number(value));
    }
  }
  if (none === undefined) {
    throw new InvalidOptionError('--priorities', 'one for jobs without a priority, such as none=900', show(text));
  }
  return { kind: 'below', none, named };
}

/** @throws InvalidOptionError */
export function readBackoffs(text: string): Map<string, StoredBackoff> {
  return new Map(
    pairsOf('--backoff', text).map(([name, value]) => {
      const [, type, delay] = /^(fixed|exponential):(\d{1,8})$/.exec(value) ?? [];
      if (type === undefined) {
        throw new InvalidOptionError(
          '--backoff',
          'custom=exponential:1000 or custom=fixed:1000',
          show(`${name}=${value}`),
        );
      }
      return [name, { type: type as 'fixed' | 'exponential', delayMs: Number(delay) }];
    }),
  );
}
