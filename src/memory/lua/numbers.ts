// Numbers as texts, and back: as printf and strtod of C do, and as servers of different versions write them.

/** Formats a number as `%.{digits}g` of C. */
export function general(value: number, digits: number): string {
  if (!Number.isFinite(value)) return notFinite(value);
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa, power] = exponential(value, digits).split('e') as [string, string];
  const exponent = Number(power);
  if (exponent < -4 || exponent >= digits) {
    const short = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
    return `${short}e${exponentText(exponent, 2)}`;
  }
  const plain = pointAt(mantissa, exponent);
  return plain.includes('.') ? plain.replace(/\.?0*$/, '') : plain;
}

/** Formats a number as `%.{digits}f` of C. */
export function fixed(value: number, digits: number): string {
  if (!Number.isFinite(value)) return notFinite(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  if (size >= 1e21) return `${sign}${BigInt(size)}${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`;
  // `toFixed` rounds a tie up. A double that is a tie at this digit has no digit but 0 within the next thirty.
  const exact = size.toFixed(Math.min(100, digits + 30));
  const cut = exact.length - (Math.min(100, digits + 30) - digits);
  const isTie = /^50*$/.test(exact.slice(cut));
  const kept = exact.slice(0, cut).replace(/\.$/, '');
  return sign + (isTie && Number(kept.at(-1)) % 2 === 0 ? kept : size.toFixed(digits));
}

/** Formats a number as `..` and `tostring` of Lua do: `%.14g`. */
export function numberText(value: number): string {
  return Number.isInteger(value) && value < 1e14 && value > -1e14 && value !== 0
    ? String(value)
    : general(value, 14);
}

/** Formats a number as Redis 7.0 does for arguments and scores: `%.17g`. */
export function precise(value: number): string {
  return Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : general(value, 17);
}

/** Formats a number as Redis 7.2 does for scores: by the fewest digits. Many zeros become an exponent. */
export function shortest(value: number): string {
  if (!Number.isFinite(value)) return notFinite(value);
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa, power] = value.toExponential().split('e') as [string, string];
  const exponent = Number(power);
  const count = mantissa.replace(/[-.]/g, '').length;
  const zeros = exponent - count + 1; // behind the digits; below zero: the digits behind the point
  const isPlain = zeros >= 0 ? exponent < count + 7 : zeros > -7 || Math.abs(exponent) < 4;
  return isPlain ? pointAt(mantissa, exponent) : `${mantissa}e${exponentText(exponent, 1)}`;
}

const WHOLE_BOUND = 2 ** 62;

/** Formats a number as Redis 7.2 does for arguments: whole numbers by all their digits. */
export function shortestArgument(value: number): string {
  const isWhole = Number.isInteger(value) && Math.abs(value) <= WHOLE_BOUND;
  return isWhole ? wholeText(value) : shortest(value);
}

/** Formats a number without its fraction, by all its digits. */
export function wholeText(value: number): string {
  const whole = Math.trunc(value);
  return Number.isSafeInteger(whole) ? String(whole === 0 ? 0 : whole) : String(BigInt(whole));
}

/** Cuts the fraction off, as a cast of C to a 64-bit integer does. */
export function toInteger(value: number): number {
  return Math.abs(value) < 2 ** 63 ? Math.trunc(value) : -(2 ** 63);
}

/** Formats what `toExponential` does, but rounds a tie to the even digit, as C does. */
function exponential(value: number, digits: number): string {
  const rounded = value.toExponential(digits - 1);
  const [exact, power] = value.toExponential(Math.min(100, digits + 30)).split('e') as [string, string];
  const all = exact.replace(/[-.]/g, '');
  if (!/^50*$/.test(all.slice(digits)) || Number(all[digits - 1]) % 2 === 1) return rounded;
  const kept = all.slice(0, digits);
  return `${value < 0 ? '-' : ''}${kept[0]}${digits > 1 ? `.${kept.slice(1)}` : ''}e${power}`;
}

/** Moves the point of a mantissa to where its exponent is 0. */
function pointAt(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith('-') ? '-' : '';
  const digits = mantissa.replace(/[-.]/g, '').padEnd(exponent + 1, '0');
  const whole = exponent < 0 ? '0' : digits.slice(0, exponent + 1);
  const rest = exponent < 0 ? '0'.repeat(-exponent - 1) + digits : digits.slice(exponent + 1);
  return sign + whole + (rest === '' ? '' : `.${rest}`);
}

function exponentText(exponent: number, width: number): string {
  return `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(width, '0')}`;
}

/** Formats NaN as on Linux for the NaN of arithmetic, whose sign JavaScript does not know. */
function notFinite(value: number): string {
  if (Number.isNaN(value)) return '-nan';
  return value > 0 ? 'inf' : '-inf';
}

const DECIMAL = /^[ \t-\r]*([-+]?)((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf(?:inity)?|nan)[ \t-\r]*$/i;
const HEX = /^[ \t-\r]*([-+]?)0x(?=[.]?[\da-f])([\da-f]*)(?:\.([\da-f]*))?(?:p([-+]?\d+))?[ \t-\r]*$/i;

/** Reads a number as `tonumber` of Lua and `strtod` of C do, which know `inf`, `nan` and hexadecimal digits. */
export function readNumber(text: string): number | undefined {
  // A quick way for nearly all of them, which are a few digits.
  const { length } = text;
  if (length > 0 && length < 16) {
    let value = 0;
    let i = 0;
    for (; i < length; i++) {
      const digit = text.charCodeAt(i) - 48;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    if (i === length) return value;
  }
  const end = text.indexOf('\0'); // C ends there
  return readSlowly(end < 0 ? text : text.slice(0, end));
}

function readSlowly(text: string): number | undefined {
  const hex = HEX.exec(text);
  if (hex) {
    const [, sign, whole = '', fraction = '', power = '0'] = hex;
    const size = Number(`0x${whole}${fraction}`) * 2 ** (Number(power) - 4 * fraction.length);
    return sign === '-' ? -size : size;
  }
  const decimal = DECIMAL.exec(text);
  if (!decimal) return undefined;
  const [, sign, digits = ''] = decimal;
  const size = /^inf/i.test(digits) ? Infinity : Number(digits.toLowerCase() === 'nan' ? NaN : digits);
  return sign === '-' ? -size : size;
}

/** What differs between versions of Redis, or is left to chance there. No script may depend on it. */
export interface Dialect {
  /** Writes a number as an argument of a command. */
  argument(value: number): string;
  /** Writes a score for a reply. */
  score(value: number): string;
  /** Returns the keys of a hash table in the order in which a script sees them. May order them in place. */
  order<Key>(keys: Key[]): Key[];
}

/** The way of Redis 7.0, with keys in the order of their insertion. */
export const REDIS_7_0: Dialect = { argument: precise, score: precise, order: (keys) => keys };

/** Draws a version of Redis, and the order of each hash table. @param random draws numbers from 0 to 1 */
export function drawnDialect(random: () => number): Dialect {
  const isRecent = random() < 0.5;
  return {
    argument: isRecent ? shortestArgument : precise,
    score: isRecent ? shortest : precise,
    order: (keys) => {
      for (let i = keys.length - 1; i > 0; i--) {
        const other = Math.floor(random() * (i + 1));
        const key = keys[i]!;
        keys[i] = keys[other]!;
        keys[other] = key;
      }
      return keys;
    },
  };
}
