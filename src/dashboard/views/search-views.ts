// What searches over several queues return. Types only: the page imports them too.
import type { JobRow, QueueVerdictView } from './views.js';

/** The jobs with an id, in all queues that could be read. */
export interface FoundJobsView {
  jobs: JobRow[];
  unreadable: QueueVerdictView[];
}
