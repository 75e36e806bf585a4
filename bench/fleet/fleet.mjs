// The child processes of a run: one producer and up to four workers for each contestant, forked when first needed.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const agentPath = fileURLToPath(new URL('./agent.mjs', import.meta.url));

/** A child process of one contestant. It runs the commands of its module. */
export class Agent {
  #child;
  #calls = new Map();
  #listeners = new Set();
  #lastId = 0;

  /** @param path the module, by default that of a producer or a worker of one queue */
  static async start(contestant, path = agentPath) {
    const agent = new Agent();
    await agent.#start(contestant, path);
    return agent;
  }

  async #start(contestant, path) {
    this.#child = fork(path, [contestant], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#child.on('exit', (code) => {
      for (const { reject } of this.#calls.values()) reject(new Error(`${contestant}: process ended with ${code}`));
    });
    const [first] = await Promise.race([
      once(this.#child, 'message'),
      once(this.#child, 'exit').then(() => Promise.reject(new Error(`${contestant}: adapter cannot be loaded`))),
    ]);
    if (first.event !== 'ready') throw new Error(`${contestant}: unexpected first message`);
    this.#child.on('message', (message) => this.#receive(message));
  }

  call(command, args) {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#child.send({ id, command, args });
    });
  }

  /** Resolves once the worker says that its handlers ran as often as its target. */
  onEvent(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stop() {
    this.#child.disconnect();
  }

  #receive({ id, value, error, ...event }) {
    if (id === undefined) {
      for (const listener of this.#listeners) listener(event);
      return;
    }
    const { resolve, reject } = this.#calls.get(id);
    this.#calls.delete(id);
    if (error) reject(new Error(error));
    else resolve(value);
  }
}

export class Fleet {
  #agents = new Map();

  producer(contestant) {
    return this.#get(contestant, 'producer');
  }

  workers(contestant, count) {
    return Promise.all(Array.from({ length: count }, (_, i) => this.#get(contestant, `worker ${i + 1}`)));
  }

  async stop() {
    for (const agent of this.#agents.values()) (await agent).stop();
  }

  #get(contestant, role) {
    const key = `${contestant} ${role}`;
    if (!this.#agents.has(key)) this.#agents.set(key, Agent.start(contestant));
    return this.#agents.get(key);
  }
}
