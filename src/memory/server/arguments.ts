// Reads the arguments of commands, which are bytes. What Redis would refuse is refused by the same words.
import { readNumber } from '../lua/numbers.js';
import { replyError } from '../lua/runtime.js';

/** Refuses a command, as a server does by an error reply. */
export function refuse(reply: string): never {
  throw replyError(reply);
}

export const SYNTAX_ERROR = 'ERR syntax error';
const NOT_WHOLE = 'ERR value is not an integer or out of range';
const WHOLE = /^(?:0|-?[1-9]\d{0,18})$/;
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Returns the whole number of a text as it is; that of one beyond 2^53 is near it. */
export function whole(text: string, problem = NOT_WHOLE): number {
  const value = Number(text);
  if (!WHOLE.test(text) || (!Number.isSafeInteger(value) && !isLong(BigInt(text)))) refuse(problem);
  return value;
}

function isLong(value: bigint): boolean {
  return value >= LEAST && value <= MOST;
}

/** Adds whole numbers of 64 bits, whose sum is a text. */
export function sumOf(a: string, b: string, problem = NOT_WHOLE): string {
  const parts = [whole(a, problem), whole(b)] as const;
  const sum = parts[0] + parts[1];
  if ([...parts, sum].every(Number.isSafeInteger)) return String(sum);
  const exact = BigInt(a) + BigInt(b);
  return isLong(exact) ? String(exact) : refuse('ERR increment or decrement would overflow');
}

function floatOf(text: string, problem: string): number {
  const value = /^\s|\s$/.test(text) ? undefined : readNumber(text);
  return value === undefined || Number.isNaN(value) ? refuse(problem) : value + 0; // 0 for -0, as a small set has it
}

export function scoreOf(text: string): number {
  return floatOf(text, 'ERR value is not a valid float');
}

/** A bound of a range of scores. */
export type Bound = [score: number, isExcluded: boolean];

/** Reads a bound of scores, which is excluded behind `(`. */
export function boundOf(text: string): Bound {
  const isExcluded = text.startsWith('(');
  return [floatOf(isExcluded ? text.slice(1) : text, 'ERR min or max is not a float'), isExcluded];
}

/** Returns the first and the last index of a range, whose ends may count from the end. */
export function rangeOf(from: number, to: number, size: number): [first: number, last: number] {
  return [from < 0 ? Math.max(0, size + from) : from, to < 0 ? size + to : Math.min(to, size - 1)];
}

const NO_OPTIONS: ReadonlyMap<string, readonly string[]> = new Map();

/** Reads options in any order: of each name the number of its values. @returns the values by name */
export function optionsOf(
  args: readonly string[],
  known: Readonly<Record<string, number>>,
): ReadonlyMap<string, readonly string[]> {
  if (args.length === 0) return NO_OPTIONS;
  const found = new Map<string, readonly string[]>();
  for (let at = 0; at < args.length;) {
    const name = args[at]!.toUpperCase();
    const count = Object.hasOwn(known, name) ? known[name]! : refuse(SYNTAX_ERROR);
    if (at + count >= args.length || found.has(name)) refuse(SYNTAX_ERROR);
    found.set(name, args.slice(at + 1, at + 1 + count));
    at += 1 + count;
  }
  return found;
}
