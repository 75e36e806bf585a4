// npm run mutate -- --seed N --count N [--only lua/lib/group]: changes the sources a little. It shows which changes no test
// notices; see CONTRIBUTING.md. `-- --record [test/lua]` comes first, and notes what each test file executes.
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { draw, mutantsIn } from './draw.js';
import { say, type Mutant } from './mutant.js';
import { readRecords, suitesOf, type SpecRecord } from './records.js';
import { Workplace } from './workplace.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const records = join(root, '.cache/mutate/records');

/** Leaves the processor to whatever else runs. */
const LOWEST_PRIORITY = 19;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '10' },
    only: { type: 'string' },
    record: { type: 'boolean', default: false },
  },
});
const [seed, count] = [Number(values.seed), Number(values.count)];
if (!(seed >= 0 && count > 0)) {
  console.error(`Expected numbers for --seed and --count, found "${values.seed}" and "${values.count}".`);
  process.exit(2);
}
setPriority(LOWEST_PRIORITY);
process.exitCode = values.record ? await record(positionals) : await mutate();

/** Runs the tests of these paths, or all. Each leaves a record of what it executes. */
function record(paths: readonly string[]): Promise<number> {
  const args = ['test', '--', '--env=<rootDir>/tools/mutate/recording-environment.mjs', ...paths];
  const child = spawn('npm', args, { cwd: root, stdio: 'inherit' });
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

/** Runs the drawn mutants one after another. Returns 1 if one survives. */
async function mutate(): Promise<number> {
  const all = readRecords(records);
  const drawn = draw(await mutantsIn(root, values.only), seed, count);
  const workplace = new Workplace(root);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      workplace.close();
      process.exit(1);
    });
  }
  const survivors: Mutant[] = [];
  try {
    for (const mutant of drawn) {
      const by = await noticedBy(mutant, workplace, all);
      if (by === undefined) survivors.push(mutant);
      console.log(by === undefined ? `SURVIVED ${say(mutant)}` : `noticed ${say(mutant)} by ${by}`);
    }
  } finally {
    workplace.close();
  }
  const noticed = drawn.length - survivors.length;
  console.log(
    `\nseed ${seed}: ${noticed} of ${drawn.length} noticed (${Math.round((100 * noticed) / drawn.length)} %)`,
  );
  survivors.forEach((mutant) => console.log(`  ${say(mutant)}`));
  return survivors.length > 0 ? 1 : 0;
}

/** Returns what notices a mutant: the build, a test file, or the limit of time. Returns nothing if it survives. */
async function noticedBy(
  mutant: Mutant,
  workplace: Workplace,
  all: readonly SpecRecord[],
): Promise<string | undefined> {
  try {
    const scripts = new Set(workplace.put(mutant.file, mutant.text));
    const executes = ({ scripts: called, sources }: SpecRecord) =>
      mutant.file.endsWith('.lua') ? called.some((name) => scripts.has(name)) : sources.includes(mutant.file);
    const suites = suitesOf(all, mutant.file, executes);
    return suites.length === 0 ? undefined : await workplace.run(suites);
  } catch (error) {
    return `the build: ${(error as Error).message.split('\n')[0]}`;
  } finally {
    workplace.restore(mutant.file);
  }
}
