// The contestants of `--outbox`. An adapter has:
//
//   name, version, settings   as the adapters in ../peers
//   waiting   a query whose row has the number of jobs that wait in the database, as `count`
//   clear     the statements that delete all jobs
//   open({ pool, redis, relays, handler }) → session    without a handler it only adds jobs. It makes its tables.
//
// and a session has:
//
//   add(client, payload)        adds a job in the transaction of a client of pg
//   addMany(client, payloads)   the fastest way the library has for many jobs
//   committed()                 called after a commit, where the library has a call for that
//   ship()                      moves all committed rows; only of this library
//   close()

/** The ids whose figures are compared with ours. */
export const RIVALS = ['pg-boss', 'graphile-worker'];

const modules = {
  self: () => import('./ours.mjs'),
  'pg-boss': () => import('./pg-boss.mjs'),
  'graphile-worker': () => import('./graphile-worker.mjs'),
  bare: () => Promise.resolve(bare),
};

/** The same transaction without a job. */
const bare = {
  name: 'no job',
  version: '',
  settings: {},
  clear: [],
  open: async () => ({ add: async () => undefined, close: async () => undefined }),
};

/** @param id self, one of the rivals, or `bare` for transactions without a job */
export function loadPeer(id) {
  return modules[id]();
}

export async function openOutboxPeers() {
  return new Map(await Promise.all(['self', ...RIVALS].map(async (id) => [id, await loadPeer(id)])));
}
