// Fields of ioredis that its types omit or declare private. Another version may lack any of them. Such a field reads as
// undefined, and the client is left as it is.
import type { Cluster, Redis } from 'ioredis';

/** A command without a reply, sent or waiting to be sent. */
export interface UnansweredCommand {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly promise: Promise<unknown>;
}

/** A server as ioredis takes it in a list. A URL may hold a password. */
export type ServerAddress = string | number | { host?: string | undefined; port?: number | undefined };

interface CommandQueue {
  readonly length: number;
  toArray(): readonly { readonly command: UnansweredCommand }[];
}

/** Returns the commands that a connection has sent, in the order of their replies. */
export function sentCommands(node: Redis): UnansweredCommand[] {
  return commandsIn(queueOf(node, 'commandQueue'));
}

/** Returns the commands that a connection has sent, then the queued commands. */
export function unansweredCommands(node: Redis): UnansweredCommand[] {
  return [...sentCommands(node), ...commandsIn(queueOf(node, 'offlineQueue'))];
}

/** Returns true for a connection with a command without a reply, sent or waiting to be sent. */
export function owesAnswer(node: Redis): boolean {
  return Boolean(queueOf(node, 'commandQueue')?.length || queueOf(node, 'offlineQueue')?.length);
}

/** Rejects the unanswered commands of a connection with the error. */
export function failUnanswered(node: Redis, error: Error): void {
  const flush: unknown = Reflect.get(node, 'flushQueue');
  if (typeof flush === 'function') {
    Reflect.apply(flush, node, [error]);
  }
}

/** Returns the size of a command in flight, in bytes. */
export function bytesOf({ args }: UnansweredCommand): number {
  return args
    .flat()
    .reduce<number>((sum, arg) => sum + (Buffer.isBuffer(arg) ? arg.length : Buffer.byteLength(String(arg))), 0);
}

/** Returns the servers that a Cluster client tries first. */
export function startupNodesOf(client: Cluster): ServerAddress[] {
  const nodes: unknown = Reflect.get(client, 'startupNodes');
  return Array.isArray(nodes) ? nodes.filter(isServerAddress) : [];
}

/** Returns the address of the master of a slot, and the connection to it. Undefined if a Cluster client does not know it. */
export function masterOfSlot(client: Cluster, slot: number): { address: string; node: Redis } | undefined {
  const address = addressOfSlot(client, slot);
  const node = client.nodes('master').find(({ options }) => `${options.host}:${options.port}` === address);
  return node && { address, node };
}

/** Returns the address of the master that a Cluster client asks about a slot; '' if it does not know it. */
export function addressOfSlot(client: Cluster, slot: number): string {
  const slots: unknown = Reflect.get(client, 'slots');
  const address: unknown = Array.isArray(slots) ? (slots as unknown[][])[slot]?.[0] : undefined;
  return typeof address === 'string' ? address : '';
}

/** Returns whether the application has closed a Cluster client. */
export function isClosedByApplication(client: Cluster): boolean {
  return Reflect.get(client, 'manuallyClosing') === true;
}

/** Returns whether a timer of a Cluster client is to connect it again. */
export function waitsToReconnect(client: Cluster): boolean {
  return Boolean(Reflect.get(client, 'reconnectTimeout'));
}

function queueOf(node: Redis, field: 'commandQueue' | 'offlineQueue'): CommandQueue | undefined {
  const queue: unknown = Reflect.get(node, field);
  return isCommandQueue(queue) ? queue : undefined;
}

function commandsIn(queue: CommandQueue | undefined): UnansweredCommand[] {
  return queue?.toArray().map(({ command }) => command) ?? [];
}

function isCommandQueue(value: unknown): value is CommandQueue {
  return typeof value === 'object' && value !== null && 'toArray' in value && typeof value.toArray === 'function';
}

function isServerAddress(value: unknown): value is ServerAddress {
  return typeof value === 'string' || typeof value === 'number' || (typeof value === 'object' && value !== null);
}
