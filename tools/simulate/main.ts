// npm run simulate -- --seed N --steps N [--seeds N] [--seconds N] [--plant NAME] | --draw: fleets by virtual time; see CONTRIBUTING.md.
import { argumentsOf } from '../../scripts/arguments.mjs';
import { plants } from './plants/plants.js';

const { values } = argumentsOf('simulate', {
  options: {
    seed: { type: 'string', default: '1', about: 'the first seed' },
    seeds: { type: 'string', default: '1', about: 'how many seeds run, one after the other' },
    seconds: { type: 'string', default: 'Infinity', about: 'no further seed begins after this time' },
    steps: { type: 'string', default: '100000', about: 'the steps of each seed' },
    plant: { type: 'string', about: 'plants this fault, which must be found' },
    draw: { type: 'boolean', about: 'names the seeds that find each planted fault soonest, in minutes' },
  },
});
const { plant } = values;
if (values.draw) {
  const { drawSoonest } = await import('./plants/soonest.js');
  await drawSoonest();
  process.exit();
}
if (plant !== undefined && !(plant in plants)) {
  console.error(`There is no fault "${plant}" to plant. Known: ${Object.keys(plants).join(', ')}.`);
  process.exit(2);
}

const numbers = ['seed', 'seeds', 'seconds', 'steps'] as const;
const wrong = numbers.find((name) => !(Number(values[name]) >= 0));
if (wrong) {
  console.error(`--${wrong}: expected a number, found "${values[wrong]}".`);
  process.exit(2);
}
const [first, seeds, secondsAtMost, steps] = numbers.map((name) => Number(values[name])) as [
  number,
  number,
  number,
  number,
];
// Loaded last, because this takes a second.
const { Simulation } = await import('./simulation.js');
const startedAt = performance.now();
const secondsSoFar = () => (performance.now() - startedAt) / 1_000;
let seed = first;

/** Returns the line that says how to repeat the run of the seed. */
function again(): string {
  const planted = plant === undefined ? '' : ` --plant '${plant}'`;
  return `  again: npm run simulate -- --seed ${seed} --steps ${steps}${planted}`;
}

let isRunning = false;
// A run that throws ends the process, and so does one that waits while nothing can happen any more.
process.on('exit', () => isRunning && console.error(`\n${again()}`));
for (; seed < first + seeds && (seed === first || secondsSoFar() < secondsAtMost); seed++) {
  const begun = performance.now();
  // Printed before the run, which may throw or never end.
  process.stdout.write(`seed ${seed}: `);
  isRunning = true;
  const { violations, calls, digest, ...run } = await new Simulation(seed, steps, plants[plant ?? '']).run();
  isRunning = false;
  const total = Object.values(calls).reduce((sum, count) => sum + count, 0);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  console.log(
    `${run.steps} steps, ${Math.round(run.simulatedMs / 60_000)} min of the fleet in ${seconds} s, ${run.jobs} jobs, ` +
      `${total} calls, ${run.kills} kills, ${run.freezes} freezes, ${run.deploys} deploys, ${run.jumps} jumps, ` +
      `digest ${digest >>> 0}: ${violations.length} violations`,
  );
  violations.slice(0, 20).forEach((violation) => console.log(`  ${violation}`));
  if (violations.length > 0) {
    console.log(again());
    process.exitCode = 1;
  }
}
if (values.seconds !== 'Infinity') {
  console.log(`ran ${seed - first} of ${seeds} seeds from ${first} on in ${secondsSoFar().toFixed(1)} s`);
}
process.exit();
