// A private server, for a test that must stop, freeze or restart it.
import { afterAll } from '@jest/globals';
import { startRedisServer, type StartOptions } from '../../../scripts/redis/redis-server.mjs';

export type OwnRedis = Awaited<ReturnType<typeof startRedisServer>>;

const started = new Set<OwnRedis>();
const users = new Set<() => Promise<unknown>>();

afterAll(stopOwnRedis);

/** Stops all servers that were started here; jest does so itself. */
export async function stopOwnRedis(): Promise<void> {
  await Promise.all([...users].map((close) => close()));
  await Promise.all([...started].map((server) => server.stop()));
  started.clear();
}

/** Closes users of the servers before these stop. Hooks run in the order of the imports, so their own would be late. */
export function closeFirst(close: () => Promise<unknown>): void {
  users.add(close);
}

/** Starts a server of this test file's own; it is stopped after the file. */
export async function startOwnRedis(options: StartOptions = {}): Promise<OwnRedis> {
  const server = await startRedisServer({ quiet: true, ...options });
  started.add(server);
  return server;
}

/** Stops the process of a server while something runs, and lets it go on afterwards. */
export async function freeze(master: OwnRedis, meanwhile: () => Promise<void>): Promise<void> {
  await master.kill('SIGSTOP');
  try {
    await meanwhile();
  } finally {
    await master.kill('SIGCONT');
  }
}
