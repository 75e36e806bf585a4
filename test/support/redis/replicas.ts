// Servers that follow each other, with timeouts so short that a failover takes a second or two; and clients of them.
import { afterAll } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { startOwnRedis, type OwnRedis } from './own-redis.js';
import { connect } from './redis.js';
import { eventually } from '../faults/wait.js';

/** A replica that begins at once. */
export const FAST_REPLICATION = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
const clients = new Set<Redis | Cluster>();

afterAll(disconnectClients);

/** Disconnects all clients of Sentinel and of a Cluster that were made here; jest does so by itself. */
export function disconnectClients(): void {
  clients.forEach((client) => client.disconnect());
  clients.clear();
}

/** A server that follows another; resolves when it has caught up. */
export async function startReplica(master: Pick<OwnRedis, 'port'>, args: string[] = []): Promise<OwnRedis> {
  const replica = await startOwnRedis({
    args: [...FAST_REPLICATION, '--replicaof', '127.0.0.1', String(master.port), ...args],
  });
  const client = connect({}, replica.url);
  client.on('error', () => undefined); // it may be killed, when it has become a master
  await eventually(async () => (await client.info('replication')).includes('master_link_status:up'), {
    what: 'a replica that follows its master',
  });
  return replica;
}

/** A client that is disconnected in the end, and says nothing of servers that are away. */
export function kept<Client extends Redis | Cluster>(client: Client): Client {
  client.on('error', () => undefined);
  clients.add(client);
  return client;
}
