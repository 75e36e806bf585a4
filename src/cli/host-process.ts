import { hostname, userInfo } from 'node:os';
import type { ActionAuthor } from '../queue/store/action-entry.js';
import type { Readable, Writable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';

/** A stream that a command prints to, which may be a terminal. */
export type OutputStream = Writable & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'rows'>>;

/** The process that a command runs in: its streams and its environment. */
export interface HostProcess {
  readonly stdin: Readable & Partial<Pick<ReadStream, 'isTTY' | 'isRaw' | 'setRawMode'>>;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: NodeJS.ProcessEnv;
  /** Who acts by it, if that is not the user of the machine. */
  readonly user?: string;
}

/** Returns the name of the user, or undefined if the machine does not know it. A container may have a foreign user id. */
export function userOfMachine(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}

/** Returns the author of what a command does. */
export function authorOf({ user }: Pick<HostProcess, 'user'>): ActionAuthor {
  return { via: 'cli', by: user ?? `${userOfMachine() ?? 'unknown'}@${hostname().slice(0, 64)}` };
}
