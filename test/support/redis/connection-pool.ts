import type { Cluster } from 'ioredis';

/** What the tests use of the pool in which a Cluster client of ioredis keeps its connections; ioredis does not declare it. */
export interface ConnectionPool {
  emit(event: 'drain'): void;
  findOrCreate(node: object): unknown;
  reset(nodes: object[]): void;
}

/** The pool of a client: what happens to it by chance of timing, a test makes happen. */
export function connectionPoolOf(client: Cluster): ConnectionPool {
  return (client as unknown as { connectionPool: ConnectionPool }).connectionPool;
}
