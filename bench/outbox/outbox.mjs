// npm run bench -- --outbox: jobs of database transactions, beside queues that live in PostgreSQL. Writes
// docs/internals/figures/outbox.json, and the table of docs/performance.md.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Agent } from '../fleet/fleet.mjs';
import { placesOf } from '../report/places.mjs';
import { fileURLToPath } from 'node:url';
import { Database } from './database.mjs';
import { measures } from './measures.mjs';
import { loadPeer, RIVALS } from './peers.mjs';
import { fillOutbox, outboxTable, reportOf } from './tables.mjs';

const agentPath = fileURLToPath(new URL('./agent.mjs', import.meta.url));

/** Returns the options of a run. */
export function outboxOptions(options, path) {
  return { only: options.only, ...placesOf(options, path, { figures: 'outbox.json', page: 'performance.md' }) };
}

/** @param options.only measures such as `add`, all of them by default */
export async function runOutbox(bench, { machine, redis, contestants }, { only, json, page }) {
  const known = measures.map(({ id }) => id);
  for (const id of only ?? []) {
    if (!known.includes(id)) throw new Error(`--only: expected one of ${known.join(', ')}, found ${id}`);
  }
  const database = await Database.start();
  const scene = new Scene(bench, database);
  try {
    const values = {};
    for (const measure of measures.filter(({ id }) => !only || only.includes(id))) {
      await takeRounds(scene, measure, values);
    }
    const postgres = await database.version();
    const report = reportOf({ machine, redis, postgres, contestants, bench }, measures, values);
    await mkdir(dirname(json), { recursive: true });
    await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
    if (page) await writeFile(page, fillOutbox(await readFile(page, 'utf8'), report));
    console.log(`\n${outboxTable(report)}`);
  } finally {
    scene.stop();
    await database.stop();
  }
}

/** Lets the contestants take a measure in turns. The first round warms up, and does not count. */
async function takeRounds(scene, { id, contestants = ['self', ...RIVALS], sample }, values) {
  const { bench } = scene;
  const began = performance.now();
  bench.log(`${id} `);
  for (let round = -1; round < bench.rounds; round++) {
    const order = round % 2 === 0 ? contestants : contestants.toReversed();
    const taken = {};
    for (const contestant of order) taken[contestant] = await sample(scene, contestant);
    if (round >= 0) note(values, taken);
    bench.log('.');
  }
  bench.log(` ${((performance.now() - began) / 1_000).toFixed(1)} s\n`);
}

/** Adds the figures of a round to the values: by figure, then by contestant. */
function note(values, taken) {
  for (const [contestant, figures] of Object.entries(taken)) {
    for (const [id, value] of Object.entries(figures)) ((values[id] ??= {})[contestant] ??= []).push(value);
  }
}

/** The servers of a run, and the processes of its contestants. */
class Scene {
  #agents = new Map();
  #urls = new Map();

  constructor(bench, database) {
    this.bench = bench;
    this.database = database;
  }

  /**
   * Runs work with the processes of a contestant, connected to a database without jobs and an empty Redis.
   *
   * @param roles for each process what its session does, see the agent
   */
  async with(contestant, roles, work) {
    const { server } = this.bench;
    if (!this.#urls.has(contestant)) this.#urls.set(contestant, await this.database.create(contestant));
    const servers = { postgres: this.#urls.get(contestant), redis: server.url };
    const agents = await Promise.all(Object.keys(roles).map((role) => this.#agent(contestant, role)));
    await server.clear();
    for (const [i, role] of Object.values(roles).entries()) await agents[i].call('open', { ...servers, ...role });
    const result = await work(...agents);
    for (const agent of agents) await agent.call('close');
    await this.#clear(contestant);
    return result;
  }

  /** Returns the number of jobs that wait in the database. */
  async waiting(contestant) {
    const { waiting } = await loadPeer(contestant);
    const [{ count }] = await this.database.run(contestant, waiting);
    return count;
  }

  /** Returns the CPU time of both servers until now, in µs. */
  async cpuUs() {
    const { cpuUs } = await this.bench.server.probe();
    return { postgres: this.database.cpuUs(), redis: cpuUs };
  }

  stop() {
    for (const agent of this.#agents.values()) agent.stop();
  }

  /** Deletes jobs and rows, and lets the database forget the dead ones. */
  async #clear(contestant) {
    const { clear } = await loadPeer(contestant);
    for (const sql of [...clear, 'TRUNCATE orders', 'CHECKPOINT']) await this.database.run(contestant, sql);
  }

  async #agent(contestant, role) {
    const key = `${contestant} ${role}`;
    if (!this.#agents.has(key)) this.#agents.set(key, await Agent.start(contestant, agentPath));
    return this.#agents.get(key);
  }
}
