// `--trials PEER`: one rival beside itself with its other documented settings. Its adapter should have the best of them.
import { loadPeer, peerIds } from '../peers/index.mjs';
import { median, spread } from '../report/stats.mjs';

/** The measures of a trial where `--only` names none: speed of a worker and of producers, and memory. */
export const TRIAL_MEASURES = [
  'process.c100',
  'process.c1.strict',
  'process.c10.1ms',
  'enqueue.parallel100',
  'memory.40b',
  'memory',
  'memory.200b',
  'memory.1kb',
];

export async function openTrials(peerId) {
  if (!peerIds.includes(peerId))
    throw new Error(`--trials: expected one of ${peerIds.join(', ')}, found ${peerId}`);
  const peer = await loadPeer(peerId);
  const ids = [peerId, ...Object.keys(peer.alternatives).map((alternative) => `${peerId}:${alternative}`)];
  return new Map(await Promise.all(ids.map(async (id) => [id, await loadPeer(id)])));
}

export function printTrials(contestants, measures, { values, errors }) {
  const [best] = contestants.keys();
  for (const [id, { unit, better, text }] of measures.flatMap(({ figures }) => Object.entries(figures))) {
    if (!values[id]?.[best]) continue;
    console.log(`\n${id}, ${unit} ${better === 'more' ? '↑' : '↓'}: ${text}`);
    const base = median(values[id][best]);
    for (const [contestant, runs] of Object.entries(values[id])) {
      const label = contestant === best ? 'as in the adapter' : contestant.slice(best.length + 1);
      const value = Number(median(runs).toPrecision(4)).toLocaleString('en');
      const range = `±${Math.round(spread(runs) * 100)}%`;
      console.log(
        `  ${label.padEnd(24)} ${value.padStart(10)} ${range.padStart(5)}  ${(median(runs) / base).toFixed(2)}×`,
      );
    }
  }
  for (const error of errors) console.log(`FAILED ${error}`);
}
