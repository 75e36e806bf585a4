import type { Cluster } from 'ioredis';

/** The used part of the pool in which ioredis keeps a Cluster client's connections, which ioredis does not declare. */
export interface ConnectionPool {
  emit(event: 'drain'): void;
  findOrCreate(node: object): unknown;
  reset(nodes: object[]): void;
}

/** The pool of a client: what happens to it by chance of timing, a test makes happen. */
export function connectionPoolOf(client: Cluster): ConnectionPool {
  return (client as unknown as { connectionPool: ConnectionPool }).connectionPool;
}
