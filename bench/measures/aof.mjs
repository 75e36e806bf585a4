// The main figures again, with the append-only file on and synced every second.
import processingMeasures from './processing.mjs';

const main = processingMeasures.find(({ id }) => id === 'process.c100');

function rename(entries, map = (value) => value) {
  return Object.fromEntries(Object.entries(entries).map(([id, value]) => [`aof.${id}`, map(value)]));
}

export default [
  {
    id: 'aof',
    figures: rename(main.figures, ({ text, ...figure }) => ({ ...figure, text: `AOF everysec: ${text}` })),
    setUp: (bench) => bench.server.setAof(true),
    tearDown: (bench) => bench.server.setAof(false),
    sample: async (bench, contestant) => rename(await main.sample(bench, contestant)),
  },
];
