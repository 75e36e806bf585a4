// The terms of a search: how they are written, and which jobs they match.
import { lastCause } from '../queue/dead-letters/error-kinds.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import type { StoredError } from '../queue/errors/stored-error.js';
import { JOB_STATUSES, type JobStatus } from '../queue/model/job.js';
import { wholeOfShard } from '../queue/model/spread.js';
import { own } from '../queue/runtime/collections.js';
import type { ShownJob, ShownPayload } from '../queue/store/shown-content.js';
import { openWaits } from './job-words.js';

/** The longest search, in characters. */
export const LONGEST_SEARCH = 500;
const MOST_TERMS = 20;

/** The fields of a search. Those with a path take one, such as `payload.customer.id`. */
const FIELDS = {
  payload: { hasPath: true },
  error: { hasPath: false },
  cause: { hasPath: false },
  group: { hasPath: false },
  waits: { hasPath: false },
  tag: { hasPath: true },
  queue: { hasPath: false },
  state: { hasPath: false },
  name: { hasPath: false },
  id: { hasPath: false },
} as const;

type SearchField = keyof typeof FIELDS;

/** One condition of a search. `text` is text without a field. */
interface SearchTerm {
  field: SearchField | 'text';
  /** The path in the payload, or the key in the metadata. */
  path?: string;
  value: string;
}

/** The fields of a search, in words. */
const FIELDS_IN_WORDS = Object.entries(FIELDS)
  .map(([field, { hasPath }]) => (hasPath ? `${field}, ${field}.${field === 'tag' ? 'KEY' : 'PATH'}` : field))
  .join(', ');

const SPACE = /\s*/y;
/** A field, a path and a colon. An address such as https://shop.example has none. */
const HEAD = /([a-z]+)(?:\.([^\s:"]+))?:(?!\/\/)/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"/y;
const WORD = /\S+/y;

/**
 * Reads a search: terms such as `payload.customer:4` and `state:failed`, and text. Words that follow each other are one
 * text. Quotes hold a text or a value together.
 *
 * @throws InvalidOptionError that says what was expected
 */
export function parseSearch(search: string): SearchTerm[] {
  if (search.length > LONGEST_SEARCH) {
    throw refusal(`a search of at most ${LONGEST_SEARCH} characters`, `${search.length} characters`);
  }
  const terms = termsOf(new Reader(search));
  if (terms.length > MOST_TERMS) {
    throw refusal(`at most ${MOST_TERMS} terms`, `${terms.length}`);
  }
  return terms;
}

function termsOf(reader: Reader): SearchTerm[] {
  const terms: SearchTerm[] = [];
  let wordsFrom: number | undefined;
  const endWords = (to: number) => {
    if (wordsFrom !== undefined) {
      terms.push({ field: 'text', value: reader.slice(wordsFrom, to).trim() });
    }
    wordsFrom = undefined;
  };
  while (reader.skipSpace()) {
    const { at } = reader;
    const term = fieldTerm(reader) ?? quotedText(reader);
    if (term) {
      endWords(at);
      terms.push(term);
    } else {
      wordsFrom ??= at;
      reader.take(WORD);
    }
  }
  endWords(reader.at);
  return terms;
}

/** Reads a term with a field. Returns undefined where none is at this place. */
function fieldTerm(reader: Reader): SearchTerm | undefined {
  const { at } = reader;
  const head = reader.take(HEAD);
  if (!head) {
    return undefined;
  }
  const [written, field = '', path] = head;
  const quoted = quotedText(reader);
  const value = quoted?.value ?? reader.take(WORD)?.[0] ?? '';
  if (!Object.hasOwn(FIELDS, field)) {
    if (value === '' || (path !== undefined && /^\d/.test(value))) {
      reader.at = at; // the colon ends a word of a sentence, or a line or a port follows it
      return undefined;
    }
    const text = show(reader.slice(at, reader.at));
    throw refusal(`a field of ${FIELDS_IN_WORDS}`, show(written), ` Put text with a colon in quotes: ${text}.`);
  }
  const term: SearchTerm = { field: field as SearchField, ...(path !== undefined && { path }), value };
  checkTerm(term, written);
  return term;
}

function checkTerm({ field, path, value }: SearchTerm, written: string): void {
  if (value === '') {
    throw refusal(
      `text directly after ${written}`,
      'none',
      ` Such as ${written}${EXAMPLES[field as SearchField]}.`,
    );
  }
  if (path !== undefined && !FIELDS[field as SearchField].hasPath) {
    throw refusal(`${field}: without a path`, show(written));
  }
  if (field === 'state' && !JOB_STATUSES.includes(value as JobStatus)) {
    const meant = meantState(value);
    const hint = meant === undefined ? '' : `Did you mean state:${meant}?`;
    throw refusal(`state: with one of ${JOB_STATUSES.join(', ')}`, show(value), hint);
  }
}

const EXAMPLES: Readonly<Record<SearchField, string>> = {
  payload: '4',
  error: '"410 Gone"',
  cause: '4ddfd7b1f5',
  group: 'tenant-1',
  waits: 'approved',
  tag: 'acme',
  queue: 'email',
  state: 'failed',
  name: 'welcome',
  id: 'order-21',
};

/** Reads a text in quotes. Returns undefined where none is at this place. */
function quotedText(reader: Reader): SearchTerm | undefined {
  if (reader.next !== '"') {
    return undefined;
  }
  const quoted = reader.take(QUOTED);
  if (!quoted) {
    throw refusal('a closing quote', show(reader.slice(reader.at)), ' Write \\" for a quote inside of a text.');
  }
  return { field: 'text', value: quoted[1]!.replaceAll(/\\(.)/g, '$1') };
}

function refusal(expected: string, found: string, hint = ''): InvalidOptionError {
  return new InvalidOptionError('search', expected, found, hint.trim());
}

/** A place in a search. */
class Reader {
  at = 0;

  constructor(private readonly text: string) {}

  get next(): string | undefined {
    return this.text[this.at];
  }

  /** Returns whether anything follows. */
  skipSpace(): boolean {
    this.take(SPACE);
    return this.at < this.text.length;
  }

  take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    this.at += found?.[0].length ?? 0;
    return found;
  }

  slice(from: number, to?: number): string {
    return this.text.slice(from, to);
  }
}

/** The words of other queues, and of our tables, for the states of a job. */
const STATES: Readonly<Record<string, JobStatus>> = {
  wait: 'pending',
  waiting: 'pending',
  prioritized: 'pending',
  delayed: 'scheduled',
  active: 'processing',
  running: 'processing',
  done: 'completed',
  dead: 'failed',
  canceled: 'cancelled',
};

/** Returns the state that a word means; undefined for other words. */
export function meantState(word: string): JobStatus | undefined {
  return own(STATES, word.toLowerCase());
}

/** A search that jobs are held against. */
export interface Search {
  /** True if the payloads must be read. */
  readonly readsPayloads: boolean;
  /** Returns false where no job of this queue and state can match. */
  mayMatch(queue: string, state: JobStatus): boolean;
  /**
   * Returns whether a job matches: each term must. `unread` if only its payload could tell, which was too long for the
   * list or is encrypted.
   */
  look(job: ShownJob): Looked;
}

type Looked = 'match' | 'none' | 'unread';
type Check = (job: ShownJob) => boolean;

/**
 * Compiles a search.
 *
 * @throws InvalidOptionError that says what was expected
 */
export function compileSearch(text: string): Search {
  const terms = parseSearch(text);
  const of = (field: SearchField) => terms.filter((term) => term.field === field);
  const isOfQueue = anyOf(of('queue'));
  const isInState = anyOf(of('state'));
  const ofPayload = of('payload').map(payloadCheck);
  const others = terms.filter(isOther).map(checkOf);
  const mayMatch = (queue: string, state: JobStatus) =>
    (isOfQueue(queue) || isOfQueue(wholeOfShard(queue))) && isInState(state);
  return {
    readsPayloads: ofPayload.length > 0,
    mayMatch,
    look: (job) => {
      if (!mayMatch(job.queue, job.status) || !others.every((check) => check(job))) {
        return 'none';
      }
      if (ofPayload.length === 0) {
        return 'match';
      }
      const { payload } = job;
      if (payload.is !== 'whole' && payload.is !== 'broken') {
        return 'unread';
      }
      return ofPayload.every((check) => check(payload)) ? 'match' : 'none';
    },
  };
}

/** The fields whose terms are checked apart. */
type Apart = 'queue' | 'state' | 'payload';
type OtherTerm = SearchTerm & { field: Exclude<SearchTerm['field'], Apart> };

function isOther(term: SearchTerm): term is OtherTerm {
  return !['queue', 'state', 'payload'].includes(term.field);
}

/** Returns a check for one of several values, which are alternatives because a job has one. */
function anyOf(terms: readonly SearchTerm[]): (text: string) => boolean {
  const checks = terms.map(({ value }) => wholeText(value));
  return (text) => checks.length === 0 || checks.some((check) => check(text));
}

function checkOf({ field, path, value }: OtherTerm): Check {
  const isWhole = wholeText(value);
  const isPart = partOf(value);
  const checks: Record<OtherTerm['field'], Check> = {
    id: ({ id }) => isWhole(id),
    name: ({ name }) => isWhole(name),
    group: ({ group }) => group !== undefined && isWhole(group),
    waits: (job) => openWaits(job).some(({ name: waited }) => isWhole(waited)),
    error: (job) => errorTexts(job).some(isPart),
    cause: (job) => (lastCause(job)?.key ?? job.errorKind) === value,
    tag: ({ metadata = {} }) =>
      path === undefined
        ? Object.entries(metadata).some((entry) => entry.some(isPart))
        : Object.hasOwn(metadata, path) && isWhole(metadata[path]!),
    text: (job) => [...textsOf(job), ...errorTexts(job)].some(isPart),
  };
  return checks[field];
}

/** A payload that can be searched. */
type ReadPayload = Extract<ShownPayload, { is: 'whole' | 'broken' }>;

function payloadCheck({ path, value }: SearchTerm): (payload: ReadPayload) => boolean {
  if (path === undefined) {
    const isPart = partOf(value);
    return (payload) => isPart(payload.is === 'broken' ? payload.text : (JSON.stringify(payload.value) ?? ''));
  }
  const isWhole = wholeText(value);
  return (payload) => payload.is === 'whole' && leavesAt(payload.value, path).some((leaf) => isWhole(String(leaf)));
}

/** Returns the texts of a job beside its payload and errors. */
function textsOf({ id, name, schedule = '', group = '', metadata = {} }: ShownJob): string[] {
  return [id, name, schedule, group, ...Object.entries(metadata).map(([key, value]) => `${key}: ${value}`)];
}

/** Returns the texts of all errors of a job, with their stacks and causes. */
function errorTexts({ lastError, attemptLog }: ShownJob): string[] {
  const stored = attemptLog.flatMap(({ error }) => (error ? textsOfError(error) : []));
  return lastError === undefined ? stored : [lastError, ...stored];
}

/** The lines of a stack within Node: nearly each stack has `listOnTimeout`, so "timeout" would find every error. */
const WITHIN_NODE = /^ +at .*\bnode:internal\/.*$/gm;

function textsOfError({ name, message, stack = '', cause, errors = [] }: StoredError): string[] {
  return [
    `${name}: ${message}`,
    stack.replace(WITHIN_NODE, ''),
    ...[...(cause ? [cause] : []), ...errors].flatMap(textsOfError),
  ];
}

/** Returns a check for texts that have this part, in either case. */
function partOf(value: string): (text: string) => boolean {
  const wanted = value.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}

/** Returns a check for texts that are this one, in either case. A * stands for any text. */
function wholeText(value: string): (text: string) => boolean {
  const [first = '', ...rest] = value.toLowerCase().split('*');
  const last = rest.pop();
  return (given) => {
    const text = given.toLowerCase();
    if (last === undefined) {
      return text === first;
    }
    let at = first.length;
    const isFound = rest.every((part) => {
      const from = text.indexOf(part, at);
      at = from + part.length;
      return from >= 0;
    });
    return isFound && text.startsWith(first) && text.endsWith(last) && text.length - last.length >= at;
  };
}

type Leaf = string | number | boolean | null;

/** The values that a walk has met, with the lengths of the paths that were left there. */
type Met = Map<object, Set<number>>;

/**
 * Returns the plain values at a path of a payload, such as `items.sku`. Each item of an array is looked at, unless the
 * path has its number. A key may have dots itself. A value that two ways lead to is looked at once.
 */
function leavesAt(value: unknown, path: string, met: Met = new Map()): Leaf[] {
  if (typeof value !== 'object' || value === null || wasMet(met, value, path.length)) {
    return [];
  }
  if (Array.isArray(value)) {
    const [first, rest] = cut(path);
    const numbered =
      /^\d+$/.test(first) && Number(first) < value.length ? leavesIn(value[Number(first)], rest, met) : [];
    return [
      ...numbered,
      ...value.flatMap((item: unknown) => (Array.isArray(item) ? [] : leavesAt(item, path, met))),
    ];
  }
  const fields = value as Record<string, unknown>;
  const dots = [...path.matchAll(/\./g)].map(({ index }) => index);
  return [...dots, path.length].flatMap((end) => {
    const key = path.slice(0, end);
    return Object.hasOwn(fields, key) ? leavesIn(fields[key], path.slice(end + 1) || undefined, met) : [];
  });
}

/** Returns the values at the rest of a path. At its end it is the value itself, or the items of an array. */
function leavesIn(value: unknown, rest: string | undefined, met: Met): Leaf[] {
  if (rest !== undefined) {
    return leavesAt(value, rest, met);
  }
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isLeaf);
}

function wasMet(met: Met, value: object, left: number): boolean {
  const lengths = met.get(value) ?? new Set();
  const isKnown = lengths.has(left);
  met.set(value, lengths.add(left));
  return isKnown;
}

function isLeaf(value: unknown): value is Leaf {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function cut(path: string): [first: string, rest: string | undefined] {
  const at = path.indexOf('.');
  return at < 0 ? [path, undefined] : [path.slice(0, at), path.slice(at + 1)];
}
