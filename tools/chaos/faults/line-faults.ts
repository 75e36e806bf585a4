// Network faults, made by the proxies between the processes and Redis. Each fault lasts until it has hit a request.
import type { Redis } from 'ioredis';
import type { FaultProxy } from '../../../test/support/faults/fault-proxy.js';
import { sleep } from '../../../test/support/faults/wait.js';
import type { Fault } from './scene.js';
import type { Fleet } from '../run/fleet.js';
import { growth } from './hits.js';
import { magnitude, strength, victim, type PlannedFault } from '../plan.js';

const ASKED_MS = 10_000;

/** Cuts connections in the middle of a request. */
export const cutLines: Fault = ({ fleet }, planned) =>
  struck(proxiesOf(fleet, planned), async (proxies) => {
    await Promise.race([...proxies.map((proxy) => proxy.asked()), sleep(ASKED_MS)]);
    for (const proxy of proxies) proxy.refuse();
    await sleep(strength(planned, 0, 2_000));
  });

/** Lets new connections pass, while the old ones stay dead without an error. */
export const leaveLinesHalfOpen: Fault = ({ fleet }, planned) =>
  struck(proxiesOf(fleet, planned), async (proxies) => {
    for (const proxy of proxies) proxy.pause();
    await sleep(strength(planned, 500, 3_000));
  });

export const slowLines: Fault = async ({ fleet }, planned) => {
  const proxies = proxiesOf(fleet, planned);
  const hits = await struck(proxies, async () => {
    for (const proxy of proxies) proxy.delay(strength(planned, 50, 500));
    await sleep(4_000);
  });
  for (const proxy of proxies) {
    proxy.cut(); // a later write would overtake a write that is still in flight
    proxy.delay(0);
  }
  return hits;
};

const LEAST_BANDWIDTH = 64 * 1_024;
const MOST_BANDWIDTH = 10 * 1_024 * 1_024;

/** Limits each process to this many bytes per second and direction. The jobs have payloads of all sizes. */
export const limitBandwidth: Fault = async ({ fleet }, planned) => {
  const proxies = proxiesOf(fleet, planned);
  const hits = await struck(proxies, async () => {
    for (const proxy of proxies) proxy.limitBandwidth(magnitude(planned, LEAST_BANDWIDTH, MOST_BANDWIDTH));
    await sleep(8_000);
  });
  for (const proxy of proxies) proxy.limitBandwidth();
  return hits;
};

export const loseReplies: Fault = ({ fleet }, planned) =>
  struck(proxiesOf(fleet, planned), async (proxies) => {
    for (let round = 0; round < 5; round++) {
      await Promise.race([Promise.all(proxies.map((proxy) => proxy.loseReplyTo('evalsha'))), sleep(1_000)]);
    }
  });

export const killClients: Fault = async ({ fleet, ground }) => {
  const admin = ground.admin as Redis;
  const names = new Set(fleet.slots.map(({ name }) => name));
  let hits = 0;
  for (const line of String(await admin.client('LIST')).split('\n')) {
    const [, id] = /^id=(\d+)/.exec(line) ?? [];
    const [, name] = / name=(\S+)/.exec(line) ?? [];
    if (id && name && names.has(name)) hits += Number(await admin.client('KILL', 'ID', id));
  }
  return hits;
};

/** Ends three times each connection over which a master wakes workers, also while they open it again. */
export const cutHubs: Fault = async ({ ground }, planned) => {
  const cluster = ground.cluster!;
  let hits = 0;
  for (let round = 0; round < 3; round++) {
    for (const server of cluster.nodes) {
      hits += Number(await cluster.node(server).call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
    }
    await sleep(strength(planned, 0, 1_000));
  }
  return hits;
};

/** Returns the proxies of one process, or of all. */
function proxiesOf({ slots }: Fleet, planned: PlannedFault): FaultProxy[] {
  const victims = planned.strength < 0.5 ? slots : [victim(slots, planned)];
  return victims.flatMap(({ proxies }) => proxies);
}

/** Keeps the lines disturbed until a request was hit, and returns how many were. */
async function struck(
  proxies: readonly FaultProxy[],
  harm: (proxies: readonly FaultProxy[]) => Promise<void>,
): Promise<number> {
  const read = () => proxies.reduce((sum, proxy) => sum + proxy.struck, 0);
  const before = read();
  await harm(proxies);
  const hits = await growth(before, read);
  for (const proxy of proxies) proxy.heal();
  return hits;
}
