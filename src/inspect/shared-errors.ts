// Errors of several queues that have one root cause, such as a service that is down. Alerts, dashboard and command line
// show each cause once.
import { lastCause, lastErrorWords, type ErrorKind, type KindMark } from '../queue/dead-letters/error-kinds.js';
import type { RootCause } from '../queue/errors/error-kind.js';
import { oneLine } from '../queue/errors/show.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { HistoryMark } from '../queue/model/history.js';
import type { JobRecord } from '../queue/model/job.js';
import { wholeOfShard } from '../queue/model/spread.js';
import { keptIn } from '../queue/runtime/collections.js';
import { duration, relative } from './words.js';

/** The time for which an error goes on after its last death, in ms. */
export const GOES_ON_MS = 3_600_000;
/** The longest time between a deploy and a first death that the deploy may have caused, in ms. */
const AFTER_DEPLOY_MS = 900_000;
/** The most queues that a sentence names. */
const MOST_NAMED = 4;
const LONGEST_WORDS = 200;
const DAY_MS = 86_400_000;

/** A kind of error of one queue, with its root cause where its text may be read. */
export interface KindOfQueue extends Pick<ErrorKind, 'kind' | 'count' | 'lastHour' | 'firstAt' | 'lastAt'> {
  queue: string;
  /** Words for the kind. */
  error?: string;
  cause?: RootCause | undefined;
}

/**
 * Returns a kind with the words and the root cause of its sample.
 *
 * @param shown returns a job as it may be shown
 */
export function withCause<Kind extends Omit<ErrorKind, 'isNew'>>(
  queue: string,
  { sample, error, ...kind }: Kind,
  shown: (sample: JobRecord) => Parameters<typeof lastCause>[0] & Parameters<typeof lastErrorWords>[0],
) {
  const record = sample && shown(sample);
  const words = record ? lastErrorWords(record) : error;
  return { ...kind, queue, ...(words !== undefined && { error: words }), cause: record && lastCause(record) };
}

/** An error with its root cause, in all queues that have it. */
export interface SharedError {
  /** The key of the cause. */
  key: string;
  /** The cause in words. */
  words: string;
  /** Its kinds, the most dead letters first. */
  kinds: readonly KindOfQueue[];
  /** The queues that have it, in the same order. */
  queues: readonly string[];
  count: number;
  lastHour: number;
  since: Date;
  lastAt: Date;
  /** The deploy shortly before the first death. Absent for none. */
  deploy?: { version: string; beforeMs: number };
}

/** Returns the causes of all kinds, the most deaths of the last hour first. */
export function causesOf(kinds: readonly KindOfQueue[], marks: readonly HistoryMark[] = []): SharedError[] {
  const groups = new Map<string, KindOfQueue[]>();
  for (const kind of kinds) {
    keptIn(groups, keyOf(kind), () => []).push(kind);
  }
  return [...groups]
    .map(([key, group]) => errorOf(key, group, marks))
    .toSorted((a, b) => b.lastHour - a.lastHour || b.count - a.count || b.lastAt.getTime() - a.lastAt.getTime());
}

/** Returns the causes that jobs of two or more queues died of in the last hour. The shards of a queue are one. */
export function sharedErrors(
  kinds: readonly KindOfQueue[],
  marks: readonly HistoryMark[],
  nowMs: number,
): SharedError[] {
  const recent = kinds.filter(({ lastAt }) => nowMs - lastAt.getTime() <= GOES_ON_MS);
  return causesOf(recent, marks).filter(({ queues }) => new Set(queues.map(wholeOfShard)).size > 1);
}

/** Returns the key of a cause. A kind with an @ or a ~ has no cause in common with other queues. */
export function keyOf({ queue, kind, cause }: Pick<KindOfQueue, 'queue' | 'kind' | 'cause'>): string {
  return /^[\da-f]/.test(kind) ? (cause?.key ?? kind) : `${queue} ${kind}`;
}

function errorOf(key: string, unordered: readonly KindOfQueue[], marks: readonly HistoryMark[]): SharedError {
  const kinds = unordered.toSorted((a, b) => b.count - a.count);
  const [worst] = kinds as [KindOfQueue];
  const queues = [...new Set(kinds.map(({ queue }) => queue))];
  const cause = kinds.find((each) => each.cause)?.cause;
  const isShared = queues.length > 1 && cause !== undefined;
  const since = new Date(Math.min(...kinds.map(({ firstAt }) => firstAt.getTime())));
  const deploy = deployBefore(since, marks);
  return {
    key,
    words: oneLine((isShared ? cause.words : worst.error) ?? worst.kind, LONGEST_WORDS),
    kinds,
    queues,
    count: sum(kinds, ({ count }) => count),
    lastHour: sum(kinds, ({ lastHour }) => lastHour),
    since,
    lastAt: new Date(Math.max(...kinds.map(({ lastAt }) => lastAt.getTime()))),
    ...(deploy && { deploy }),
  };
}

/** Returns the last deploy shortly before an error. Undefined for none. */
export function deployBefore(since: Date, marks: readonly HistoryMark[]): SharedError['deploy'] {
  const befores = marks.flatMap(({ kind, version, at }) => {
    const beforeMs = since.getTime() - at.getTime();
    return kind === 'deploy' && version && beforeMs >= 0 && beforeMs <= AFTER_DEPLOY_MS
      ? [{ version, beforeMs }]
      : [];
  });
  return befores.toSorted((a, b) => a.beforeMs - b.beforeMs)[0];
}

/** Returns an error, its queues, its begin and the deploy before it in words. */
export function sharedWords({ words, queues, since, deploy }: SharedError, nowMs: number): string {
  return `${words} in ${namesOf(queues)} since ${sinceWords(since, nowMs)}${deployWords(deploy)}`;
}

/** Returns the names of queues in words. */
function namesOf(queues: readonly string[]): string {
  const more = queues.length - MOST_NAMED;
  return `${queues.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Returns the begin of an error in words: the time of day, or after a day the date. */
export function sinceWords(since: Date, nowMs: number): string {
  const text = since.toISOString();
  return nowMs - since.getTime() < DAY_MS ? `${text.slice(11, 16)} UTC` : text.slice(0, 10);
}

export function deployWords(deploy: SharedError['deploy']): string {
  return deploy ? `, ${duration(deploy.beforeMs)} after version ${deploy.version}` : '';
}

function sum(kinds: readonly KindOfQueue[], of: (kind: KindOfQueue) => number): number {
  return kinds.reduce((total, kind) => total + of(kind), 0);
}

// What people said of a kind of error, and since when a known one comes again.

/** The part of the history that is searched for the deploy before an error, in ms. */
const DEPLOYS_MS = 86_400_000;

/** Adds the version that was deployed right before each known kind came again. Reads nothing if none comes again. */
export async function withVersions<Kind extends Pick<ErrorKind, 'mark' | 'firstAt'>>(
  { history }: Pick<JobQueue, 'history'>,
  kinds: readonly Kind[],
): Promise<(Kind & { version?: string })[]> {
  const { marks } = kinds.some(({ mark }) => mark?.comesAgain)
    ? await history.read({ lastMs: DEPLOYS_MS })
    : { marks: [] };
  return kinds.map((kind) => {
    const deploy = kind.mark?.comesAgain ? deployBefore(kind.firstAt, marks) : undefined;
    return { ...kind, ...(deploy && { version: deploy.version }) };
  });
}

/** Returns what people said of a kind of error in a few words, and since when it comes again. */
export function markWords(
  { known, comesAgain, quietUntil, note, by, at }: KindMark,
  nowMs: number,
  version?: string,
): string {
  const quiet =
    quietUntil && quietUntil.getTime() > nowMs ? `quiet, ends ${relative(quietUntil.getTime(), nowMs)}` : '';
  const again = `comes again${version === undefined ? '' : ` since version ${version}`}`;
  const life = comesAgain ? `${again}, known since ${sinceWords(at, nowMs)}` : known ? 'known' : '';
  const said = note === undefined ? '' : `“${note}”`;
  const words = [life, quiet, said].filter(Boolean).join(', ');
  return by === undefined || words === '' ? words : `${words} (${by})`;
}
