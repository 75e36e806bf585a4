// Redis servers for one process: one server, or the masters of a Cluster without replicas.
import { freePort } from '../../scripts/redis/redis-server.mjs';
import { Server } from '../fleet/server.mjs';

const SLOTS = 16_384;

/** The commands that clients send while nothing happens. Scripts call none of them. The bench itself sends INFO. */
const SENT = /^(eval|evalsha|bzpopmin|ping|ssubscribe|(client|cluster)(\|.*)?)$/;

export class Masters {
  /**
   * @param count of the masters
   * @param isCluster false for one server without a Cluster
   */
  static async start(count, isCluster = count > 1) {
    if (!isCluster) return new Masters([await Server.start()]);
    const buses = await Promise.all(Array.from({ length: count }, freePort));
    const servers = await Promise.all(buses.map((bus) => Server.start(clustered(bus))));
    const [first, ...others] = servers;
    for (const [i, { control }] of servers.entries()) {
      await control.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      await control.call('CLUSTER', 'ADDSLOTSRANGE', ...slotsOf(i, count));
    }
    for (const [i, { process }] of others.entries()) {
      await first.control.call('CLUSTER', 'MEET', process.host, process.port, buses[i + 1]);
    }
    await Promise.all(servers.map((server) => untilWhole(server, count)));
    return new Masters(servers);
  }

  constructor(servers) {
    this.servers = servers;
    this.nodes = servers.map(({ process: { host, port } }) => ({ host, port }));
  }

  /** Returns the CPU time of all masters, in µs. */
  async cpuUs() {
    const probes = await Promise.all(this.servers.map((server) => server.probe()));
    return sum(probes.map(({ cpuUs }) => cpuUs));
  }

  async clients() {
    return sum(await Promise.all(this.servers.map((server) => server.clients())));
  }

  /** Returns the numbers of commands until now: those that clients sent, and those inside scripts. */
  async commands() {
    const counts = await Promise.all(this.servers.map((server) => server.calls()));
    const called = counts.flatMap((count) => Object.entries(count)).filter(([name]) => name !== 'info');
    const sumOf = (isSent) => sum(called.filter(([name]) => SENT.test(name) === isSent).map(([, calls]) => calls));
    return { sent: sumOf(true), inside: sumOf(false) };
  }

  async stop() {
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}

function clustered(bus) {
  // A master that has met no other one knows no address of its own.
  const own = { 'announce-ip': '127.0.0.1' };
  const options = { enabled: 'yes', port: bus, 'node-timeout': 15_000, 'config-file': 'nodes.conf', ...own };
  return Object.entries(options).flatMap(([name, value]) => [`--cluster-${name}`, String(value)]);
}

function slotsOf(i, count) {
  const size = Math.ceil(SLOTS / count);
  return [i * size, Math.min(SLOTS, (i + 1) * size) - 1];
}

async function untilWhole({ control }, count) {
  for (;;) {
    const info = await control.cluster('INFO');
    if (info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${count}\r`)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0);
}
