// The kind of an error: which failures have the same cause. Its message counts without what differs between jobs.
import { createHash } from 'node:crypto';
import { startOf } from '../runtime/cut.js';
import type { StoredError } from './stored-error.js';

const FINGERPRINT_LENGTH = 10;
/** The most kinds of inner errors of an AggregateError that name its kind. */
const MOST_INNER = 3;
/** The start of a kind that joins all errors of one name and place. */
export const JOINED = '~';
const FRAME = /^\s*at /;
/** A frame of Node, of a dependency or of this library, which says nothing about the place in the app. */
const FOREIGN_FRAME = /node:|node_modules|<anonymous>|\(native\)|\(index \d+\)/;

/**
 * Returns the app's own words for the kind of an error, as a field. A function that throws or returns no text leaves it to
 * the default: it must not cost the failure.
 */
export function ownKindOf(
  thrown: unknown,
  errorKind: ((error: unknown) => string) | undefined,
): { ownKind?: string } {
  try {
    const ownKind: unknown = errorKind?.(thrown);
    return typeof ownKind === 'string' && ownKind !== '' ? { ownKind } : {};
  } catch {
    return {};
  }
}

/** Returns the error at the end of the chain of causes; the error itself without a cause. */
function rootOf(error: StoredError): StoredError {
  let root = error;
  while (root.cause) {
    root = root.cause;
  }
  return root;
}

/** Returns the text that makes the kind of an error: name, code and message, also of its root cause. */
export function kindText(error: StoredError): string {
  const root = rootOf(error);
  const inner = root.errors?.map((each) => partOf(rootOf(each))) ?? [];
  const parts = [partOf(error), ...(root === error ? [] : [partOf(root)])];
  return [...parts, ...[...new Set(inner)].toSorted().slice(0, MOST_INNER)].join('\n');
}

function partOf({ name, code, message }: StoredError): string {
  return `${name}\n${code ?? ''}\n${errorKey(message)}`;
}

/**
 * Returns the kind of an error, and the kind that joins it with others in a flood. Neither shows anything of the
 * message.
 *
 * @param keyed a digest with a key, for an error that is stored encrypted. A plain one would confirm a guess of its text
 * @param own the app's own words for the kind, by `errorKind`
 */
export function errorFingerprint(error: StoredError, keyed = (text: string) => text, own?: string): string {
  const digest = (text: string) => digestOf(keyed(text));
  return own === undefined
    ? `${digest(kindText(error))} ${JOINED}${digest(`${error.name}\n${ownFrame(error)}`)}`
    : digest(`own\n${own}`);
}

function digestOf(text: string): string {
  return createHash('sha1').update(text).digest('hex').slice(0, FINGERPRINT_LENGTH);
}

/** Returns the first frame of the app's own code, also of a cause; empty if there is none. */
function ownFrame({ stack, cause }: StoredError): string {
  const frame = stack?.split('\n').find((line) => FRAME.test(line) && !FOREIGN_FRAME.test(line));
  return frame?.trim() ?? (cause ? ownFrame(cause) : '');
}

/** The address of a service in a message: a host with a port, a domain, or an IP address. */
const ADDRESS =
  /(?<![\w@./-])(?:\[[\da-f:]+\]:\d+|[\w-]+(?:\.[\w-]+)*:\d{2,5}(?!\d)|(?:[\w-]+\.)+[a-z]{2,}(?![\w(])|(?:\d+\.){3}\d+)/i;

/** The cause at the end of the chain of an error, which errors of several queues may have in common. */
export interface RootCause {
  /** A digest that all errors with this cause have. */
  key: string;
  /** The cause in words. */
  words: string;
}

/** Returns the root cause of an error. Its address is part of the key, because two services that are down are two causes. */
export function rootCauseOf(error: StoredError): RootCause {
  const root = rootOf(error);
  const inner = root.message === '' && root.errors?.[0] ? rootOf(root.errors[0]) : root;
  const { name, code, message } = inner;
  const text = [code ?? name, errorKey(message), ADDRESS.exec(message)?.[0] ?? ''].join('\n');
  return { key: digestOf(text), words: errorWords(inner) };
}

/** Returns the words for an error: its message, that of its root cause, and its code where neither has it. */
export function errorWords(error: StoredError): string {
  const root = rootOf(error);
  const inner = root.message === '' ? (root.errors?.[0] ?? root) : root;
  const parts = [error.message, ...(error.message.includes(inner.message) ? [] : [inner.message])];
  const words = parts.filter((part) => part !== '').join(': ') || error.name;
  const { name, code } = error.code === undefined ? root : error;
  return code === undefined || words.includes(code) || isNamed(name, code) ? words : `${words} (${code})`;
}

/** Returns whether the name of an error says its code, as HandlerTimeoutError says HANDLER_TIMEOUT. */
function isNamed(name: string, code: string): boolean {
  return name
    .replaceAll(/\B[A-Z]/g, '_$&')
    .toUpperCase()
    .startsWith(code);
}

/** Stands for anything that differs between jobs. */
const GAP = '…';
/** The characters of a message that decide its kind. */
const MOST_CHARACTERS = 1_500;
/** The most characters of the kind of an error. */
const KEY_LENGTH = 600;
/** The deepest level of JSON in a message that is looked at, and the most parts of one level. */
const DEEPEST_JSON = 4;
const MOST_JSON_PARTS = 20;

/** Returns a message without ids, numbers, addresses, paths, dates and quoted values, which differ between jobs. */
export function errorKey(message: string): string {
  return startOf(normalized(startOf(message, MOST_CHARACTERS), 0), KEY_LENGTH);
}

function normalized(text: string, depth: number): string {
  let kind = withoutJson(text, depth);
  for (const [pattern, by] of STEPS) {
    kind = kind.replace(pattern, by as string);
  }
  return withDigits(kind).trim();
}

/** Private characters that stand for digits which are part of the kind, until all others are gone. */
const FIRST_DIGIT = 0xe000;

function kept(text: string): string {
  return text.replaceAll(/\d/g, (digit) => String.fromCharCode(FIRST_DIGIT + Number(digit)));
}

function withDigits(text: string): string {
  return text.replaceAll(/[\uE000-\uE009]/g, (digit) => String(digit.charCodeAt(0) - FIRST_DIGIT));
}

/** Words with digits that are no ids. */
const WORDS_WITH_DIGITS = new RegExp(
  `\\b(?:${[
    'utf-?8|utf-?16|latin1|iso-8859-1|sha-?1|sha-?256|sha-?512|md5|crc32|base32|base58|base64(?:url)?|hmac-sha256',
    'http2|http3|ipv[46]|oauth2|s3|ec2|sns1|es256|rs256|hs256|aes-?\\d{3}(?:-[a-z]{3})?|x509|pkcs[178]|ed25519|secp256k1',
    'h264|h265|mp[34]|webp2|jpeg2000|int(?:8|16|32|64)|uint(?:8|16|32|64)|float(?:32|64)|u?int8array|bigint64',
    'k8s|i18n|l10n|b2b|b2c|2fa|argon2|win32|neo4j|log4j|db2|lib\\w{1,8}\\d',
  ].join('|')})\\b(?![-_]\\w*\\d)`,
  'gi',
);

const CURRENCY = 'USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|BRL|MXN|SGD|HKD|NZD|ZAR|KRW|TRY|CZK';
const UNIT = 'ms|msecs?|s|secs?|seconds?|min|minutes?|h|hrs?|hours?|days?|d|[kKMGT]i?B|bytes?|B|px|milliseconds?|%';
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}';
const TOP_LEVEL =
  'com|net|org|io|dev|app|cloud|internal|local|localhost|svc|test|example|invalid|eu|de|uk|us|fr|nl|ch|at|it|es|pl|jp|cn|in|au|ca|br|co|ai|gov|edu|info|biz|xyz|tech|shop|lan|home|corp|intra';
const REASON =
  'Bad|Unauthorized|Payment|Forbidden|Not|Method|Request|Conflict|Gone|Too|Unprocessable|Internal|Service|Gateway|Precondition|Unsupported|Locked|Failed';
/** Words before a quoted name of code. The name is then part of the kind. */
const BEFORE_NAME =
  /\b(?:column|constraint|relation|table|index|field|propert(?:y|ie)|argument|parameter|param|option|setting|function|method|module|package|type|enum|model|schema|class|provider|reading|selector|path|key|extension|operator|event|header|attribute|variable|collection|for metadata|invalid|command|expected)s?\b[\s:=(]*$/i;
/** Words after a quoted name of code. */
const AFTER_NAME =
  /^ (?:argument|option|property|field|column|parameter|is not a function|is not defined|is required|is not allowed|must |should |fails to match|invocation|event|header)/;
const NAME = /^[#.]?[A-Za-z_$][\w$]*(?:[.:/-][A-Za-z_$][\w$]*){0,6}(?:\(\))?(?: \(index\))?$/;
/** A word in brackets that code has chosen, such as `index_not_found_exception` or `ERR_X`. */
const CODE = /^(?:[A-Z][A-Z_\uE000-\uE009]{2,}|\w*(?:[Ee]rror|[Ee]xception)|[\uE000-\uE009]+)$/;
/** The keys of `key=value` whose values are part of the kind. */
const CODE_KEYS = /^(?:code|status|statusCode|errno|type|reason|error|name|signal|syscall|state)$/i;

type Step = readonly [pattern: RegExp, by: string | ((match: string, ...groups: never[]) => string)];

/** The steps in their order: an early one takes what a later one would tear apart. */
const STEPS: readonly Step[] = [
  // Digits that are part of the kind.
  [/\b[245]\d\d[ -]#?[245]\.\d{1,3}\.\d{1,3}\b/g, (match) => kept(match.replace('-', ' '))], // SMTP
  [
    /\b(?:status(?: ?code)?|statusCode|http|responded with|response|returned|failed with|error)["']?[:= ([#]{0,3}[1-5]\d\d\b(?![\w.,:-]?\d)(?! (?:rows|items|records|results))/gi,
    kept,
  ],
  [/\b(?:http\/[\d.]{1,3}) [1-5]\d\d\b/gi, kept],
  [
    /\b(?:exit(?:ed with)? code|exit status|with code|code|errno|errcode)["']?[:= (#]{0,3}-?\d{1,3}\b(?![\w.-])/gi,
    kept,
  ],
  [/\b(?:errno|SQLSTATE|error code|error)["']?[:= ([#]{1,3}-?(?:\d{4,5}|[A-Z\d]{5})\b(?![\w.-])/g, kept],
  [/^\s*[([]?[45]\d\d[)\]]?(?=[\s:,-]+[A-Za-z{"(]|\s*$)/, kept],
  [new RegExp(`\\b[45]\\d\\d(?=[ :,-]{1,2}(?:${REASON})\\b)`, 'g'), kept],
  [/[([](?:4[0-5]\d|5[01]\d)[)\]]/g, kept],
  [/\b(?:P[1-6]\d{3}|E\d{5}|ORA-\d{5}|TS\d{4}|error TS\d+)\b/g, kept],
  [/\b[A-Z]{2,}\d?(?:_[A-Z]+\d{0,2}){1,8}\b/g, kept],
  [WORDS_WITH_DIGITS, kept],
  // Addresses.
  [/\bdata:[\w/+.-]{1,60};base64,[^\s"')]*/g, GAP],
  [/\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s"'`<>)\]}]+/gi, GAP],
  [/\barn:[^\s"',]+/g, GAP],
  [/(?<![^\s<>"'`()[\]{},;:=])[^\s<>"'`()[\]{},;:=@]{1,64}@[^\s<>"'`()[\]{},;:@]{1,200}\.[\p{L}]{2,}/gu, GAP],
  // Files.
  [/(?<![\w.…/])(?:[A-Za-z]:\\|(?:\.{1,2}|~)?\/)[^\s"'`:,;()<>…]+(?::\d+){0,2}/g, GAP],
  [/(?<![\w.…/@])[\w.-]{1,80}(?:\/[\w.@%+-]{1,80}){1,12}\.[a-z\d]{1,5}\b/gi, GAP],
  [/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi, GAP],
  // Quoted texts.
  [/"((?:[^"\\]|\\.){0,400})"/g, quoted],
  [/(?<![\p{L}\d])'((?:[^'\\\n]|\\.){0,400})'(?![\p{L}\d])/gu, quoted],
  [/`([^`]{0,600})`/g, quoted],
  [/“([^”]{0,400})”|«([^»]{0,400})»|‘([^’]{0,400})’|„([^“]{0,400})“/g, GAP],
  [/\bUnexpected token \S{1,3}(?=[ ,])/g, `Unexpected token ${GAP}`],
  // Tenants in brackets, and values beside their key.
  [/\[([^[\]\s]{1,100})\]/g, bracketed],
  [/<([^<>\s]{1,200})>/g, GAP],
  [/\{([^{}\s"]{1,100})\}/g, GAP],
  [/^\s*\(([\p{L}\d_.-]{1,60})\)/u, GAP],
  [
    /(?<![\w.-])([A-Za-z_][\w.-]{0,40})=(?!=)([^\s,;&)\]}]{1,200})/g,
    (match, key: string) => (CODE_KEYS.test(key) ? match : `${key}=${GAP}`),
  ],
  [
    /\b((?:for|of|by|from|in|to|with) (?:the )?(?:tenant|customer|merchant|workspace|organization|organisation|account|shop|store|bucket|domain|channel)) (?!is\b|was\b|not\b|has\b|and\b|or\b)[\p{L}\d_.-]{2,60}/giu,
    `$1 ${GAP}`,
  ],
  [
    /\b(tenant|customer|merchant|workspace|org|user|account|shop|store)(?:[:#] ?)(?!\s)[\p{L}\d_.-]{2,60}/giu,
    `$1 ${GAP}`,
  ],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5}|\/\d{1,2})?\b/g, GAP],
  // Times.
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z| ?[+-]\d\d:?\d\d)?)?/g, GAP],
  [
    new RegExp(
      `\\b(?:${DAY},? )?(?:${MONTH} \\d{1,2}(?:st|nd|rd|th)?,? \\d{4}|\\d{1,2}\\.? ${MONTH},? \\d{4})(?:,? (?:at )?\\d{1,2}:\\d\\d(?::\\d\\d)?(?: ?[AP]M)?)?(?: (?:GMT|UTC)(?:[+-]\\d{4})?)?(?: \\([A-Z][^)]{1,60}\\))?`,
      'g',
    ),
    GAP,
  ],
  [/(?<![\w:.])\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[AaPp][Mm]\b)?/g, GAP],
  // Hosts and ports.
  [/(?<![\w:.])(?=[^\s]{0,45}\d)\[?[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?:%\w+)?\]?(?::\d{1,5})?(?![\w:])/gi, GAP],
  [/(?<![\w.…-])[a-z\d][a-z\d_-]{0,62}(?:\.[a-z\d_-]{1,63}){0,8}:\d{2,5}\b(?![:.]?\d)/gi, GAP],
  [
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH) (?!\()[\w.-]{1,253}/g,
    `$1 ${GAP}`,
  ],
  [new RegExp(`(?<![\\w.…-])(?:[a-z\\d_*-]{1,63}\\.){1,8}(?:${TOP_LEVEL})\\b(?![\\w(-])`, 'gi'), GAP],
  [/\b(DNS|IP Address):…(?:, (?:DNS|IP Address):…)*/g, `$1:${GAP}`],
  // Amounts, and telephone numbers.
  [/\+\d[\d ()./-]{6,24}\d/g, GAP],
  [new RegExp(`(?:[$€£¥₹]|\\b(?:${CURRENCY}) ?)-?\\d[\\d.,']*`, 'g'), GAP],
  [new RegExp(`-?\\d[\\d.,']*\\s?(?:[$€£¥₹]|(?:${CURRENCY})\\b)`, 'g'), GAP],
  [new RegExp(`(?<![\\w.-])[+-]?\\d+(?:[.,']\\d+)*\\s?(?:${UNIT})(?![\\w%])`, 'g'), GAP],
  // Ids.
  [/(?<![^\s"'(])[^\s"'(*]{0,100}\*{2,}[^\s"'),.]{0,100}/g, GAP],
  [/(?<![\w-])(?=[\w+/-]{0,200}\d)[\w+/-]{16,}={0,2}(?![\w])/g, GAP],
  [/(?<![\p{L}\d_])(?=[\p{L}\d_+/=-]{0,200}\d)[\p{L}\d_](?:[\p{L}\d_+/=.-]*[\p{L}\d_=])?(?![\p{L}\d_])/gu, GAP],
  [/[\p{L}\d_-]{8,}/gu, (match) => (isRandom(match) ? GAP : match)],
  [/[+#№-]?\d+(?:[.,]\d+)*/g, GAP],
  // What is left around a gap.
  [/[#$+~-]+…|…%/g, GAP],
  [/…(?:(?:\s*[,;:./|&+x×=-]\s*|\s+(?:and|or)\s+|\s+)…)+/g, GAP],
  [/… ([\p{L}]{3,}?)s\b/gu, `${GAP} $1`],
  [/\s+/g, ' '],
];

/** Returns a quoted text: a gap, or the name of code that is part of the kind. */
function quoted(match: string, inner: string, offset: number, whole: string): string {
  if (!NAME.test(withDigits(inner)) || isRandom(inner)) {
    return GAP;
  }
  const before = whole.slice(Math.max(0, offset - 40), offset);
  const isCode = match.startsWith('`') && /[.(]/.test(inner);
  const isName =
    isCode ||
    BEFORE_NAME.test(before) ||
    AFTER_NAME.test(whole.slice(offset + match.length, offset + match.length + 24));
  return isName ? inner.replaceAll(/\d+/g, GAP) : GAP;
}

function bracketed(match: string, inner: string): string {
  return CODE.test(inner) ? match : GAP;
}

const VOWEL = /[aeiouyäöüàéèêåøæ]/i;

/** Returns whether a word without digits looks drawn by chance: its pieces are too short, or it has no vowels. */
function isRandom(word: string): boolean {
  const pieces = word.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  const letters = pieces.join('').length;
  if (letters < 8 || /[\u0080-\uDFFF]/.test(word)) {
    return false;
  }
  if (/^[a-z]{2,7}[_-](?=[A-Za-z]*[A-Z])(?=[A-Za-z]*[a-z])[A-Za-z]{10,}$/.test(word)) {
    return true; // an id with the prefix of its type
  }
  const isMixed = /[a-z]/.test(word) && /[A-Z]/.test(word);
  const parts = word.split(/[_-]/).length;
  return (isMixed && letters / pieces.length < 2.6 && parts < pieces.length - 1) || !VOWEL.test(word);
}

/** Replaces JSON in a message by the parts of it that name a kind. */
function withoutJson(text: string, depth: number): string {
  const first = text.search(/[[{]/);
  const last = Math.max(text.lastIndexOf(']'), text.lastIndexOf('}'));
  if (first < 0 || last <= first + 1 || depth >= DEEPEST_JSON) {
    return text;
  }
  try {
    const value: unknown = JSON.parse(text.slice(first, last + 1));
    const isListOfValues = Array.isArray(value) && value.every((each) => typeof each !== 'object');
    return isListOfValues
      ? `${text.slice(0, first)}${GAP}${text.slice(last + 1)}`
      : `${text.slice(0, first)} ${kindOfJson(value, depth + 1)} ${text.slice(last + 1)}`;
  } catch {
    return text;
  }
}

/** The fields of JSON whose values name a kind. */
const TELLING =
  /^(?:code|type|name|status|statusCode|status_code|reason|error|errors|issues|message|detail|details|path|param|expected|received|validation|decline_code|error_code|title)$/;

function kindOfJson(value: unknown, depth: number): string {
  if (Array.isArray(value)) {
    const parts = value.slice(0, MOST_JSON_PARTS).map((each) => kindOfJson(each, depth));
    return [...new Set(parts)].toSorted().join(' ');
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).slice(0, MOST_JSON_PARTS);
    const telling = entries.filter(([key]) => TELLING.test(key) && depth < DEEPEST_JSON);
    return telling.length > 0
      ? telling
          .map(([key, each]) => `${key} ${key === 'path' ? pathOf(each) : kindOfJson(each, depth + 1)}`)
          .join(' ')
      : entries.map(([key]) => normalized(key, DEEPEST_JSON)).join(' ');
  }
  if (typeof value === 'number') {
    return value >= 100 && value < 600 ? kept(String(value)) : GAP;
  }
  return typeof value === 'string' ? kept(normalized(value, depth)) : String(value);
}

/** Returns the path of a field, without the places in lists. */
function pathOf(value: unknown): string {
  return Array.isArray(value)
    ? value.map((each) => (typeof each === 'number' ? GAP : String(each))).join('.')
    : kept(normalized(String(value), DEEPEST_JSON));
}
