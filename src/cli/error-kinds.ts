// The kinds of error of the dead letters, for `errors` and `top`.
import {
  causesOf,
  deployWords,
  GOES_ON_MS,
  withCause,
  type KindOfQueue,
  type SharedError,
  markWords,
  withVersions,
} from '../inspect/shared-errors.js';
import type { QueueVerdict } from '../inspect/queue-signs.js';
import { unreadable } from '../inspect/unreadable.js';
import type { ErrorKind } from '../queue/dead-letters/error-kinds.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { HistoryMark } from '../queue/model/history.js';
import type { Output } from './output.js';
import { eachShard, shardsOf } from '../spread/whole-queue.js';
import type { Session } from './redis/session.js';
import { text, type Part } from './text.js';

/** A kind of error, with the words of one of its dead letters as they may be shown. */
export type ShownKind = Omit<ErrorKind, 'sample'> & { sampleId?: string; version?: string };

/** A kind of a queue, with its root cause. */
type KindWithCause = ShownKind & KindOfQueue;

/** Returns the kinds of error of a queue, the most frequent first. */
export async function readKinds(session: Session, queue: JobQueue): Promise<ShownKind[]> {
  const kinds = await kindsWithCauses(session, queue);
  return withVersions(
    shardsOf(queue)[0],
    kinds.map(({ queue: _queue, cause: _cause, ...kind }) => kind),
  );
}

async function kindsWithCauses(session: Session, queue: JobQueue): Promise<KindWithCause[]> {
  const content = await session.shownBy(queue);
  return (await queue.deadLetters.kinds()).map((kind) => ({
    ...withCause(queue.name, kind, (sample) => content.record(sample)),
    ...(kind.sample && { sampleId: kind.sample.id }),
  }));
}

/** Reads the root causes of the dead letters of all queues. */
export async function readCauses(session: Session): Promise<{ causes: SharedError[]; unreadable: QueueVerdict[] }> {
  const kinds: KindOfQueue[] = [];
  const marks: HistoryMark[] = [];
  const broken: QueueVerdict[] = [];
  const readOne = async (queue: JobQueue) => {
    try {
      const found = await kindsWithCauses(session, queue);
      kinds.push(...found);
      if (found.length > 0) {
        const [{ marks: known }] = await eachShard(queue, (shard) =>
          shard.history.read({ lastMs: 2 * GOES_ON_MS }),
        );
        marks.push(...known);
      }
    } catch (error) {
      broken.push(unreadable(queue.name, error));
    }
  };
  await Promise.all((await session.allQueues()).map(readOne));
  return { causes: causesOf(kinds, marks), unreadable: broken };
}

/** Returns the kinds of error as a table, with what people said of them. */
export function kindTable(kinds: readonly ShownKind[], out: Output): Part {
  const rows = kinds.map(({ kind, count, lastHour, isNew, lastAt, mark, version, error = '–' }) => [
    kind,
    count,
    lastHour,
    out.ago(lastAt),
    [mark ? markWords(mark, out.nowMs, version) : '', isNew && !mark?.comesAgain ? 'new' : '']
      .filter(Boolean)
      .join(', '),
    error,
  ]);
  const head = ['kind', 'dead', 'in 1 h', 'last', '', 'error'];
  return rows.length > 0 ? out.table(head, rows, { whole: ['kind'] }) : 'No dead letters.';
}

/** Returns the root causes as JSON has them. */
export function jsonOfCauses(causes: readonly SharedError[]): object[] {
  return causes.map(({ key: cause, words, kinds, queues: _queues, ...facts }) => ({
    cause,
    error: words,
    ...facts,
    queues: kinds.map(({ cause: _cause, error: _error, ...kind }) => kind),
  }));
}

/** Returns the root causes as a table, a row for each, whatever the number of its queues. */
export function causeTable(causes: readonly SharedError[], out: Output): Part {
  const rows = causes.map(({ key, words, queues, count, lastHour, since, lastAt, deploy }) => [
    key,
    count,
    lastHour,
    out.ago(since),
    out.ago(lastAt),
    queues.join(', '),
    text`${words}${deployWords(deploy)}`,
  ]);
  const head = ['cause', 'dead', 'in 1 h', 'since', 'last', 'queues', 'error'];
  return rows.length > 0
    ? out.table(head, rows, { whole: ['cause', 'queues'], dropped: ['last'] })
    : 'No dead letters.';
}
