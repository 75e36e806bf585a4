// The kinds of error of the dead letters, for `errors` and `top`.
import { lastErrorWords, type ErrorKind } from '../queue/dead-letters/error-kinds.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { Output } from './output.js';
import type { Session } from './redis/session.js';
import type { Part } from './text.js';

/** A kind of error, with the words of one of its dead letters as they may be shown. */
export type ShownKind = Omit<ErrorKind, 'sample'>;

/** Returns the kinds of error of a queue, the most frequent first. */
export async function readKinds(session: Session, queue: JobQueue): Promise<ShownKind[]> {
  const content = await session.shownBy(queue);
  return (await queue.deadLetters.kinds()).map(({ sample, error, ...kind }) => {
    const words = sample ? lastErrorWords(content.record(sample)) : error;
    return { ...kind, ...(words !== undefined && { error: words }), ...(sample && { sampleId: sample.id }) };
  });
}

/** Returns the kinds of error as a table. */
export function kindTable(kinds: readonly ShownKind[], out: Output): Part {
  const rows = kinds.map(({ kind, count, lastHour, isNew, lastAt, error = '–' }) => [
    kind,
    count,
    lastHour,
    out.ago(lastAt),
    isNew ? 'new' : '',
    error,
  ]);
  const head = ['kind', 'dead', 'in 1 h', 'last', '', 'error'];
  return rows.length > 0 ? out.table(head, rows, { whole: ['kind'] }) : 'No dead letters.';
}
