// npm run mutate -- --seed N --count N [--from N] [--only lua/lib/group]: changes the sources a little. It shows which
// changes no test notices; see CONTRIBUTING.md. `-- --record [test/lua]` comes first, and notes what each test file executes.
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { argumentsOf } from '../../scripts/arguments.mjs';
import { draw, mutantsIn } from './draw.js';
import { linesReport, reachedLines } from './lua-lines.js';
import { say, type Mutant } from './mutant.js';
import { readRecords, suitesOf, type SpecRecord } from './records.js';
import { Results, type Result } from './results.js';
import { Workplace } from './workplace.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = join(root, '.cache/mutate');

/** Leaves the processor to whatever else runs. */
const LOW_PRIORITY = 15;

const { values, positionals } = argumentsOf('mutate', {
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1', about: 'draws the faults' },
    count: { type: 'string', default: '10', about: 'how many are drawn' },
    from: { type: 'string', default: '0', about: 'begins at a later one' },
    only: {
      type: 'string',
      multiple: true,
      default: ['lua'] as string[],
      about: 'draws from this folder or file, also several',
    },
    seconds: { type: 'string', default: '120', about: 'limits the test files of one mutant, by their records' },
    memory: { type: 'boolean', default: false, about: 'runs mutants of scripts by their specs in memory alone' },
    lines: {
      type: 'boolean',
      default: false,
      about: 'prints which lines of the scripts the specs in memory reach',
    },
    record: {
      type: 'boolean',
      default: false,
      about: 'notes what the test files of a path, or all, execute; it comes first',
    },
  },
});
const [seed, count, from, seconds] = [values.seed, values.count, values.from, values.seconds].map(Number) as [
  number,
  number,
  number,
  number,
];
if (!(seed >= 0 && count > 0 && from >= 0 && seconds > 0)) {
  const found = JSON.stringify([values.seed, values.count, values.from, values.seconds]);
  console.error(`Expected numbers for --seed, --count, --from and --seconds, found ${found}.`);
  process.exit(2);
}
if (!values.lines) setPriority(LOW_PRIORITY);
if (values.lines) console.log(linesReport(root, reachedLines(root, positionals)));
else process.exitCode = values.record ? await record(positionals) : await mutate();

/** Runs the tests of these paths, or all, those that take long in memory too. Each leaves a record of what it executes. */
async function record(paths: readonly string[]): Promise<number> {
  const code = await recordSuite(paths);
  return values.memory ? Math.max(code, await recordSuite(paths, 'whole')) : code;
}

function recordSuite(paths: readonly string[], suite = ''): Promise<number> {
  const args = [
    'test',
    '--',
    '--passWithNoTests',
    values.memory ? '--selectProjects=in memory' : '--ignoreProjects=in memory',
    '--env=<rootDir>/tools/mutate/recording-environment.mjs',
    ...paths,
  ];
  const child = spawn('npm', args, { cwd: root, stdio: 'inherit', env: { ...process.env, TEST_SUITE: suite } });
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

/** Runs the drawn mutants one after another, but those with a result. Returns 1 if one survives. */
async function mutate(): Promise<number> {
  const all = readRecords(join(folder, 'records'));
  const drawn = draw(await mutantsIn(root, values.only), seed, from + count);
  const results = new Results(join(folder, `results/${seed}-${values.only.join('+').replaceAll('/', '.')}.jsonl`));
  const workplace = new Workplace(root, values.memory);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void workplace.close().finally(() => process.exit(1)));
  }
  const survivors: Result[] = [];
  try {
    for (const [index, mutant] of [...drawn.entries()].slice(from)) {
      const known = results.of(index, say(mutant));
      const result = known ?? (await resultOf(index, mutant, workplace, all, results));
      if (result.by === undefined) survivors.push(result);
    }
  } finally {
    await workplace.close();
  }
  const ran = drawn.length - from;
  const share = Math.round((100 * (ran - survivors.length)) / ran);
  console.log(`\nseed ${seed}: ${ran - survivors.length} of ${ran} noticed (${share} %)`);
  survivors.forEach(({ index, mutant }) => console.log(`  ${index} ${mutant}`));
  return survivors.length > 0 ? 1 : 0;
}

async function resultOf(
  index: number,
  mutant: Mutant,
  workplace: Workplace,
  all: readonly SpecRecord[],
  results: Results,
): Promise<Result> {
  const startedAt = performance.now();
  const isLua = mutant.file.endsWith('.lua');
  const failure = await workplace.noticedBy(mutant, (scripts) => {
    const executes = ({ scripts: called, sources }: SpecRecord) =>
      isLua ? called.some((name) => scripts.has(name)) : sources.includes(mutant.file);
    return suitesOf(all.filter(executes), mutant.file, scripts, results.noticedIn(mutant.file), seconds);
  });
  const tenths = Math.round((performance.now() - startedAt) / 100);
  const result: Result = { index, mutant: say(mutant), ...failure, seconds: tenths / 10 };
  results.add(result);
  const outcome = failure ? `noticed ${result.mutant} by ${failure.by}` : `SURVIVED ${result.mutant}`;
  console.log(`${index} ${outcome} (${result.seconds} s)`);
  return result;
}
