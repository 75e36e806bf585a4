import type { ResolvedQueueOptions } from '../model/queue-options.js';

/** Returns whether an event reports each new job. */
export function publishesEnqueues({ events, eventExtras }: ResolvedQueueOptions): boolean {
  return eventExtras?.enqueued === true && events !== 'off';
}

/** Returns when events are published, and whether with results; see lua/lib/core/listened.lua. */
export function publishArg({ events, eventExtras }: ResolvedQueueOptions): string {
  return eventExtras?.results && events !== 'off' ? `${events}+results` : events;
}
