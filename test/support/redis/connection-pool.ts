import type { Cluster } from 'ioredis';

/** The used part of the pool in which ioredis keeps a Cluster client's connections, which ioredis does not declare. */
interface ConnectionPool {
  emit(event: 'drain'): void;
  findOrCreate(node: object): unknown;
  reset(nodes: object[]): void;
}

/** Returns the pool of a client. A test makes happen there what otherwise depends on timing. */
export function connectionPoolOf(client: Cluster): ConnectionPool {
  return Reflect.get(client, 'connectionPool') as ConnectionPool;
}
