import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { MaintenanceSchedule } from '../options/maintenance-options.js';

/** Returns the names of a queue's handlers, unless the only one is the queue's name. */
function namesBeside(queue: string, handlers: object): string {
  const names = Object.keys(handlers);
  return names.length === 1 && names[0] === queue ? '' : ` (${names.join(', ')})`;
}

interface ServedQueue {
  name: string;
  concurrency: number;
  handlers: object;
}

/** Returns which queues a worker serves, and how many jobs it runs at once. */
export function workerInWords(id: string, queues: readonly ServedQueue[], most = Infinity): string {
  const served = queues.map(
    ({ name, concurrency, handlers }) => `${name} ×${concurrency}${namesBeside(name, handlers)}`,
  );
  const slots = queues.reduce((sum, { concurrency }) => sum + concurrency, 0);
  return `Worker ${id} serves ${served.join(', ')}; ${Math.min(slots, most)} at once in this process`;
}

/** Returns where the jobs are. */
export function serverInWords(isEmbedded: boolean, address: string): string {
  return isEmbedded
    ? 'Jobs are in the memory of this process, without Redis: they are lost at its end, and no other process sees them'
    : `Redis: ${address}`;
}

/** Warns if nobody said where Redis is, although the app runs in production. */
export function warnOfAssumedRedis(logger: JobQueueLogger, address: string): void {
  if (process.env['NODE_ENV'] === 'production') {
    const isEmpty = process.env['REDIS_URL'] === '';
    logger.warn(
      `${isEmpty ? 'REDIS_URL is empty, and redis is not set' : 'Neither redis nor REDIS_URL is set'}, although NODE_ENV is ` +
        `production. This process uses ${address}. Set REDIS_URL, or redis in JobQueueModule.forRoot.`,
    );
  }
}

/** Returns who maintains the queues, and when. */
export function maintenanceInWords(maintenance: MaintenanceSchedule | false): string {
  if (maintenance === false) {
    return 'not by this process; another one must do it';
  }
  return 'everyMs' in maintenance
    ? `this process, every ${maintenance.everyMs} ms`
    : `this process, at ${maintenance.cron}${maintenance.timeZone ? ` (${maintenance.timeZone})` : ''}`;
}
