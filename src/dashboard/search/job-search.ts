import { Injectable } from '@nestjs/common';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobStatus } from '../../queue/model/job.js';
import { JobDescriber } from '../views/job-describer.js';
import type { ErrorGroupsPage, JobMatch, JobRow, SearchPage } from '../views/views.js';
import { Redactor } from '../security/redactor.js';
import { failedJobOf, groupsOfKinds, type FailedJob } from './error-groups.js';
import { matches } from './job-match.js';
import { walkSlice } from './job-walk.js';

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

/** Searches the jobs of one state, a bounded slice at each request. It keeps nothing between two requests. */
@Injectable()
export class JobSearch {
  constructor(
    private readonly describer: JobDescriber,
    private readonly redactor: Redactor,
  ) {}

  /** @param most the search ends after this many matches */
  async search(
    queue: JobQueue,
    state: JobStatus,
    match: JobMatch,
    cursor: string | null,
    most: number = MOST_FOUND,
  ): Promise<SearchPage> {
    const until = performance.now() + SLICE_MS;
    const found: JobRow[] = [];
    let searched = 0;
    let next = cursor;
    do {
      const slice = await walkSlice(queue, state, next);
      searched += slice.looked;
      next = slice.cursor;
      const matching = slice.jobs.filter((job) => matches(this.redactor.record(job), match));
      found.push(...matching.map((job) => this.describer.row(job)));
    } while (next !== null && found.length < most && performance.now() < until);
    const stats = await queue.stats();
    return { jobs: found, searched, total: stats[state], cursor: next };
  }

  /** Returns the kinds of error of all dead letters, as they were counted. */
  async kinds(queue: JobQueue): Promise<ErrorGroupsPage> {
    const [kinds, { failed }] = await Promise.all([queue.deadLetters.kinds(), queue.stats()]);
    const groups = groupsOfKinds(kinds, failed, (job) => this.redactor.record(job));
    return { groups, searched: failed, total: failed, cursor: null };
  }

  /** Returns a slice of the dead letters, as far as groups of errors show them. */
  async failedJobs(queue: JobQueue, cursor: string | null): Promise<FailedJobs> {
    const until = performance.now() + SLICE_MS;
    const jobs: FailedJob[] = [];
    let next = cursor;
    do {
      const slice = await walkSlice(queue, 'failed', next);
      jobs.push(...slice.jobs.map((job) => failedJobOf(this.redactor.record(job))));
      next = slice.cursor;
    } while (next !== null && performance.now() < until);
    const { failed } = await queue.stats();
    return { jobs, total: failed, cursor: next };
  }
}
