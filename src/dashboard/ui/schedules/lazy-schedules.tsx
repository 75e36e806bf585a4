import { lazy } from '../parts/lazy.js';

/** Shows the page of recurring jobs; it is loaded only when it is opened. */
export const LazySchedules = lazy(
  'The recurring jobs',
  async () => (await import('./schedules-page.js')).SchedulesPage,
);
