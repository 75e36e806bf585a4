import { codecOf } from '../../queue/codec/codec.js';
import type { StoredError } from '../../queue/errors/stored-error.js';
import type { JobRecord, JobStatus } from '../../queue/model/job.js';
import { leavesAt } from './leaves-at.js';
import { parseSearch, type SearchField, type SearchTerm } from './parse-search.js';

/** A search that jobs are held against. */
export interface Search {
  /** True if the payloads must be read. */
  readonly readsPayloads: boolean;
  /** Returns false where no job of this queue and state can match. */
  mayMatch(queue: string, state: JobStatus): boolean;
  /**
   * Returns whether a job matches: each term must. `unread` if only its payload could tell, which was too long for the
   * list or is encrypted.
   *
   * @param job as it may be shown
   */
  look(job: JobRecord): Looked;
}

type Looked = 'match' | 'none' | 'unread';
type Check = (job: JobRecord) => boolean;

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
  const mayMatch = (queue: string, state: JobStatus) => isOfQueue(queue) && isInState(state);
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
      if (job.leftOut?.payload !== undefined || codecOf(job.payload) !== undefined) {
        return 'unread';
      }
      return ofPayload.every((check) => check(job)) ? 'match' : 'none';
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
    error: (job) => errorTexts(job).some(isPart),
    tag: ({ metadata = {} }) =>
      path === undefined
        ? Object.entries(metadata).some((entry) => entry.some(isPart))
        : Object.hasOwn(metadata, path) && isWhole(metadata[path]!),
    text: (job) => [...textsOf(job), ...errorTexts(job)].some(isPart),
  };
  return checks[field];
}

function payloadCheck({ path, value }: SearchTerm): Check {
  if (path === undefined) {
    const isPart = partOf(value);
    return ({ payload, brokenPayload }) => isPart(brokenPayload ?? JSON.stringify(payload) ?? '');
  }
  const isWhole = wholeText(value);
  return ({ payload }) => leavesAt(payload, path).some((leaf) => isWhole(String(leaf)));
}

/** Returns the texts of a job beside its payload and errors. */
function textsOf({ id, name, schedule = '', group = '', metadata = {} }: JobRecord): string[] {
  return [id, name, schedule, group, ...Object.entries(metadata).map(([key, value]) => `${key}: ${value}`)];
}

/** Returns the texts of all errors of a job, with their stacks and causes. */
function errorTexts({ lastError, attemptLog }: JobRecord): string[] {
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
