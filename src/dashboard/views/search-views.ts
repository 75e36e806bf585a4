// What searches over several queues return. Types only: the page imports them too.
import type { JobRow, QueueVerdictView, SearchPage } from './views.js';

/** The jobs with an id, in all queues that could be read. */
export interface FoundJobsView {
  jobs: JobRow[];
  unreadable: QueueVerdictView[];
}

/** One slice of a search over all queues and states. */
export interface EverywherePage extends Omit<SearchPage, 'total'> {
  /** The number of jobs of the searched queues and states; null after the first slice. */
  total: number | null;
  unreadable: QueueVerdictView[];
}
