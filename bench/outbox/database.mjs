// The PostgreSQL of a run, with a database for each contestant, and the CPU time that it takes.
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { startPostgres } from '../../scripts/databases/postgres-server.mjs';

/** The unit of times in /proc/PID/stat, in µs. */
const TICK_US = 10_000;

export class Database {
  static async start() {
    const server = await startPostgres();
    const control = new pg.Client({ connectionString: server.url });
    control.on('error', () => undefined);
    await control.connect();
    return new Database(server, control);
  }

  #clients = new Map();

  constructor(server, control) {
    this.server = server;
    this.control = control;
  }

  async version() {
    const { rows } = await this.control.query('SHOW server_version');
    return rows[0].server_version.split(' ')[0];
  }

  /** Makes the database of a contestant, with the table of the app. Returns its address. */
  async create(contestant) {
    const name = contestant.replaceAll(/\W/g, '_');
    await this.control.query(`CREATE DATABASE ${name}`);
    const url = this.server.url.replace(/postgres$/, name);
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('CREATE TABLE orders (n integer PRIMARY KEY, body text NOT NULL)');
    this.#clients.set(contestant, client);
    return url;
  }

  /** Runs a statement in the database of a contestant. */
  async run(contestant, sql) {
    return (await this.#clients.get(contestant).query(sql)).rows;
  }

  /** Returns the CPU time of all processes of the server until now, in µs. */
  cpuUs() {
    const { pid } = this.server;
    let us = 0;
    for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const stat = statOf(id);
      if (Number(id) === pid || stat?.parent === pid) us += runtimeUs(id) ?? stat.ownUs;
      if (Number(id) === pid) us += stat.endedUs;
    }
    return us;
  }

  async stop() {
    await Promise.all([...this.#clients.values(), this.control].map((client) => client.end()));
    await this.server.stop();
  }
}

/** Returns the times of a process and of its children that have ended; undefined if it has ended itself. */
function statOf(id) {
  const text = read(id, 'stat');
  if (text === undefined) return undefined;
  // The name of the program comes before, in brackets.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, parent] = fields;
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15);
  return { parent, ownUs: (user + system) * TICK_US, endedUs: (endedUser + endedSystem) * TICK_US };
}

/** Returns the exact time of a process, where the kernel tells it. */
function runtimeUs(id) {
  const ns = Number(read(id, 'schedstat')?.split(' ')[0]);
  return ns > 0 ? ns / 1_000 : undefined;
}

function read(id, file) {
  try {
    return readFileSync(`/proc/${id}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
