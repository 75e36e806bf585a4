import type { QueueView } from '../../views/views.js';
import { lazy } from '../parts/lazy.js';

/** Shows the charts; their library is loaded only when they are opened. */
export const LazyCharts = lazy<{ queue: QueueView }>(
  'The charts',
  async () => (await import('./charts.js')).Charts,
);
