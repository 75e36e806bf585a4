// Measures a conversion of an app: node measure.mjs FOLDER --tsconfig FILE [--paths a,b]. The folder is a git repository without
// changes. The app compiles before and after, with the packed library in its node_modules; then its files are as before.
// Prints the places, and the compile errors that are new: at a TODO, or not.
import { execFileSync, spawnSync } from 'node:child_process';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Node, Project } from 'ts-morph';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tsconfig: { type: 'string' }, paths: { type: 'string', default: '.' } },
});
const folder = resolve(positionals[0]);
const tsconfig = resolve(folder, values.tsconfig);
const paths = values.paths.split(',').map((path) => join(folder, path));
const cli = join(import.meta.dirname, 'dist/cli.js');

function git(...list) {
  return execFileSync('git', ['-C', folder, ...list], { encoding: 'utf8' });
}

/** Returns the compile errors: file, line, column and message. */
function compile() {
  const require = join(dirname(tsconfig), 'node_modules/typescript/bin/tsc');
  const own =
    spawnSync('test', ['-f', require]).status === 0 ? require : join(folder, 'node_modules/typescript/bin/tsc');
  const list = [
    '--max-old-space-size=6000',
    own,
    '-p',
    tsconfig,
    '--noEmit',
    '--incremental',
    'false',
    '--pretty',
    'false',
  ];
  const { stdout, status } = spawnSync(process.execPath, list, {
    cwd: dirname(tsconfig),
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  // Without it all errors of the app would count as ours.
  if (status !== 0 && !stdout.includes('error TS')) throw new Error(`The compiler ended with ${status}: ${stdout}`);
  return [...stdout.matchAll(/^(.+?)\((\d+),(\d+)\): error (TS\d+: .*)$/gm)].map(
    ([, file, line, column, text]) => ({
      file: resolve(dirname(tsconfig), file),
      line: Number(line),
      column: Number(column),
      text,
    }),
  );
}

const keyOf = ({ file, text }) => `${file} ${text}`;

function countsOf(errors) {
  const counts = new Map();
  for (const error of errors) counts.set(keyOf(error), (counts.get(keyOf(error)) ?? 0) + 1);
  return counts;
}

if (git('status', '--porcelain', '--untracked-files=no').trim() !== '')
  throw new Error(`${folder} has changes: commit or drop them`);
const before = countsOf(compile());
try {
  const list = [cli, 'bullmq', ...paths, '--tsconfig', tsconfig, '--json'];
  const { stdout } = spawnSync(process.execPath, list, { encoding: 'utf8', maxBuffer: 1e9 });
  const { findings, files } = JSON.parse(stdout);
  const of = (outcome) => findings.filter((each) => each.outcome === outcome).length;
  const errors = compile().filter((error) => {
    const left = before.get(keyOf(error)) ?? 0;
    before.set(keyOf(error), left - 1);
    return left <= 0;
  });
  const project = new Project({ compilerOptions: { noLib: true, noResolve: true } });
  const atTodo = errors.filter((error) => hasTodo(project, error));
  const others = errors.filter((error) => !atTodo.includes(error));
  const figures = {
    files: files.length,
    places: of('converted') + of('left'),
    converted: of('converted'),
    left: of('left'),
    noted: of('noted'),
    dropped: of('dropped'),
    errorsAtTodos: atTodo.length,
    otherErrors: others.length,
  };
  console.log(JSON.stringify(figures));
  for (const { file, line, text } of others) console.log(`${relative(folder, file)}:${line} ${text}`);
} finally {
  git('checkout', '-q', '.');
}

/** Returns true if a TODO stands above a statement, member or element around an error. */
function hasTodo(project, { file, line, column }) {
  const source = project.addSourceFileAtPathIfExists(file);
  if (!source) return false;
  const position = source.compilerNode.getPositionOfLineAndCharacter(line - 1, column - 1);
  let node = source.getDescendantAtPos(position);
  for (; node && !Node.isClassDeclaration(node) && !Node.isSourceFile(node); node = node.getParent()) {
    if (isMarked(node)) return true;
  }
  return false;
}

function isMarked(node) {
  return node.getLeadingCommentRanges().some((range) => range.getText().includes('TODO(nest-job-queue)'));
}
