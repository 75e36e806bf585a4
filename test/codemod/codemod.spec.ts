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
import { someOf } from '../support/run/samples.js';

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

it.each(someOf(readdirSync(FIXTURES), 8))('%s: converts as written, and leaves it so the second time', (name) => {
  const { files, findings } = converted(filesOf(name, 'before'));
  expect(files).toEqual(filesOf(name, 'after'));
  expect(converted(files).changes).toEqual([]);
  // Each finding that needs a hand stands in the code, and nothing else does.
  const left = findings.filter(({ outcome }) => outcome === 'left');
  const todos = new Set(left.map(({ file, text }) => `${file} ${text}`));
  const written = Object.entries(files).flatMap(([file, text]) =>
    [...text.matchAll(/\/\/ TODO\(nest-job-queue\): (.*)\. https:.*$/gm)].map(([, todo]) => `${file} ${todo}`),
  );
  expect([...new Set(written)].toSorted()).toEqual([...todos].toSorted());
});

/** Returns what the rules make of statements in a class with a queue, and the TODOs. */
function ofStatements(statements: string, defaults = '') {
  const { files, findings } = converted({
    '/app.ts': `
import { BullModule, InjectQueue } from '@nestjs/bullmq';
import { JobsOptions, Queue } from 'bullmq';
const modules = [BullModule.forRoot({ connection: {}${defaults} }), BullModule.registerQueue({ name: 'mail' })];
class Mails {
  constructor(@InjectQueue('mail') private readonly mails: Queue) {}
  more(): JobsOptions {
    return {};
  }
  async run(page: string, urgency: number, isFirst?: boolean) {
${statements}
  }
}`,
  });
  const body = files['/app.ts']!.split('isFirst?: boolean) {\n')[1]!.split('\n  }\n}')[0]!;
  const todos = findings.filter(({ outcome }) => outcome === 'left').map(({ text }) => text);
  return { body: body.replace(/^\s*\/\/ TODO.*\n/gm, '').trim(), todos };
}

it.each([
  // A payload is never taken for options, whatever its names.
  [
    "const data = { attempts: 3, delay: 5 }; await this.mails.add('a', data);",
    'const data = { attempts: 3, delay: 5 }; await this.mails.enqueue(data, ',
  ],
  [
    "await this.mails.add('a', { priority: 2, jobId: 'b' });",
    "await this.mails.enqueue({ priority: 2, jobId: 'b' }, ",
  ],
  [
    'await this.mails.add(`a-${page}`, { lifo: true });',
    'await this.mails.enqueue({ lifo: true }, { name: `a-${page}`, ',
  ],
  ["await this.mails.add('a', { a: 1 }, {});", "await this.mails.enqueue({ a: 1 }, { name: 'a', "],
  // What is optional stays so.
  ["await this.mails?.add('a', { a: 1 });", 'await this.mails?.enqueue({ a: 1 }'],
  // A text is a payload of `enqueueMany` alone.
  ["await this.mails.add('a', page);", "await this.mails.enqueueMany([{ name: 'a', payload: page, "],
])('converts %s', (before, after) => {
  const { body, todos } = ofStatements(before);
  expect(body).toContain(after);
  expect(todos).toEqual([]);
});

it('leaves the types of queues that it leaves', () => {
  const before = [
    'const made = new Queue(page);',
    'const list: Queue[] = []; list.push(made); await Promise.all(list.map((each) => each.close()));',
    'const places: Array<Queue> = []; places[0] = made;',
    "const named = new Map<string, Queue>(); named.set(page, made); await named.get(page)?.add('a', {});",
    'const some = new Set<Queue>(); some.add(made);',
    "const found: Record<string, Queue> = {}; found[page] = made; for (const each of Object.values(found)) await each.add('a', {});",
    'const make = (): Queue => new Queue(page); make();',
    'type Added = ReturnType<typeof made.add>;',
  ].join('\n');
  const { body, todos } = ofStatements(before);
  expect(body).toBe(before);
  expect([...new Set(todos)]).toEqual([expect.stringContaining('a queue of your own is an injected one')]);
});

it('names each type of a member that has another name', () => {
  const before = [
    'type Added = typeof this.mails.add;',
    'type Taken = Parameters<typeof this.mails.addBulk>;',
    'type Gone = ReturnType<typeof this.mails.getMetrics>;',
    "type Adds = Queue['add'];",
  ];
  const { body, todos } = ofStatements(before.join('\n'));
  expect(body).toBe(before.join('\n'));
  expect(todos).toEqual(before.map(() => 'the members of a queue have other names'));
});

const GONE = 'removeOnComplete: true, removeOnFail: true';

it.each(
  someOf<[options: string, defaults: string, outcome: string, isLeft: boolean]>(
    [
      // options of the call, defaults of the module, what the id becomes, whether there is a TODO
      ['', '', 'id: page', false],
      [`, ${GONE}`, '', 'unique', false],
      ['', `, defaultJobOptions: { ${GONE} }`, 'unique', false],
      ['', ', defaultJobOptions: { removeOnComplete: true }', 'unique', true],
      [', removeOnComplete: false', `, defaultJobOptions: { ${GONE} }`, 'id: page', false],
      [', removeOnComplete: 0, removeOnFail: 0', '', 'unique', false],
      [', removeOnComplete: { age: 60 }', '', 'id: page', false],
      [', removeOnComplete: isFirst, removeOnFail: true', '', 'id: page', true],
      [', ...(isFirst && { removeOnComplete: true })', '', 'id: page', true],
      [`, ...(isFirst ? { ${GONE} } : { ${GONE} })`, '', 'id: page', true],
      ['', ', ...others()', 'id: page', true],
      ['', ', defaultJobOptions: others()', 'id: page', true],
    ],
    3,
  ),
)('keeps what an id meant: { jobId: page%s } below { connection%s }', (options, defaults, outcome, isLeft) => {
  const { body, todos } = ofStatements(`await this.mails.add('a', {}, { jobId: page${options} });`, defaults);
  expect(body).toContain(outcome === 'unique' ? "unique: { key: page, for: 'unfinished' }" : outcome);
  expect(todos.length > 0).toBe(isLeft);
});

it.each(
  someOf<[before: string, after: string, left: string[]]>(
    [
      ['lifo: true, priority: 5', 'priority: 995', []],
      ['lifo: true, priority: 0', 'lifo: true, priority: 1000', ['ran first']],
      [
        'lifo: true, priority: urgency',
        'lifo: true, priority: Math.max(1, 1_000 - urgency)',
        ['above 999', 'exclude'],
      ],
      ['lifo: true', 'lifo: true', []],
      ['priority: 5_000', 'priority: 1,', ['above 999']],
      ['attempts: 2', 'maxAttempts: 2, backoff: 0', []],
      ['backoff: { type: page, delay: 1 }', 'backoff: { type: page, delayMs: 1 }', ['of your own']],
      ['delay: isFirst ? 1 : 2', 'delayMs: isFirst ? 1 : 2', []],
      ['removeOnFail: urgency', "{ name: 'a', maxAttempts: 1 }", ['deadLetterAgeMs']],
    ],
    3,
  ),
)('converts the options { %s }', (before, after, left) => {
  const { body, todos } = ofStatements(`await this.mails.add('a', {}, { ${before} });`);
  expect(body).toContain(after);
  expect(todos).toHaveLength(left.length);
  for (const text of left) expect(todos.join('\n')).toContain(text);
});

it.each([
  ['{ delay: 5, ...more }', 1],
  ['{ ...(isFirst && { delay: 5 }), ...more }', 1],
  ['{ backoff: { type: "fixed", delay: 5 }, attempts: 2, ...more }', 0],
])('names a spread that may exclude the delay: %s', (options, todos) => {
  const found = ofStatements(`const more = this.more();\nawait this.mails.add('a', {}, ${options});`);
  const about = found.todos.filter((text) => text.includes('`more` may have `runAt`'));
  expect(about).toHaveLength(todos);
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

it('says what it does meanwhile', () => {
  const { folder } = projectWith('processor');
  let said = '';
  run(['bullmq', folder], { out: () => undefined, error: () => undefined, progress: (text) => (said += text) });
  const converting = /^Converting file \d of 2: .*\/(app\.module|image\.processor)\.ts$/;
  expect(said.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^Reading the TypeScript files of \//),
    expect.stringMatching(/^Looking for queues, processors and options in \d+ files$/),
    expect.stringMatching(converting),
    expect.stringMatching(converting),
  ]);
});

/** Makes a project with the files of a fixture, beside packages that must not be read. */
function projectWith(name: string): { folder: string; read: (file: string) => string } {
  const folder = folderWith({
    'tsconfig.json': '{ "compilerOptions": { "paths": { "@app/*": ["./*"] } } }',
    'node_modules/some/index.ts': "import { Queue } from 'bullmq'; export let queue: Queue;",
    ...filesOf(name, 'before'),
  });
  return { folder, read: (file) => readFileSync(join(folder, file), 'utf8') };
}

it('writes no file from which a part is missing', () => {
  const project = projectOf(filesOf('processor', 'before'));
  const file = project.getSourceFileOrThrow('/queues.ts');
  file.addStatements("import { Queue } from 'bullmq';\nexport const odd = '\u0000';");
  expect(() => convert(project)).toThrow(/Could not convert .*queues\.ts: a part is missing in line \d+/);
});

it('shows a diff with --dry-run, and writes nothing', () => {
  const { folder, read } = projectWith('processor');
  const { code, out } = command('bullmq', folder, '--dry-run');
  expect(code).toBe(0);
  expect(out).toContain('-  override async process(job: Job<number>, _token?: string) {');
  expect(out).toContain('Would change 2 files');
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
