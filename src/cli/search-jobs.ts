// Searches jobs as the dashboard does, for `list --search`.
import type { QueueVerdict } from '../inspect/queue-signs.js';
import { compileSearch, type Search } from '../inspect/search.js';
import { placesOf, walkSlice } from '../inspect/walk-jobs.js';
import { unreadable, unreadableByAny } from '../inspect/unreadable.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { JobStatus } from '../queue/model/job.js';
import type { ShownJob } from '../queue/store/shown-content.js';
import { shardsOf } from '../spread/whole-queue.js';
import type { Session } from './redis/session.js';

/** Where a search looks, and where it ends. */
interface Scope {
  /** Undefined for all queues. */
  name: string | undefined;
  /** Undefined for all states. */
  status: JobStatus | undefined;
  /** The search ends at this many matches, or a few more. */
  most: number;
}

/** Searches the jobs of a queue, or of all. Dead letters are looked at first. */
export class JobSearch {
  /** The matches. */
  readonly jobs: ShownJob[] = [];
  /** The queues that cannot be read. */
  readonly unreadable: QueueVerdict[] = [];
  /** The number of jobs that were looked at. */
  searched = 0;
  /** The number of payloads that could not be looked into. */
  unread = 0;
  /** True if it has ended because it found enough. */
  isCut = false;

  private readonly search: Search;

  /** @throws InvalidOptionError for a bad term */
  constructor(
    private readonly session: Session,
    text: string,
  ) {
    this.search = compileSearch(text);
  }

  async run({ name, status, most }: Scope): Promise<void> {
    const queues = name === undefined ? undefined : shardsOf(await this.session.known(name));
    const all = queues?.map((queue) => queue.name) ?? (await this.session.queueNames());
    const names = all.filter((each) => !this.session.shards.unreached.has(each)); // which the command names at its end
    const places = placesOf(names, this.search, null).filter(({ state }) => (status ?? state) === state);
    for (const { queue, state } of places) {
      if (this.isCut || this.unreadable.some((verdict) => verdict.queue === queue)) {
        continue;
      }
      try {
        await this.look(this.session.queue(queue), state, most);
      } catch (error) {
        if (queues?.length === 1) {
          throw error;
        }
        this.unreadable.push(queues ? unreadableByAny(queue, error) : unreadable(queue, error));
      }
    }
  }

  /** Looks at the jobs of one state, slice by slice. */
  private async look(queue: JobQueue, state: JobStatus, most: number): Promise<void> {
    const content = await this.session.shownBy(queue);
    let cursor: string | null = null;
    do {
      const slice = await walkSlice(queue, state, cursor, this.search);
      for (const job of slice.jobs.map((each) => content.record(each))) {
        const looked = this.search.look(job);
        this.unread += Number(looked === 'unread');
        if (looked === 'match') {
          this.jobs.push(job);
        }
      }
      this.searched += slice.looked;
      cursor = slice.cursor;
      this.isCut = this.jobs.length >= most;
    } while (cursor !== null && !this.isCut);
  }
}
