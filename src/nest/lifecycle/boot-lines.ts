import type { MaintenanceSchedule } from '../options/maintenance-options.js';

/** Returns the names of a queue's handlers, unless the only one is the queue's name. */
export function namesBeside(queue: string, handlers: object): string {
  const names = Object.keys(handlers);
  return names.length === 1 && names[0] === queue ? '' : ` (${names.join(', ')})`;
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
