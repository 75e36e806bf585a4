import { hostname } from 'node:os';
import { basename } from 'node:path';
import type { ActionAuthor } from '../store/action-entry.js';

/** The parts of a queue that refer back to it. A getter makes some of them at its first read, for the object that is read. */
const ROOMS = ['actionLog', 'auditTrail', 'deadLetters', 'groups', 'history', 'limits', 'profiles', 'schedules'];

/** Returns the code of this process as an author: its program, host and process id. */
export function programAsAuthor(): ActionAuthor {
  const program = basename(process.argv[1] ?? process.title).replace(/\.[cm]?[jt]s$/, '');
  return { via: 'app', by: `${program}@${hostname().slice(0, 64)} (pid ${process.pid})` };
}

/**
 * Returns a queue with another author of its actions, who is not the author of the given object.
 *
 * @param author null if the caller writes the log
 */
export function authoredBy<Queue extends object>(queue: Queue, author: ActionAuthor | null): Queue {
  const view = Object.assign(Object.create(queue) as Queue, { author });
  const rooms = ROOMS.map((name) => [name, (queue as Record<string, unknown>)[name] as object] as const);
  for (const [name, room] of rooms) {
    Object.defineProperty(view, name, { value: Object.assign(Object.create(room) as object, { queue: view }) });
  }
  return view;
}
