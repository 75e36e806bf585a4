// The codemod: what it makes of each construct of @nestjs/bullmq and @nestjs/bull, and its command. The texts in
// `fixtures/*/after` are compiled with the tests, so they use what the library has.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { convert } from '../../codemod/src/convert.js';
import { projectOf } from '../../codemod/src/project.js';
import { run } from '../../codemod/src/run.js';
import { write } from '../../codemod/src/write.js';
import { folderWith } from '../scripts/folder.js';

const FIXTURES = join(import.meta.dirname, 'fixtures');

/** Returns the files of a folder by their names. */
function filesOf(...path: string[]): Record<string, string> {
  const folder = join(FIXTURES, ...path);
  return Object.fromEntries(
    readdirSync(folder).map((name) => [`/${name}`, readFileSync(join(folder, name), 'utf8')]),
  );
}

/** Returns the files after a conversion. */
function converted(files: Record<string, string>) {
  const { changes, findings } = convert(projectOf(files));
  return {
    files: { ...files, ...Object.fromEntries(changes.map(({ path, after }) => [path, after])) },
    changes,
    findings,
  };
}

it.each(readdirSync(FIXTURES))('%s: converts as written, and leaves it so the second time', (name) => {
  const { files, findings } = converted(filesOf(name, 'before'));
  expect(files).toEqual(filesOf(name, 'after'));
  expect(findings.some(({ outcome }) => outcome === 'left')).toBe(name === 'left');
  expect(converted(files).changes).toEqual([]);
});

/** Runs the command. Returns its exit code and what it printed. */
function command(...list: string[]) {
  const printed = { out: '', error: '' };
  const code = run(list, {
    out: (text) => (printed.out += text),
    error: (text) => (printed.error += text),
  });
  return { code, ...printed };
}

/** Makes a project with the files of a fixture, beside packages that must not be read. */
function projectWith(name: string): { folder: string; read: (file: string) => string } {
  const folder = folderWith({
    'tsconfig.json': '{ "compilerOptions": { "paths": { "@app/*": ["./*"] } } }',
    'node_modules/some/index.ts': "import { Queue } from 'bullmq'; export let queue: Queue;",
    ...filesOf(name, 'before'),
  });
  return { folder, read: (file) => readFileSync(join(folder, file), 'utf8') };
}

it('shows a diff with --dry-run, and writes nothing', () => {
  const { folder, read } = projectWith('processor');
  const { code, out } = command('bullmq', folder, '--dry-run');
  expect(code).toBe(0);
  expect(out).toContain('-  override async process(job: Job<number>, _token?: string) {');
  expect(out).toContain('Would change 1 file');
  expect(read('image.processor.ts')).toBe(filesOf('processor', 'before')['/image.processor.ts']);
});

it('writes, reports, and finds nothing the second time', () => {
  const { folder, read } = projectWith('processor');
  expect(command('bullmq', folder)).toMatchObject({ code: 0, error: '' });
  expect(read('image.processor.ts')).toBe(filesOf('processor', 'after')['/image.processor.ts']);
  expect(read('node_modules/some/index.ts')).toContain('bullmq');
  expect(command('bullmq', folder)).toEqual({ code: 0, out: 'Nothing to convert: no file changes.\n', error: '' });
});

it('names the files that it wrote before one could not be written', () => {
  const folder = folderWith({ 'a.ts': 'before', 'b.ts/c.ts': 'before' });
  const change = (name: string) => ({ path: join(folder, name), after: 'after' });
  expect(() => write([change('a.ts'), change('b.ts')])).toThrow(
    /Could not write .*b\.ts: .*Written before it: .*a\.ts$/,
  );
  expect(readFileSync(join(folder, 'a.ts'), 'utf8')).toBe('after');
  expect(() => write([change('b.ts')])).toThrow('Nothing was written before it');
});

it('ends with 3 where code is left, with its place and the page to read', () => {
  const { folder } = projectWith('left');
  const { code, out } = command('bullmq', join(folder, 'app.ts'));
  expect(code).toBe(3);
  expect(out).toMatch(/app\.ts:\d+ {2}a flow is `after`, or a batch/);
  expect(out).toContain('docs/from-bullmq.md#the-parts');
  expect(JSON.parse(command('bullmq', folder, '--json').out)).toMatchObject({ files: [] });
});

it('converts each name that the page says it does', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/from-bullmq.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (.*?) \| codemod \|/gm)].map(([, what]) => what!);
  const names = rows.flatMap((row) =>
    (row.match(/`[^`]+`/g) ?? []).flatMap((code) => code.match(/[A-Za-z]{4,}/g) ?? []),
  );
  const before = readdirSync(FIXTURES)
    .filter((name) => name !== 'left')
    .flatMap((name) => Object.values(filesOf(name, 'before')))
    .join('\n');
  expect(rows.length).toBeGreaterThan(30);
  const others = names.filter((name) => !['queue', 'value'].includes(name));
  expect([...new Set(others)].filter((name) => !new RegExp(`\\b${name}\\b`).test(before))).toEqual([]);
});

it('links only sections of the page', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/from-bullmq.md'), 'utf8');
  const sections = [...page.matchAll(/^## (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^a-z -]/g, '')
      .replaceAll(' ', '-'),
  );
  const { findings } = converted(filesOf('left', 'before'));
  const linked = [...new Set(findings.flatMap(({ link }) => link?.split('#')[1] ?? []))];
  expect(linked.filter((section) => !sections.includes(section))).toEqual([]);
  expect(linked.length).toBeGreaterThan(2);
});

it.each([
  [[], 'expected the command bullmq, found nothing'],
  [['agenda'], 'found agenda'],
  [['bullmq', '/none/there'], '/none/there does not exist'],
  [['bullmq', '--force'], "Unknown option '--force'"],
])('refuses %j with 2', (list, reason) => {
  const { code, error } = command(...list);
  expect(code).toBe(2);
  expect(error).toContain(reason);
});

it('has help with the exit codes', () => {
  const { code, out } = command('--help');
  expect(code).toBe(0);
  expect(out).toMatch(/Usage: nest-job-queue-codemod bullmq[^]*Exit codes/);
});

const manifest = (path: string) => JSON.parse(readFileSync(join(import.meta.dirname, '../..', path), 'utf8'));

it('has the versions of its packages that the tests run with', () => {
  const [own, root] = [manifest('codemod/package.json'), manifest('package.json')];
  for (const [name, range] of Object.entries<string>(own.dependencies)) {
    expect(range).toBe(`^${root.devDependencies[name]}`);
    expect(root.dependencies).not.toHaveProperty(name);
  }
  expect(own.version).toBe(root.version);
});
