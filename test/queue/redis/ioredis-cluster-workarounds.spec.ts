// What needs no server. What does is in test/long/topologies/cluster.spec.ts.
import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { unstickCluster } from '#queue/redis/cluster/ioredis-cluster-workarounds.js';
import { eventually } from '../../support/faults/wait.js';
import { connectionPoolOf } from '../../support/redis/connection-pool.js';

it('a client of a Cluster that is to connect by a timer is left to it', async () => {
  const port = await freePort();
  const client = new Cluster([{ host: '127.0.0.1', port }], { clusterRetryStrategy: () => 300 });
  client.on('error', () => undefined);
  await eventually(() => client.status === 'reconnecting', { what: 'a client that waits to connect again' });
  // What ioredis does where a connection ends only then: it is closed again, its timer still runs.
  connectionPoolOf(client).emit('drain');
  expect(client.status).toBe('close');
  unstickCluster(client);
  expect(client.status).toBe('close');
  await once(client, 'connecting'); // by the timer
  client.disconnect();
});
