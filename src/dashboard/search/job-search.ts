import { Injectable } from '@nestjs/common';
import { compileSearch } from '../../inspect/search/compile-search.js';
import { cursorOf, placeOf, placesOf, SEARCHED_STATES } from '../../inspect/search/walk-places.js';
import { walkSlice } from '../../inspect/search/walk-state.js';
import type { QueueVerdict } from '../../inspect/queue-signs.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobRecord, JobStatus } from '../../queue/model/job.js';
import { ShownQueues } from '../shown-queues.js';
import { JobDescriber } from '../views/job-describer.js';
import type { EverywherePage } from '../views/search-views.js';
import type { ErrorGroupsPage, JobMatch, JobRow, SearchPage } from '../views/views.js';
import { Redactor } from '../security/redactor.js';
import { withVersions } from '../../inspect/mark-words.js';
import { failedJobOf, groupsOfKinds, type FailedJob } from './error-groups.js';
import { matcherOf, type Matcher } from './job-match.js';

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
