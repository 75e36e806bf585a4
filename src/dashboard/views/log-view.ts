// The action log of the page. Types only: both sides import them.
import type { ActionAuthor, ActionTarget } from '../../queue/store/action-entry.js';
import type { QueueVerdictView } from './verdict-views.js';

/** The latest entries of all queues that could be read, or of one. */
export interface LogView {
  entries: ActionLogEntry[];
  /** True if there may be earlier ones. */
  isCut: boolean;
  unreadable: QueueVerdictView[];
}

export interface ActionLogEntry {
  at: number;
  queue: string;
  via: ActionAuthor['via'];
  by: string;
  action: string;
  /** The subject of the action, in words. */
  subject: string;
  /** Its single object, for a link. */
  target: ActionTarget | null;
  /** A second object, such as the new job of a redrive. Null if the viewer may not see it. */
  other: ActionTarget | null;
  /** The number of changed jobs; null if the action has not ended, or its end is unknown. */
  count: number | null;
}
