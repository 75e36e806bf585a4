// What ioredis does not declare of the commands that a connection has sent, or is to send, and that have no answer yet.
import type { Redis } from 'ioredis';

/** A command of a client. */
export interface UnansweredCommand {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly promise: Promise<unknown>;
}

interface Queue {
  readonly length: number;
  toArray(): { command: UnansweredCommand }[];
}

/** Another version of ioredis may lack any of them, and then is left as it is. */
export interface CommandQueues {
  /** Sent. */
  commandQueue?: Queue;
  /** To be sent. */
  offlineQueue?: Queue;
  /** Fails all that was sent, or is to be sent. */
  flushQueue?(error: Error): void;
}

export function queuesOf(node: Redis): CommandQueues {
  return node as unknown as CommandQueues;
}

/** The commands that were sent, in the order in which the server answers them. */
export function sentCommands(node: Redis): UnansweredCommand[] {
  return (queuesOf(node).commandQueue?.toArray() ?? []).map(({ command }) => command);
}

/** The size of a command on its way, in bytes. */
export function bytesOf({ args }: UnansweredCommand): number {
  return args
    .flat()
    .reduce<number>((sum, arg) => sum + (Buffer.isBuffer(arg) ? arg.length : Buffer.byteLength(String(arg))), 0);
}
