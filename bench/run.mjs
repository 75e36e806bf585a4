// Runs the benchmark:
//
//   npm run bench -- [--quick] [--only ID]… [--json FILE] [--rounds N] [--redis NAME=VALUE]… [--guard] [--trials PEER]
//     [--beside CHECKOUT] [--observed] [--nest] [--slots [--only cN.Nms]…]
//     [--streams [--only ROW]…] [--queues [--only qN.mN]…] [--outbox [--only MEASURE]…] [--app] [--far] [--growth [--plots DIR]] [--flow [--only PART]… [--json FILE] [--plots DIR]]
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { appOptions, runApp } from './app/app.mjs';
import { BESIDE_MEASURES, printBeside } from './turns/beside.mjs';
import { describeMachine, openBeside, openContestants, openNest } from './fleet/contestants.mjs';
import { Fleet } from './fleet/fleet.mjs';
import { FAR_MEASURES, startFar } from './fleet/far.mjs';
import { flowOptions, runFlow } from './flow/flow.mjs';
import { runGrowth } from './growth/growth.mjs';
import { aboveLimits } from './report/limits.mjs';
import { measures } from './measures/index.mjs';
import { NEST_MEASURES, reportNest } from './turns/nest.mjs';
import { addDerived, selectMeasures, takeSamples, warmUp } from './turns/rounds.mjs';
import { buildReport, printSettings, printTable } from './report/report.mjs';
import { reportPages } from './pages/pages.mjs';
import { outboxOptions, runOutbox } from './outbox/outbox.mjs';
import { openOutboxPeers } from './outbox/peers.mjs';
import { queuesOptions, runQueues } from './queues/queues.mjs';
import { runSlots, slotsOptions } from './slots/slots.mjs';
import { runStreams, streamsOptions } from './streams/streams.mjs';
import { Server } from './fleet/server.mjs';
import { openObserved, OBSERVED_MEASURES, printObserved } from './turns/observed.mjs';
import { openTrials, printTrials, TRIAL_MEASURES } from './turns/trials.mjs';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    json: { type: 'string' },
    rounds: { type: 'string' },
    redis: { type: 'string', multiple: true, default: [] },
    guard: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    app: { type: 'boolean', default: false },
    far: { type: 'boolean', default: false },
    flow: { type: 'boolean', default: false },
    pages: { type: 'boolean', default: false },
    slots: { type: 'boolean', default: false },
    streams: { type: 'boolean', default: false },
    queues: { type: 'boolean', default: false },
    outbox: { type: 'boolean', default: false },
    trials: { type: 'string' },
    beside: { type: 'string' },
    observed: { type: 'boolean', default: false },
    nest: { type: 'boolean', default: false },
    plots: { type: 'string' },
  },
});
// npm changes into this folder; a path on the command line means the folder where npm was called.
const path = (name) => resolve(process.env.INIT_CWD ?? process.cwd(), name);

async function contestantsOf({ trials, beside, observed, nest, outbox }) {
  if (outbox) return openOutboxPeers();
  if (observed) return openObserved();
  if (trials) return openTrials(trials);
  if (nest) return openNest();
  return beside ? openBeside(path(beside)) : openContestants();
}

function defaultRounds({ quick, beside, observed, nest }) {
  if (beside || observed || nest) return quick ? 5 : 15;
  return quick ? 3 : 5;
}

const contestants = await contestantsOf(options);
const far = options.far ? await startFar() : undefined;
const server = far?.server ?? (await Server.start());
const bench = {
  server,
  fleet: new Fleet(),
  contestants,
  quick: options.quick,
  rounds: Number(options.rounds ?? defaultRounds(options)),
  /** The end of a hang, in ms. Over a long line one job after the other takes longer. */
  withinMs: options.far ? 600_000 : 60_000,
  /** Pairs of one measure are as many as those of another. */
  pairs: options.beside !== undefined || options.observed || options.nest,
  /** The quick run does a fifth of the jobs, and skips the time that workers idle before latencies. */
  scale: (count) => (options.quick ? Math.ceil(count / 5) : count),
  log: (text) => process.stderr.write(text),
};

try {
  await server.configure(options.redis);
  const context = {
    machine: describeMachine(),
    redis: [
      await server.version(),
      ...options.redis,
      ...(far ? [`by TLS over a line with a round trip of ${far.tripMs.toFixed(2)} ms`] : []),
    ].join(', '),
    contestants,
  };
  printSettings(context, bench);
  if (options.growth) await runGrowth(bench, path(options.plots ?? 'results'));
  else if (options.app) await runApp(bench, context, appOptions(options, path));
  else if (options.flow) await runFlow(bench, context, flowOptions(options, path));
  else if (options.slots) await runSlots(bench, context, slotsOptions(options, path));
  else if (options.streams) await runStreams(bench, context, streamsOptions(options, path));
  else if (options.queues) await runQueues(bench, context, queuesOptions(options, path));
  else if (options.outbox) await runOutbox(bench, context, outboxOptions(options, path));
  else if (options.pages) await reportPages(bench, context, options.json && path(options.json));
  else if (options.trials) {
    const selected = selectMeasures(measures, { only: options.only ?? TRIAL_MEASURES });
    await warmUp(bench);
    printTrials(contestants, selected, await takeSamples(bench, selected));
  } else if (options.observed) {
    const selected = selectMeasures(measures, { only: options.only ?? OBSERVED_MEASURES });
    await warmUp(bench);
    const figures = printObserved(contestants, selected, await takeSamples(bench, selected));
    if (options.json)
      await writeFile(
        path(options.json),
        `${JSON.stringify({ machine: context.machine, redis: context.redis, ...figures }, null, 2)}\n`,
      );
  } else if (options.beside) {
    const selected = selectMeasures(measures, { only: options.only ?? BESIDE_MEASURES });
    await warmUp(bench);
    const figures = printBeside(selected, await takeSamples(bench, selected));
    if (options.json)
      await writeFile(
        path(options.json),
        `${JSON.stringify({ machine: context.machine, redis: context.redis, figures }, null, 2)}\n`,
      );
  } else if (options.nest) {
    const selected = selectMeasures(measures, { only: options.only ?? NEST_MEASURES });
    await warmUp(bench);
    const report = reportNest(context, selected, await takeSamples(bench, selected));
    if (options.json) await writeFile(path(options.json), `${JSON.stringify(report, null, 2)}\n`);
  } else {
    const only = options.only ?? (options.far && !options.quick ? FAR_MEASURES : undefined);
    const selected = selectMeasures(measures, { ...options, only });
    await warmUp(bench);
    const samples = addDerived(await takeSamples(bench, selected), only);
    const report = buildReport(context, bench, selected, samples);
    printTable(report, samples);
    if (options.json) await writeFile(path(options.json), `${JSON.stringify(report, null, 2)}\n`);
    const failures = options.guard ? aboveLimits(report.figures) : samples.errors;
    for (const failure of failures) console.error(failure);
    if (failures.length > 0) process.exitCode = 1;
  }
} finally {
  await bench.fleet.stop();
  far?.stop();
  await server.stop();
}
