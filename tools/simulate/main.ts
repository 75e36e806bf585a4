// npm run simulate -- --seed N --steps N [--seeds N] [--seconds N] [--plant NAME]: fleets by virtual time; see CONTRIBUTING.md.
import { parseArgs } from 'node:util';
import { plants } from './plants/plants.js';
import { Simulation } from './simulation.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    seconds: { type: 'string', default: 'Infinity' },
    steps: { type: 'string', default: '100000' },
    plant: { type: 'string' },
  },
});
const { plant } = values;
if (plant !== undefined && !(plant in plants)) {
  console.error(`There is no fault "${plant}" to plant. Known: ${Object.keys(plants).join(', ')}.`);
  process.exit(2);
}

const [first, seeds, secondsAtMost] = [values.seed, values.seeds, values.seconds].map(Number) as [
  number,
  number,
  number,
];
if (![first, seeds, secondsAtMost].every((number) => number >= 0)) {
  console.error('Expected numbers for --seed, --seeds and --seconds.');
  process.exit(2);
}
const startedAt = performance.now();
const secondsSoFar = () => (performance.now() - startedAt) / 1_000;
let seed = first;
for (; seed < first + seeds && secondsSoFar() < secondsAtMost; seed++) {
  const begun = performance.now();
  const outcome = await new Simulation(seed, Number(values.steps), plants[plant ?? '']).run();
  const { violations, steps, jobs, simulatedMs, kills, freezes, deploys, jumps, calls, digest } = outcome;
  const total = Object.values(calls).reduce((sum, count) => sum + count, 0);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  console.log(
    `seed ${seed}: ${steps} steps, ${Math.round(simulatedMs / 60_000)} min of the fleet in ${seconds} s, ${jobs} jobs, ` +
      `${total} calls, ${kills} kills, ${freezes} freezes, ${deploys} deploys, ${jumps} jumps, digest ${digest >>> 0}: ${violations.length} violations`,
  );
  violations.slice(0, 20).forEach((violation) => console.log(`  ${violation}`));
  if (violations.length > 0) {
    const planted = plant === undefined ? '' : ` --plant '${plant}'`;
    console.log(`  again: npm run simulate -- --seed ${seed} --steps ${values.steps}${planted}`);
    process.exitCode = 1;
  }
}
if (values.seconds !== 'Infinity') {
  console.log(`ran ${seed - first} of ${seeds} seeds from ${first} on in ${secondsSoFar().toFixed(1)} s`);
}
process.exit();
