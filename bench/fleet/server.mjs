// The private Redis server of a run, and what can be read off it.
import { createConnection } from 'node:net';
import { Redis } from 'ioredis';
import { startRedisServer } from '../../scripts/redis/redis-server.mjs';

export class Server {
  /** @param args more arguments of redis-server */
  static async start(args = []) {
    const process = await startRedisServer({ quiet: true, args });
    const control = new Redis(process.url);
    return new Server(process, control);
  }

  constructor(process, control) {
    this.process = process;
    this.url = process.url;
    this.control = control;
  }

  /** @param settings the same for all contestants, each as 'name=value' */
  async configure(settings) {
    for (const setting of settings) {
      const [, name, value] = /^([^=]+)=(.*)$/.exec(setting) ?? [];
      if (!name) throw new Error(`--redis: expected NAME=VALUE, found "${setting}"`);
      await this.control.config('SET', name, value);
    }
  }

  async version() {
    const server = await this.#info('server');
    return server.valkey_version ? `valkey ${server.valkey_version}` : server.redis_version;
  }

  /** Reads cumulated counters; subtract two probes with `since`. */
  async probe() {
    const cpu = await this.#info('cpu');
    const stats = await this.#info('stats');
    return {
      cpuUs: (Number(cpu.used_cpu_user) + Number(cpu.used_cpu_sys)) * 1e6,
      bytesIn: Number(stats.total_net_input_bytes),
      bytesOut: Number(stats.total_net_output_bytes),
    };
  }

  /** Returns how often each command was called, also inside scripts. */
  async calls() {
    const stats = await this.#info('commandstats');
    return Object.fromEntries(
      Object.entries(stats).map(([name, text]) => [
        name.replace('cmdstat_', ''),
        Number(/^calls=(\d+)/.exec(text)[1]),
      ]),
    );
  }

  /** Returns the number of clients, without the control connection. */
  async clients() {
    const clients = await this.#info('clients');
    return Number(clients.connected_clients) - 1;
  }

  async since(before) {
    const now = await this.probe();
    return Object.fromEntries(Object.keys(now).map((key) => [key, now[key] - before[key]]));
  }

  /** Returns the bytes of all keys, without connection buffers and script texts, which are unrelated to jobs. */
  async memoryOfKeys() {
    await new Promise((resolve) => setTimeout(resolve, 150)); // buffers of closed connections are freed by a timer
    const memory = await this.#info('memory');
    return memory.used_memory - memory.mem_clients_normal - memory.used_memory_scripts_eval;
  }

  /** Empties the server. Scripts stay loaded, as on a server in use. */
  async clear() {
    await this.control.flushall();
  }

  /** Unloads all scripts: Lua looks through them as it collects its garbage, and an application has those of one library. */
  async forgetScripts() {
    await this.control.script('FLUSH', 'SYNC');
  }

  async setAof(on) {
    await this.control.config('SET', 'appendfsync', 'everysec');
    await this.control.config('SET', 'appendonly', on ? 'yes' : 'no');
    for (;;) {
      const state = await this.#info('persistence');
      if (state.aof_rewrite_in_progress === '0' && state.aof_rewrite_scheduled === '0') return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Counts, until its stop() is called, the commands of clients and scripts; only those that `matches` takes. */
  async countCommands(matches = () => true) {
    const own = await this.control.client('INFO');
    const ownAddress = /(?:^| )addr=(\S+)/.exec(own)[1];
    const { port } = new URL(this.url);
    const socket = createConnection({ host: '127.0.0.1', port: Number(port) });
    const counts = { requests: 0, inner: 0, byName: {} };
    let rest = '';
    const line = (text) => {
      const match = /^\+?[\d.]+ \[\d+ (\S+)\] "([^"]*)"/.exec(text);
      if (!match || match[1] === ownAddress || !matches(text)) return;
      const inScript = match[1] === 'lua';
      counts[inScript ? 'inner' : 'requests']++;
      const name = `${inScript ? 'lua ' : ''}${match[2].toLowerCase()}`;
      counts.byName[name] = (counts.byName[name] ?? 0) + 1;
    };
    socket.setEncoding('latin1');
    const ready = new Promise((resolve) => socket.once('data', resolve));
    socket.write('MONITOR\r\n');
    await ready;
    socket.on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      lines.forEach(line);
    });
    return {
      async stop() {
        await new Promise((resolve) => setTimeout(resolve, 100));
        socket.destroy();
        return counts;
      },
    };
  }

  async stop() {
    this.control.disconnect();
    await this.process.stop();
  }

  async #info(section) {
    const text = await this.control.info(section);
    return Object.fromEntries(
      text
        .split('\r\n')
        .filter((line) => line.includes(':'))
        .map((line) => line.split(/:(.*)/s)),
    );
  }
}
