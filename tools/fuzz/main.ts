// npm run fuzz -- --seed S --minutes M [--rounds N] [--plant NAME]: valid options on a real Redis; see CONTRIBUTING.md.
import { argumentsOf } from '../../scripts/arguments.mjs';
import { startRedisServer } from '../../scripts/redis/redis-server.mjs';
import { brokenBy } from './promises.js';
import { plant, PLANTS } from './plants.js';
import { Round } from './round.js';

/** The rounds that run at once, because each mostly waits. */
const AT_ONCE = 4;

const { values } = argumentsOf('fuzz', {
  options: {
    seed: { type: 'string', default: '1', about: 'the seed of the first round; the next one has the next' },
    minutes: { type: 'string', default: '1', about: 'no further round begins after this time' },
    rounds: { type: 'string', default: 'Infinity', about: 'the most rounds' },
    plant: { type: 'string', about: 'plants this fault, which must be found' },
    verbose: { type: 'boolean', about: 'prints what each round has drawn' },
  },
});
const [first, minutes, most] = [values.seed, values.minutes, values.rounds].map(Number) as [number, number, number];
if (![first, minutes, most].every((number) => number >= 0)) {
  console.error('Expected numbers for --seed, --minutes and --rounds.');
  process.exit(2);
}
const planted = values.plant;
if (planted !== undefined) {
  if (!(planted in PLANTS)) {
    console.error(`There is no fault "${planted}" to plant. Known: ${Object.keys(PLANTS).join(', ')}.`);
    process.exit(2);
  }
  plant(planted);
}

const server = await startRedisServer({ quiet: true });
const until = performance.now() + minutes * 60_000;
let [next, rounds, jobs, runs, found] = [first, 0, 0, 0, 0];

async function play(seed: number): Promise<void> {
  const round = new Round(server.url, seed);
  const drawn = JSON.stringify(round.shape);
  const seen = await round.run().catch((error: Error) => error);
  const broken = seen instanceof Error ? [`the round threw ${seen.stack}`] : brokenBy(seen);
  rounds++;
  if (!(seen instanceof Error)) {
    jobs += seen.planned.length + seen.members.length;
    runs += seen.runs.length;
  }
  if (values.verbose || broken.length > 0) {
    console.log(`seed ${seed}: ${drawn}`);
  }
  if (broken.length > 0) {
    found++;
    broken.slice(0, 20).forEach((fault) => console.log(`  ${fault}`));
    console.log(
      `  again: npm run fuzz -- --seed ${seed} --rounds 1${planted === undefined ? '' : ` --plant '${planted}'`}`,
    );
    process.exitCode = 1;
  }
}

await Promise.all(
  Array.from({ length: Math.min(AT_ONCE, most) }, async () => {
    while (next < first + most && (next === first || performance.now() < until)) {
      await play(next++);
    }
  }),
);
await server.stop();
console.log(
  `fuzz: ${rounds} rounds from seed ${first} on, ${jobs} jobs, ${runs} runs, ${found} rounds with faults`,
);
process.exit();
