// The hub: sharded channels over one connection to each master. A lost subscription is made again, and told.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { Connection } from '#queue/redis/connection.js';
import { Hub } from '#queue/redis/cluster/hub.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { createClusterUser } from '../../support/redis/acl.js';
import { eventually } from '../../support/faults/wait.js';

/** The channels, whose slots are on all three masters. */
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `hub:{${name}}`);

let cluster: OwnCluster;
const open: (() => void)[] = [];

beforeAll(async () => {
  cluster = await startCluster({ replicas: true, nodeTimeoutMs: 10_000 });
}, 60_000);

afterEach(() => open.splice(0).forEach((leave) => leave()));

it('has one connection for each master, and hears each channel there', async () => {
  const heard = await listenTo(NAMES);
  expect(new Set(await Promise.all(NAMES.map((name) => cluster.ownerOf(name)))).size).toBe(3);
  expect(await publish(NAMES)).toEqual(NAMES.map(() => 1));
  await eventually(() => heard.every(({ messages }) => messages.length === 1));
  expect(heard.map(({ messages }) => messages)).toEqual(NAMES.map((name) => [`to ${name}`]));
  expect(await subscribers()).toEqual([1, 1, 1]);
});

it('leaves no connection behind', async () => {
  await listenTo(NAMES);
  open.splice(0).forEach((leave) => leave());
  await eventually(async () => (await subscribers()).every((count) => count === 0));
});

it('follows a slot to another master', async () => {
  const [name = ''] = NAMES;
  const [heard] = await listenTo([name]);
  const from = await cluster.ownerOf(name);
  const to = cluster.nodes.slice(0, 3).find((node) => node !== from)!;
  await cluster.moveSlot(name, to, async () => undefined);
  await eventually(() => heard!.confirmed === 2, { what: 'a second subscription' });
  expect(await publish([name])).toEqual([1]);
  await eventually(() => heard!.messages.length === 1);
});

it('reads the slots in looks after a loss, and in no other', async () => {
  await listenTo(NAMES);
  const client = connection.client as Cluster;
  const hub = Hub.of(connection) as unknown as { look(): void };
  let reads = 0;
  const refresh = client.refreshSlotsCache.bind(client);
  client.refreshSlotsCache = (callback) => {
    reads++;
    refresh(callback);
  };
  for (let i = 0; i < 10; i++) hub.look();
  expect(reads).toBe(0);
  const server = await cluster.ownerOf(NAMES[0]!);
  await cluster.node(server).call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await eventually(() => reads > 0, { what: 'a read after the loss' });
  reads = 0;
  hub.look();
  expect(reads).toBe(1);
});

it('continues after a failover, with the channels of all masters', async () => {
  const heard = await listenTo(NAMES);
  const master = await cluster.ownerOf(NAMES[1]!);
  const replica = await cluster.replicaOf(master);
  await cluster.node(replica).cluster('FAILOVER');
  await eventually(async () => (await cluster.ownerOf(NAMES[1]!)) === replica);
  await eventually(async () => (await publish(NAMES)).every((receivers) => receivers === 1));
  await eventually(() => heard.every(({ messages }) => messages.length > 0));
});

it('replaces a connection that was cut, and one that is silent', async () => {
  const heard = await listenTo(NAMES);
  const server = await cluster.ownerOf(NAMES[2]!);
  const there = await ownedBy(server);
  await cluster.node(server).call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await eventually(() => there.every((i) => heard[i]!.confirmed === 2), { what: 'a subscription after the cut' });

  await server.kill('SIGSTOP');
  await eventually(() => !Hub.of(connection).servers.some((address) => address.endsWith(`:${server.port}`)), {
    what: 'the end of the silent connection',
  });
  await server.kill('SIGCONT');
  await eventually(() => there.every((i) => heard[i]!.confirmed === 3), {
    what: 'a subscription after the silence',
  });
  expect(await publish(NAMES)).toEqual(NAMES.map(() => 1));
});

it('says that the server refuses a channel', async () => {
  const client = await createClusterUser(cluster, '~* &other:* +@all');
  const heard = listen(NAMES.slice(0, 1), client);
  await eventually(() => heard[0]!.refusals.length === 1);
  expect(heard[0]!.refusals[0]!.message).toMatch(/^NOPERM/);
});

let connection: Connection;

interface Heard {
  confirmed: number;
  messages: string[];
  refusals: Error[];
}

async function listenTo(names: readonly string[]): Promise<Heard[]> {
  const client = cluster.connect();
  await client.ping();
  const heard = listen(names, client);
  await eventually(() => heard.every(({ confirmed }) => confirmed === 1), { what: 'all subscriptions' });
  return heard;
}

function listen(names: readonly string[], client: Cluster): Heard[] {
  connection = Connection.of(client);
  return names.map((name) => {
    const heard: Heard = { confirmed: 0, messages: [], refusals: [] };
    const leave = Hub.of(connection).listen(name, {
      confirmed: () => heard.confirmed++,
      message: (text) => heard.messages.push(text),
      refused: (error) => heard.refusals.push(error),
    });
    open.push(leave);
    return heard;
  });
}

/** Returns the number of receivers on the master of each channel. */
function publish(names: readonly string[]): Promise<number[]> {
  return Promise.all(
    names.map(async (name) => Number(await cluster.node(await cluster.ownerOf(name)).spublish(name, `to ${name}`))),
  );
}

/** Returns the positions of the channels that a server serves. */
async function ownedBy(server: unknown): Promise<number[]> {
  const owners = await Promise.all(NAMES.map((name) => cluster.ownerOf(name)));
  return owners.flatMap((owner, i) => (owner === server ? [i] : []));
}

/** Returns the number of subscribing connections of each master that serves slots. */
async function subscribers(): Promise<number[]> {
  const owners = new Set(await Promise.all(NAMES.map((name) => cluster.ownerOf(name))));
  return Promise.all(
    [...owners].map(async (server) => {
      const list = String(await cluster.node(server).client('LIST'));
      return list.split('\n').filter((line) => /ssub=[1-9]/.test(line)).length;
    }),
  );
}
