// The cost of a queue's history while jobs trickle: calls that touch its keys, and reads that close minutes.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';

const SECONDS = 120;
const PER_SECOND = 20;

export default [
  {
    id: 'commands.history',
    observed: true,
    rounds: 2,
    figures: {
      'history.commands': {
        unit: 'per minute',
        better: 'less',
        text: `requests of the history, one worker, ${PER_SECOND} jobs/s`,
      },
    },
    sample: (bench, contestant) => (contestant === 'self' ? historyCommands(bench, contestant) : {}),
  },
];

async function historyCommands(bench, contestant) {
  const seconds = bench.quick ? SECONDS / 2 : SECONDS;
  const total = seconds * PER_SECOND;
  return withQueue(bench, contestant, {}, async (scene) => {
    const counter = await bench.server.countCommands((line) => line.includes(':history'));
    await processAll(scene, {
      total,
      withinMs: 2_000 * seconds,
      concurrency: 10,
      during: () => enqueue(scene, { mode: 'rate', count: total, perSecond: PER_SECOND, expectWaiting: null }),
    });
    const { requests } = await counter.stop();
    return { 'history.commands': (requests / seconds) * 60 };
  });
}
