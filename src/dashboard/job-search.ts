// Searches jobs for the page, slice by slice, and groups dead letters by the kind of their error.
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { markWords, withVersions } from '../inspect/shared-errors.js';
import type { QueueVerdict } from '../inspect/queue-signs.js';
import { compileSearch, type Search, LONGEST_SEARCH } from '../inspect/search.js';
import { cursorOf, placeOf, placesOf, SEARCHED_STATES, walkSlice } from '../inspect/walk-jobs.js';
import { lastErrorWords, type ErrorKind } from '../queue/dead-letters/error-kinds.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { JobRecord, JobStatus } from '../queue/model/job.js';
import { startOf } from '../queue/runtime/cut.js';
import type { ShownJob } from '../queue/store/shown-content.js';
import { Redactor } from './security/redactor.js';
import { ShownQueues } from './shown-queues.js';
import { JobDescriber } from './views/job-describer.js';
import type {
  EverywherePage,
  ErrorGroupView,
  JobMatch,
  ErrorGroupsPage,
  JobRow,
  SearchPage,
} from './views/views.js';

const NO_ERROR = 'No error is stored';
/** The kind of a dead letter that an earlier version has made. */
const UNCOUNTED = '@uncounted';

/** Returns the kind of a job's last error. */
function kindOf({ errorKind }: Pick<JobRecord, 'errorKind'>): string {
  return errorKind ?? UNCOUNTED;
}

/** A dead letter, as far as its group shows it. */
interface FailedJob extends Pick<ErrorGroupView, 'key' | 'name' | 'sample'> {
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
function groupsOfKinds(
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

const tooLong = `expected text of at most ${LONGEST_SEARCH} characters`;
/** A search, whose bad terms are refused by their own error. */
export const searchText = z
  .string({ error: 'expected text' })
  .max(LONGEST_SEARCH, tooLong)
  .refine((text) => compileSearch(text), 'expected a search');

export const matchSchema = z.strictObject(
  {
    text: searchText.optional(),
    group: z.string({ error: 'expected text' }).max(LONGEST_SEARCH, tooLong).optional(),
  },
  { error: 'expected an object with text, group' },
);

/** What jobs are held against: a search, and a kind of error. */
export type Matcher = Pick<Search, 'mayMatch' | 'readsPayloads' | 'look'>;

/**
 * Returns what jobs must match.
 *
 * @throws InvalidOptionError for a bad term
 */
export function matcherOf({ text = '', group }: JobMatch): Matcher {
  const { mayMatch, readsPayloads, look } = compileSearch(text);
  return {
    mayMatch,
    readsPayloads,
    look: (job) => (group !== undefined && kindOf(job) !== group ? 'none' : look(job)),
  };
}

/** The time one request searches, in ms. The page asks for further slices until it is stopped. */
const SLICE_MS = 300;
/** The most matches of one request. */
const MOST_FOUND = 100;

/** A slice of the dead letters. */
interface FailedJobs {
  jobs: FailedJob[];
  /** The number of all dead letters. */
  total: number;
  /** The start of the next slice; null at the end. */
  cursor: string | null;
}

/** A slice of a search over several queues, before its verdicts are views. */
type FoundEverywhere = Omit<EverywherePage, 'unreadable'> & { unreadable: QueueVerdict[] };

/** Searches jobs, a bounded slice at each request. It keeps nothing between two requests. */
@Injectable()
export class JobSearch {
  constructor(
    private readonly describer: JobDescriber,
    private readonly redactor: Redactor,
    private readonly queues: ShownQueues,
  ) {}

  /**
   * Searches the jobs of one state.
   *
   * @param most the search ends after this many matches
   */
  async search(
    queue: JobQueue,
    state: JobStatus,
    match: JobMatch,
    cursor: string | null,
    most: number = MOST_FOUND,
  ): Promise<SearchPage> {
    const matcher = matcherOf(match);
    const gathered = new Gathering(most);
    if (!matcher.mayMatch(queue.name, state)) {
      return { ...gathered.found, total: 0, cursor: null };
    }
    let next = cursor;
    do {
      const slice = await walkSlice(queue, state, next, matcher);
      gathered.add(slice.looked, this.hold(slice.jobs, matcher));
      next = slice.cursor;
    } while (next !== null && !gathered.isFull);
    const stats = await queue.stats();
    return { ...gathered.found, total: stats[state], cursor: next };
  }

  /**
   * Searches all states of several queues. What waits for a look comes first.
   *
   * @throws InvalidOptionError for a bad term or cursor
   */
  async everywhere(names: readonly string[], text: string, cursor: string | null): Promise<FoundEverywhere> {
    const search = compileSearch(text);
    const gathered = new Gathering(MOST_FOUND);
    const from = cursor === null ? null : placeOf(cursor);
    const before = from === null ? await this.sizeOf(names, search) : { total: null, unreadable: [] };
    const verdicts = new Map(before.unreadable.map((verdict) => [verdict.queue, verdict]));
    let places = placesOf(names, search, from).filter(({ queue }) => !verdicts.has(queue));
    // At least one look, so that each request gets on, however slow Redis is.
    for (let looks = 0; places.length > 0 && (looks === 0 || !gathered.isFull); looks++) {
      const place = places[0]!;
      await this.redactor.learn(place.queue);
      const walk = async (queue: JobQueue) => [await walkSlice(queue, place.state, place.cursor, search)];
      const { found, unreadable } = await this.queues.gather([place.queue], walk);
      unreadable.forEach((verdict) => verdicts.set(verdict.queue, verdict));
      const [slice] = found;
      gathered.add(slice?.looked ?? 0, this.hold(slice?.jobs ?? [], search));
      place.cursor = slice?.cursor ?? null;
      places = places.filter((each) => !verdicts.has(each.queue) && (each !== place || place.cursor !== null));
    }
    return {
      ...gathered.found,
      total: before.total,
      cursor: cursorOf(places[0]),
      unreadable: [...verdicts.values()],
    };
  }

  /** Returns the kinds of error of all dead letters, as they were counted. */
  async kinds(queue: JobQueue): Promise<ErrorGroupsPage> {
    const [kinds, { failed }, nowMs] = await Promise.all([
      queue.deadLetters.kinds(),
      queue.stats(),
      queue.exec((calls) => calls.now()),
    ]);
    const groups = groupsOfKinds(
      await withVersions(queue, kinds),
      failed,
      (job) => this.redactor.record(job),
      nowMs,
    );
    return { groups, searched: failed, total: failed, cursor: null };
  }

  /** Returns a slice of the dead letters, as far as groups of errors show them. */
  async failedJobs(queue: JobQueue, cursor: string | null): Promise<FailedJobs> {
    const until = performance.now() + SLICE_MS;
    const jobs: FailedJob[] = [];
    let next = cursor;
    do {
      const slice = await walkSlice(queue, 'failed', next, { readsPayloads: false });
      jobs.push(...slice.jobs.map((job) => failedJobOf(this.redactor.record(job))));
      next = slice.cursor;
    } while (next !== null && performance.now() < until);
    const { failed } = await queue.stats();
    return { jobs, total: failed, cursor: next };
  }

  /** Returns how many jobs a search has before it, and the queues that cannot be read. */
  private async sizeOf(names: readonly string[], { mayMatch }: ReturnType<typeof compileSearch>) {
    const searched = (name: string) => SEARCHED_STATES.filter((state) => mayMatch(name, state));
    const { found, unreadable } = await this.queues.gather(
      names.filter((name) => searched(name).length > 0),
      async (queue) => {
        const stats = await queue.stats();
        return searched(queue.name).map((state) => stats[state]);
      },
    );
    return { total: found.reduce((sum, jobs) => sum + jobs, 0), unreadable };
  }

  /** Holds the jobs of a slice against a search. */
  private hold(jobs: readonly JobRecord[], { look }: Pick<Matcher, 'look'>): Held {
    const looked = jobs.map((job) => ({ job, outcome: look(this.redactor.record(job)) }));
    return {
      rows: looked.filter(({ outcome }) => outcome === 'match').map(({ job }) => this.describer.row(job)),
      unread: looked.filter(({ outcome }) => outcome === 'unread').length,
    };
  }
}

/** The matches of a slice. */
interface Held {
  rows: JobRow[];
  unread: number;
}

/** What a request has found so far. */
class Gathering {
  readonly found = { jobs: [] as JobRow[], searched: 0, unread: 0 };
  private readonly until = performance.now() + SLICE_MS;

  constructor(private readonly most: number) {}

  get isFull(): boolean {
    return this.found.jobs.length >= this.most || performance.now() >= this.until;
  }

  add(looked: number, { rows, unread }: Held): void {
    this.found.jobs.push(...rows);
    this.found.searched += looked;
    this.found.unread += unread;
  }
}
