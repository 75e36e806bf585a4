import type { ScheduleView } from './views.js';
import type { QueueVerdictView } from './verdict-views.js';

/** The recurring jobs of all queues that could be read. */
export interface SchedulesView {
  schedules: ScheduleView[];
  unreadable: QueueVerdictView[];
}
