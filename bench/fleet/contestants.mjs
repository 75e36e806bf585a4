// The contestants of a run, and the machine.
import { existsSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { loadPeer, peerIds } from '../peers/index.mjs';

/** Returns the peers, and this library, bare and in Nest, if its build exists. */
export async function openContestants() {
  const own = existsSync(new URL('../../dist/esm/index.js', import.meta.url))
    ? await Promise.all(['self', 'nest'].map(load))
    : [];
  const ready = own.filter(([, peer]) => peer.available);
  if (ready.length < 2) console.error('This library is not, or not wholly, built (npm run build in the root).');
  return new Map([...ready, ...(await Promise.all(peerIds.map(load)))]);
}

/** Returns this library alone, as built here and in another checkout. */
export async function openBeside(folder) {
  process.env.BENCH_BESIDE = folder;
  return new Map(await Promise.all(['self', 'beside'].map(load)));
}

/** Returns the bare core, a plain decorated handler, and handlers with costly features. */
export async function openNest() {
  const { alternatives } = await loadPeer('nest');
  const ids = ['self', 'nest', ...Object.keys(alternatives).map((alternative) => `nest:${alternative}`)];
  return new Map(await Promise.all(ids.map(load)));
}

async function load(id) {
  return [id, await loadPeer(id)];
}

export function describeMachine() {
  const [first] = cpus();
  return {
    cpu: first.model,
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    os: `${type()} ${release()}`,
    node: process.version,
  };
}
