// npm run mutate -- --seed N --count N [--from N] [--only lua/lib/group]: changes the sources a little. It shows which
// changes no test notices; see CONTRIBUTING.md. `-- --record [test/lua]` comes first, and notes what each test file executes.
import { spawn } from 'node:child_process';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { argumentsOf } from '../../scripts/arguments.mjs';
import { draw, mutantsIn } from './draw.js';
import { Judging, reachOf } from './judging.js';
import { linesReport, readLines, reachedLines, recordLines } from './lua-lines.js';
import { say } from './mutant.js';
import { Results, type Result } from './results.js';
import { Workplace } from './workplace.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = join(root, '.cache/mutate');

/** Leaves the processor to whatever else runs, unless the caller has chosen a priority. */
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
      about: 'draws from this folder, file or line, also several',
    },
    kind: {
      type: 'string',
      multiple: true,
      default: [] as string[],
      about: 'draws from this operator alone, also several',
    },
    seconds: {
      type: 'string',
      default: '120',
      about: 'limits the time of one mutant: then no further test file begins',
    },
    memory: { type: 'boolean', default: false, about: 'runs mutants of scripts by their specs in memory alone' },
    lines: {
      type: 'boolean',
      default: false,
      about:
        'notes and prints which lines of the scripts the specs in memory reach; it comes before mutants of scripts',
    },
    record: {
      type: 'boolean',
      default: false,
      about:
        'notes which scripts the test files of a path, or all, call on Redis; it comes before a run without --memory',
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
if (getPriority() === 0) setPriority(LOW_PRIORITY);
if (values.lines) {
  recordLines(root, positionals, join(folder, 'lines'));
  console.log(linesReport(root, reachedLines(root, readLines(join(folder, 'lines')))));
} else process.exitCode = values.record ? await record(positionals) : await mutate();

/** Runs the tests of these paths, or all, on Redis. Each leaves a record of what it calls. */
function record(paths: readonly string[]): Promise<number> {
  const args = [
    'test',
    '--',
    '--ignoreProjects=in memory',
    '--env=<rootDir>/tools/mutate/recording-environment.mjs',
    ...paths,
  ];
  const child = spawn('npm', args, { cwd: root, stdio: 'inherit' });
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

/** Runs the drawn mutants one after another, but those with a result. Returns 1 if one survives. */
async function mutate(): Promise<number> {
  const drawn = draw(await mutantsIn(root, values.only, values.kind), seed, from + count);
  const name = [...values.only, ...values.kind].join('+').replaceAll(/[/ ]/g, '.');
  const results = new Results(join(folder, `results/${seed}-${name}.jsonl`));
  const workplace = new Workplace(root, values.memory);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void workplace.close().finally(() => process.exit(1)));
  }
  const survivors: Result[] = [];
  try {
    const judging = new Judging(root, drawn, workplace, results, seconds, values.memory);
    for (const [index, mutant] of [...drawn.entries()].slice(from)) {
      const result = results.of(index, say(mutant)) ?? (await judging.judge(index, mutant));
      if (result.by === undefined) survivors.push(result);
    }
  } finally {
    await workplace.close();
  }
  const ran = drawn.length - from;
  const share = Math.round((100 * (ran - survivors.length)) / ran);
  console.log(`\nseed ${seed}: ${ran - survivors.length} of ${ran} noticed (${share} %)`);
  survivors.forEach((result) => console.log(`  ${result.index} ${result.mutant} (${reachOf(result)})`));
  return survivors.length > 0 ? 1 : 0;
}
