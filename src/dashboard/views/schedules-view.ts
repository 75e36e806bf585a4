import type { QueueVerdictView, ScheduleView } from './views.js';

/** The recurring jobs of all queues that could be read. */
export interface SchedulesView {
  schedules: ScheduleView[];
  unreadable: QueueVerdictView[];
}
