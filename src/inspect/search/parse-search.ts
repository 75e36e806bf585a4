import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { JOB_STATUSES, type JobStatus } from '../../queue/model/job.js';
import { meantState } from '../display/meant-state.js';

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

export type SearchField = keyof typeof FIELDS;

/** One condition of a search. `text` is text without a field. */
export interface SearchTerm {
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
  check(term, written);
  return term;
}

function check({ field, path, value }: SearchTerm, written: string): void {
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
