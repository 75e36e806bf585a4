// Prints and writes the report of a run.
import { peerIds } from '../peers/index.mjs';
import { median, spread } from './stats.mjs';

export function printSettings({ machine, redis, contestants }, { rounds, quick }) {
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.os}`);
  console.log(`Node ${machine.node}, Redis ${redis} (private server, no persistence but where AOF is said)`);
  console.log(
    `${rounds} alternations${quick ? ', quick' : ' or more'}; producer and workers are processes of their own`,
  );
  console.log(
    'kept completed jobs: 1,000; payload of about 60 bytes and noop handlers where nothing else is said\n',
  );
  for (const { name, version, settings } of contestants.values()) {
    console.log(`${name} ${version}`);
    for (const [what, how] of Object.entries(settings)) console.log(`  ${what.padEnd(8)} ${how}`);
  }
  console.log();
}

/** Returns the form of `--json`: `runs` holds the values of all alternations, by contestant. */
export function buildReport(
  { machine, redis, contestants },
  { rounds, quick },
  measures,
  { values, figures: derived },
) {
  const described = Object.assign({}, ...measures.map(({ figures }) => figures), derived);
  const versions = Object.fromEntries([...contestants].map(([id, { version }]) => [id, version]));
  const figures = Object.entries(described)
    .filter(([id]) => values[id])
    .map(([id, { unit, better, text }]) => {
      const runs = values[id];
      const of = (contestant) => (runs[contestant] ? round(median(runs[contestant])) : null);
      const self = of('self');
      const peers = Object.fromEntries(peerIds.map((peer) => [peer, of(peer)]));
      const ratio = Object.fromEntries(peerIds.map((peer) => [peer, ratioOf(self, peers[peer])]));
      return { id, unit, better, self, peers, ratio, runs, text };
    });
  const settings = Object.fromEntries([...contestants].map(([id, peer]) => [id, peer.settings]));
  return { machine, redis, versions, alternations: rounds, quick, settings, figures };
}

export function printTable({ figures }, { errors }) {
  const columns = ['figure', 'unit', 'ours', ...peerIds, ...peerIds.map((peer) => `÷ ${peer}`)];
  const cell = (value, runs) => (value === null ? '–' : `${show(value)} ±${Math.round(spread(runs) * 100)}%`);
  const rows = figures.map(({ id, unit, better, self, peers, ratio, runs }) => [
    id,
    `${unit} ${better === 'more' ? '↑' : '↓'}`,
    cell(self, runs.self),
    ...peerIds.map((peer) => cell(peers[peer], runs[peer])),
    ...peerIds.map((peer) => (ratio[peer] === null ? '–' : `${ratio[peer].toFixed(2)}×`)),
  ]);
  const widths = columns.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i].length)));
  const print = (row) =>
    console.log(row.map((text, i) => (i < 2 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join('  '));
  print(columns);
  rows.forEach(print);
  console.log('\nmedian ± half the range of all alternations; ↑ more is better, ↓ less is better');
  for (const error of errors) console.log(`FAILED ${error}`);
}

/** Returns no ratio if a peer's figure is about zero, such as for scripts that it does not use. */
function ratioOf(self, peer) {
  return self === null || peer === null || Math.abs(peer) < 0.01 ? null : round(self / peer);
}

function show(value) {
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

function round(value) {
  return Number(value.toPrecision(5));
}
