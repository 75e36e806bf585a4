// The schematics on a project in memory. test/long/schematics runs them by the command line of Nest.
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, it } from '@jest/globals';
import { handler, type HandlerOptions } from '#schematics/handler.js';
import { nestAdd } from '#schematics/nest-add.js';
import type { Context, Schematic, Tree } from '#schematics/edit-module.js';

const MODULE = `import { Module } from '@nestjs/common';
import { AppController } from './app.controller';
import { AppService } from './app.service';

@Module({
  imports: [],
  controllers: [AppController],
  providers: [AppService],
})
export class AppModule {}
`;
const MAIN = `import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  await app.listen(process.env.PORT ?? 3000);
}
bootstrap();
`;
const PROJECT = { '/package.json': '{}', '/src/app.module.ts': MODULE, '/src/main.ts': MAIN };

/** Runs a schematic on these files. Returns all files afterwards, and the warnings. */
function run(schematic: Schematic, files: Record<string, string> = PROJECT) {
  const after = new Map(Object.entries(files));
  const warnings: string[] = [];
  const tree: Tree = {
    read: (path) => after.get(path) ?? null,
    create: (path, content) => {
      if (after.has(path)) throw new Error(`${path} exists`);
      after.set(path, content);
    },
    overwrite: (path, content) => void after.set(path, content),
    getDir: (folder) => ({
      subfiles: [...after.keys()]
        .filter((path) => posix.dirname(path) === folder)
        .map((path) => posix.basename(path)),
    }),
  };
  const context: Context = { logger: { info: () => undefined, warn: (text) => void warnings.push(text) } };
  schematic(tree, context);
  return { files: Object.fromEntries(after), warnings };
}

const added = (options: HandlerOptions, files?: Record<string, string>) =>
  run(handler({ sourceRoot: 'src', spec: true, ...options }), files);

it('makes a handler with its test, and adds it to the module', () => {
  const { files, warnings } = added({ name: 'sendEmail' });
  expect(files['/src/send-email/send-email.handler.ts']).toContain("@JobHandler('send-email', {");
  expect(files['/src/send-email/send-email.handler.ts']).toContain('export class SendEmailHandler {');
  expect(files['/src/send-email/send-email.handler.spec.ts']).toContain(
    "import { SendEmailHandler } from './send-email.handler';",
  );
  expect(files['/src/app.module.ts']).toBe(
    MODULE.replace('[AppService]', '[AppService, SendEmailHandler]').replace(
      "app.service';\n",
      "app.service';\nimport { SendEmailHandler } from './send-email/send-email.handler';\n",
    ),
  );
  expect(warnings).toEqual([]);
});

it('takes the nearest module, a folder in the name, --flat, --no-spec and ES modules', () => {
  const own = MODULE.replace('AppModule', 'MailsModule');
  const { files } = added(
    { name: 'mails/welcome', flat: true, spec: false },
    { ...PROJECT, '/package.json': '{ "type": "module" }', '/src/mails/mails.module.ts': own },
  );
  expect(Object.keys(files)).toContain('/src/mails/welcome.handler.ts');
  expect(Object.keys(files).filter((path) => path.includes('spec'))).toEqual([]);
  expect(files['/src/mails/mails.module.ts']).toContain("import { WelcomeHandler } from './welcome.handler.js';");
  expect(files['/src/app.module.ts']).toBe(MODULE);
});

it.each([
  ['no list', '@Module({})', '@Module({\n  providers: [EmailHandler],})'],
  ['an empty list', '@Module({ providers: [] })', '@Module({ providers: [EmailHandler] })'],
  ['a list in quotes', "@Module({ 'providers': [A] })", "@Module({ 'providers': [A, EmailHandler] })"],
  ['a list in double quotes', '@Module({ "providers": [A] })', '@Module({ "providers": [A, EmailHandler] })'],
  ['a computed list', "@Module({ ['providers']: [A] })", "@Module({ ['providers']: [A, EmailHandler] })"],
  [
    'a text of that name',
    "@Module({ exports: ['providers'] })",
    "@Module({\n  providers: [EmailHandler], exports: ['providers'] })",
  ],
  ['a trailing comma', '@Module({ providers: [A,] })', '@Module({ providers: [A, EmailHandler] })'],
  [
    'lines',
    "@Module({\n  providers: [\n    A,\n    { provide: 'b]', useValue: [1] }\n  ],\n})",
    "@Module({\n  providers: [\n    A,\n    { provide: 'b]', useValue: [1] },\n    EmailHandler,\n  ],\n})",
  ],
  [
    'a list that is exported by a name of its own',
    '@Module({ exports: providers, providers: [A] })',
    '@Module({ exports: providers, providers: [A, EmailHandler] })',
  ],
  [
    'a list of the same name further inside',
    '@Module({ imports: [X.forRoot({ providers: [Y] })], providers: [A] }) // providers: [',
    '@Module({ imports: [X.forRoot({ providers: [Y] })], providers: [A, EmailHandler] }) // providers: [',
  ],
])('adds to %s', (_, before, after) => {
  const { files } = added({ name: 'email' }, { ...PROJECT, '/src/app.module.ts': `${before}\nclass M {}` });
  expect(files['/src/app.module.ts']).toContain(after);
});

it.each([
  '@Module({ providers: PROVIDERS })',
  '@Module({ imports, providers })',
  '@Module({ providers, imports })',
  '@Module({\n  providers, // ours\n})',
  '@Module({ imports, ...rest })',
])('prints the lines to add by hand where the module has no list in its text: %s', (decorator) => {
  const files = { ...PROJECT, '/src/app.module.ts': `${decorator}\nclass M {}` };
  expect(added({ name: 'email' }, files).warnings).toEqual([
    'Add EmailHandler to the providers of a module: /src/app.module.ts',
  ]);
  expect(added({ name: 'email' }, { '/package.json': '{}' }).warnings[0]).toContain('none was found');
});

it('refuses a name that makes no class', () => {
  expect(() => handler({ name: 'mails/2fa' })).toThrow('begins with a letter, found "mails/2fa"');
  expect(() => handler({ name: '--' })).toThrow('expected the name of a job, found "--"');
});

it('adds the module and the shutdown hooks once', () => {
  const { files, warnings } = run(nestAdd({ sourceRoot: 'src' }));
  expect(files['/src/app.module.ts']).toBe(
    MODULE.replace('imports: []', 'imports: [JobQueueModule.forRoot()]').replace(
      "app.service';\n",
      "app.service';\nimport { JobQueueModule } from 'nest-job-queue';\n",
    ),
  );
  expect(files['/src/main.ts']).toBe(
    MAIN.replace('(AppModule);\n', '(AppModule);\n  app.enableShutdownHooks();\n'),
  );
  expect(warnings).toEqual([]);
  expect(run(nestAdd({ sourceRoot: 'src' }), files).files).toEqual(files);
});

it.each([
  ['with a type', 'const app: INestApplication = await NestFactory.create(AppModule);'],
  ['before a comment', 'const app = await NestFactory.create(AppModule, { logger }); // ours'],
  [
    'with calls behind',
    'const app = await NestFactory.create(AppModule).catch((e) => {\n    throw e;\n  })\n    .finally(done);',
  ],
  ['on several lines', 'const app = await NestFactory.create<NestFastifyApplication>(\n    AppModule,\n  );'],
])('finds the start of an app %s', (_, start) => {
  const main = MAIN.replace('const app = await NestFactory.create(AppModule);', start);
  const { files } = run(nestAdd({}), { ...PROJECT, '/src/main.ts': main });
  expect(files['/src/main.ts']).toBe(main.replace(start, `${start}\n  app.enableShutdownHooks();`));
});

/** Returns the files with the line ends of Windows. */
const windows = (files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [path, text.replaceAll('\n', '\r\n')]));

/** Returns the files with a byte order mark. */
const marked = (files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [path, `\uFEFF${text}`]));

/** Returns the files without semicolons. */
const plain = (files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [path, text.replaceAll(';', '')]));

const both: Schematic = (tree, context) => {
  nestAdd({ sourceRoot: 'src' })(tree, context);
  handler({ name: 'email', sourceRoot: 'src' })(tree, context);
};

it('keeps the line ends of Windows', () => {
  const module = MODULE.replace('[AppService]', '[\n    AppService,\n  ]').replace('  imports: [],\n', '');
  const project = { ...PROJECT, '/src/app.module.ts': module };
  const { files, warnings } = run(both, windows(project));
  const expected = run(both, project).files;
  for (const path of Object.keys(project)) expect(files[path]).toBe(windows(expected)[path]);
  expect(warnings).toEqual([]);
});

it('writes no semicolons into files without any', () => {
  const { files, warnings } = run(both, plain(PROJECT));
  const expected = run(both).files;
  for (const path of Object.keys(PROJECT)) expect(files[path]).toBe(plain(expected)[path]);
  expect(warnings).toEqual([]);
});

it('finds the start of an app in a file whose only semicolon begins a later line', () => {
  const main = `${plain(PROJECT)['/src/main.ts']}\n;[1].forEach(print)\n`;
  const { files } = run(nestAdd({}), { ...PROJECT, '/src/main.ts': main });
  expect(files['/src/main.ts']).toBe(main.replace('(AppModule)\n', '(AppModule)\n  app.enableShutdownHooks()\n'));
});

it('leaves a start of an app with more on its line', () => {
  const main = MAIN.replace('(AppModule);', '(AppModule); await app.init();');
  const { files, warnings } = run(nestAdd({}), { ...PROJECT, '/src/main.ts': main });
  expect(files['/src/main.ts']).toBe(main);
  expect(warnings).toEqual(['Could not change /src/main.ts: add app.enableShutdownHooks(); by hand']);
});

it('keeps the byte order mark of a file at its beginning', () => {
  const module = MODULE.replace(/import \{ App.*\n/g, '');
  const project = { ...PROJECT, '/src/app.module.ts': module, '/package.json': '{ "type": "module" }' };
  const { files, warnings } = run(both, marked(project));
  const expected = run(both, project).files;
  for (const path of Object.keys(project)) expect(files[path]).toBe(`\uFEFF${expected[path]}`);
  expect(warnings).toEqual([]);
});

it('prints the lines to write by hand where a file is missing or different', () => {
  const { warnings } = run(nestAdd({}), { '/src/main.ts': 'start();' });
  expect(warnings).toEqual([
    'Could not change /src/app.module.ts: add imports: [JobQueueModule.forRoot()] by hand',
    'Could not change /src/main.ts: add app.enableShutdownHooks(); by hand',
  ]);
});

it('has its factories in the collection of the package', () => {
  expect(readJson('package.json').schematics).toBe('./dist/schematics/collection.json');
  const factories = Object.values<{ factory: string }>(readJson('src/schematics/collection.json').schematics);
  expect(factories.map(({ factory }) => factory)).toEqual(['./handler.js#handler', './nest-add.js#nestAdd']);
});

function readJson(path: string) {
  return JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
}
