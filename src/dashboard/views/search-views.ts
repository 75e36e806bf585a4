// What searches over several queues return. Types only: the page imports them too.
import type { JobRow, SearchPage } from './views.js';
import type { QueueVerdictView } from './verdict-views.js';

/** The end of a job whose record has gone. */
export type EndedJobView = Pick<JobRow, 'queue' | 'id' | 'name' | 'state'>;

/** The jobs with an id, in all queues that could be read. */
export interface FoundJobsView {
  jobs: JobRow[];
  /** The ends of jobs whose records have gone; empty if a job was found. */
  ended: EndedJobView[];
  unreadable: QueueVerdictView[];
}

/** One slice of a search over all queues and states. */
export interface EverywherePage extends Omit<SearchPage, 'total'> {
  /** The number of jobs of the searched queues and states; null after the first slice. */
  total: number | null;
  unreadable: QueueVerdictView[];
}
