import type { FleetFigure } from './instruments.js';

/** What an autoscaler needs to know of one queue. */
export interface QueueScaling {
  /** How long the oldest job that may run has been claimable, in seconds; 0 where none waits. Jobs that a group holds back do not count. */
  oldestAgeSeconds: number;
  /** Pending jobs. */
  waiting: number;
  /** Jobs that are claimed now. */
  running: number;
  /** The slots of the workers of the queue. A job may take several. Absent where one of them does not say so. */
  slots?: number;
}

/** Picks the figures of each queue whose Redis replied. */
export function scalingReportOf(figures: readonly FleetFigure[]): Record<string, QueueScaling> {
  const queues = new Map<string, Map<string, number>>();
  for (const { key, labels, value } of figures) {
    const queue = queues.get(labels.queue!) ?? new Map<string, number>();
    queues.set(labels.queue!, queue.set(labels.state ?? key, value));
  }
  return Object.fromEntries(
    [...queues].filter(([, queue]) => queue.get('up') === 1).map(([name, queue]) => [name, scalingOf(queue)]),
  );
}

function scalingOf(queue: ReadonlyMap<string, number>): QueueScaling {
  const slots = queue.get('slots');
  return {
    oldestAgeSeconds: queue.get('unheldAge')!,
    waiting: queue.get('pending')!,
    running: queue.get('processing')!,
    ...(slots !== undefined && { slots }),
  };
}
