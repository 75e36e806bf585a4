// Replicated servers and their clients, with short timeouts, so that a failover takes a second or two.
import { afterAll } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { startOwnRedis, type OwnRedis } from './own-redis.js';
import { connect } from './redis.js';
import { eventually } from '../faults/wait.js';

/** A replica that begins at once. */
export const FAST_REPLICATION = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
const clients = new Set<Redis | Cluster>();

afterAll(disconnectClients);

/** Disconnects all clients of Sentinel and of a Cluster that were made here; jest does so itself. */
export function disconnectClients(): void {
  clients.forEach((client) => client.disconnect());
  clients.clear();
}

/** Starts a server that follows another; resolves when it has caught up. */
export async function startReplica(master: Pick<OwnRedis, 'port'>): Promise<OwnRedis> {
  const replica = await startOwnRedis({
    args: [...FAST_REPLICATION, '--replicaof', '127.0.0.1', String(master.port)],
  });
  const client = connect({}, replica.url);
  client.on('error', () => undefined); // it may be killed, when it has become a master
  await eventually(async () => (await client.info('replication')).includes('master_link_status:up'), {
    what: 'a replica that follows its master',
  });
  return replica;
}

/** Disconnects a client after the tests, and ignores its errors about missing servers. */
export function kept<Client extends Redis | Cluster>(client: Client): Client {
  client.on('error', () => undefined);
  clients.add(client);
  return client;
}
