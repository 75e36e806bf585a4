// The main figures again, with the append-only file on and synced every second.
import enqueueMeasures from './enqueue.mjs';
import processingMeasures from './processing.mjs';

const withAof = (measure) => ({
  id: `aof.${measure.id}`,
  quick: false,
  figures: rename(measure.figures, ({ text, ...figure }) => ({ ...figure, text: `AOF everysec: ${text}` })),
  setUp: (bench) => bench.server.setAof(true),
  tearDown: (bench) => bench.server.setAof(false),
  sample: async (bench, contestant) => rename(await measure.sample(bench, contestant), (value) => value),
});

function rename(figures, map) {
  return Object.fromEntries(Object.entries(figures).map(([id, value]) => [`aof.${id}`, map(value)]));
}

const wanted = ['enqueue.bulk', 'process.c100'];
export default [...enqueueMeasures, ...processingMeasures].filter(({ id }) => wanted.includes(id)).map(withAof);
