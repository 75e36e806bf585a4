// The command: reads its arguments, converts, writes.
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { createTwoFilesPatch } from 'diff';
import { convert, type Change } from './convert.js';
import { readProject } from './project.js';
import { EXIT, reportJson, reportText } from './report.js';
import { write } from './write.js';

const HELP = `Usage: nest-job-queue-codemod bullmq [paths…] [options]

Rewrites a NestJS app with @nestjs/bullmq or @nestjs/bull to nest-job-queue. Commit first: it changes files in place.
Paths are folders or files, by default the current folder. node_modules, dist and coverage are left out.

Options:
  --dry-run          writes nothing, and prints the changes as a diff
  --tsconfig <file>  a tsconfig.json whose path aliases are followed; by default the nearest one of the first path
  --json             prints the report as JSON
  -h, --help         prints this

Exit codes: 0 everything converted, or nothing to do; 1 it failed, and the error names the files that were
written; 2 wrong arguments; 3 something was left with a TODO.
`;

/** What a run prints to. */
export interface Output {
  out(text: string): void;
  error(text: string): void;
  /** Says what happens meanwhile: a large app takes minutes. */
  progress?(text: string): void;
}

const OPTIONS = {
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
  tsconfig: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Runs the command. Returns its exit code. */
export function run(list: readonly string[], output: Output): number {
  let values, positionals;
  try {
    ({ values, positionals } = parseArgs({ args: [...list], options: OPTIONS, allowPositionals: true }));
  } catch (error) {
    return refused((error as Error).message, output);
  }
  if (values.help) {
    output.out(HELP);
    return EXIT.done;
  }
  const [from, ...paths] = positionals;
  if (from !== 'bullmq') return refused(`expected the command bullmq, found ${from ?? 'nothing'}`, output);
  const missing = [...paths, ...(values.tsconfig ? [values.tsconfig] : [])].find((path) => !existsSync(path));
  if (missing !== undefined) return refused(`${missing} does not exist`, output);
  const say = (text: string) => output.progress?.(`${text}\n`);
  const folders = paths.length > 0 ? paths : ['.'];
  say(`Reading the TypeScript files of ${folders.join(', ')}`);
  const { changes, findings } = convert(readProject(folders, values.tsconfig), say);
  const isDryRun = values['dry-run'] === true;
  if (!isDryRun) write(changes);
  else if (!values.json) output.out(changes.map(diffOf).join(''));
  output.out(values.json ? reportJson(changes, findings) : reportText(changes, findings, isDryRun));
  return findings.some(({ outcome }) => outcome === 'left') ? EXIT.left : EXIT.done;
}

function refused(reason: string, output: Output): number {
  output.error(`nest-job-queue-codemod: ${reason}. See --help.\n`);
  return EXIT.usage;
}

function diffOf({ path, before, after }: Change): string {
  const name = relative('.', path);
  return createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, '', '').replace(/^=+\n/, '');
}
