import { lastErrorWords, type ErrorKind } from '../../queue/dead-letters/error-kinds.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { ShownJob } from '../../queue/store/shown-content.js';
import { markWords } from '../../inspect/mark-words.js';
import { startOf } from '../../queue/runtime/cut.js';
import type { ErrorGroupView } from '../views/views.js';

const NO_ERROR = 'No error is stored';
/** The kind of a dead letter that an earlier version has made. */
const UNCOUNTED = '@uncounted';

/** Returns the kind of a job's last error. */
export function kindOf({ errorKind }: Pick<JobRecord, 'errorKind'>): string {
  return errorKind ?? UNCOUNTED;
}

/** A dead letter, as far as its group shows it. */
export interface FailedJob extends Pick<ErrorGroupView, 'key' | 'name' | 'sample'> {
  queue: string;
  id: string;
  at: number;
}

/** Returns the part of a dead letter that its group shows. */
export function failedJobOf(job: ShownJob): FailedJob {
  const name = job.attemptLog.findLast(({ error }) => error !== null)?.error?.name ?? 'Error';
  return {
    queue: job.queue,
    id: job.id,
    key: kindOf(job),
    name: startOf(name, 100),
    sample: startOf(lastErrorWords(job) ?? NO_ERROR, 300),
    at: (job.failedAt ?? job.enqueuedAt).getTime(),
  };
}

/** Groups dead letters by the kind of their last error, the largest group first. */
export function groupByError(jobs: readonly FailedJob[]): ErrorGroupView[] {
  const groups = new Map<string, ErrorGroupView>();
  for (const { key, name, sample, at } of jobs) {
    const known = groups.get(key);
    if (known) {
      known.count += 1;
      known.firstAt = Math.min(known.firstAt ?? at, at);
      known.lastAt = Math.max(known.lastAt ?? at, at);
    } else {
      groups.set(key, { key, name, sample, count: 1, firstAt: at, lastAt: at, lastHour: null, isNew: false });
    }
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count);
}

/**
 * Returns the counted kinds as groups. Dead letters that no process has counted are one more.
 *
 * @param total all dead letters
 * @param shown returns a job as it may be shown
 * @param nowMs the time of Redis
 */
export function groupsOfKinds(
  kinds: readonly (ErrorKind & { version?: string })[],
  total: number,
  shown: (job: JobRecord) => ShownJob,
  nowMs: number,
): ErrorGroupView[] {
  const groups = kinds.map((each): ErrorGroupView => {
    const { kind, count, lastHour, firstAt, lastAt, isNew, error, sample, mark, version } = each;
    const words = sample ? failedJobOf(shown(sample)) : { name: 'Error', sample: error ?? `kind ${kind}` };
    const times = { firstAt: firstAt.getTime(), lastAt: lastAt.getTime() };
    return {
      key: kind,
      name: words.name,
      sample: words.sample,
      count,
      ...times,
      lastHour,
      isNew,
      ...(mark && { mark: { words: markWords(mark, nowMs, version), comesAgain: mark.comesAgain } }),
    };
  });
  const rest = total - kinds.reduce((sum, { count }) => sum + count, 0);
  const uncounted = {
    key: UNCOUNTED,
    name: 'Not counted',
    sample: 'An earlier version buried them',
    lastHour: null,
  };
  return rest > 0 ? [...groups, { ...uncounted, count: rest, firstAt: null, lastAt: null, isNew: false }] : groups;
}
