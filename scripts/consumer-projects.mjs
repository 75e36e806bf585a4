// The consumer projects of scripts/test-consumers.mjs. All share the app of test/package/consumers, each with another
// tool chain. Its steps name what runs: a unit test, worker processes, and the app. The app runs a job, a thread and
// the health check.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nest11Versions } from './nest11-versions.mjs';

const { devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const NEST = ['@nestjs/common', '@nestjs/core', '@nestjs/testing', '@nestjs/terminus'];
/** Packages of every project besides the tarball and its tools. */
export const PEERS = [...NEST, 'ioredis', 'piscina', 'reflect-metadata', 'rxjs'];
/** Files that every project compiles. */
export const SOURCES = ['app.ts', 'main.ts', 'workers.ts', 'square.worker.ts', 'unit.ts'];
const TYPED_PEERS = ['@nestjs/schedule', '@opentelemetry/api', 'prom-client', '@jest/globals'];
const TSC = ['tsc', '-p', '.'];
const UNIT = ['node', 'dist/unit.js'];
const RUN = [
  ['node', 'dist/main.js'],
  ['node', 'dist/workers.js'],
];
/** Packages that Nest, terminus and we load only where they are installed. All docs leave them out of bundles. */
const LAZY = [
  '@mikro-orm/core',
  '@nestjs/microservices',
  '@nestjs/mongoose',
  '@nestjs/platform-express',
  '@nestjs/sequelize',
  '@nestjs/swagger',
  '@nestjs/typeorm',
  '@nestjs/websockets',
  'class-transformer',
  'class-validator',
  'prom-client',
];
/** The externals of docs/threads.md. A thread begins with a file of the package, and the package needs the app's own Nest. */
const EXTERNALS = ['nest-job-queue', 'piscina', '@nestjs/common', '@nestjs/core', '@nestjs/terminus'];
/** A bundle of everything runs jobs and worker processes. It refuses threads at boot, which the app checks. */
const ALL_BUNDLED = { CONSUMER_THREADS: 'refused' };

const nest12 = devDependencies;
const nest11 = { ...devDependencies, ...nest11Versions };
const base = [`typescript@${devDependencies.typescript}`, '@types/node'];
const jest = [`jest@${devDependencies.jest}`, '@types/jest@30'];

const esmOptions = { module: 'nodenext', outDir: 'dist' };
const cjsOptions = { module: 'commonjs', moduleResolution: 'bundler', outDir: 'dist' };
const swcOptions = {
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
  },
  module: { type: 'commonjs' },
};

export const projects = {
  'nest11-ts-jest': {
    versions: nest11,
    packages: [...base, ...jest, 'ts-jest@29.4.15'],
    options: { ...cjsOptions, types: ['node', 'jest'] },
    sources: [...SOURCES, 'app.spec.ts', 'set-up.ts'],
    files: {
      'set-up.ts': "import 'nest-job-queue/testing/jest';\n",
      'jest.config.json': jestConfig({ preset: 'ts-jest' }),
    },
    steps: [TSC, ['jest'], UNIT, ...RUN],
  },
  'nest12-vitest': ofVitest(devDependencies.vitest, '@types/node', [['vitest', 'run'], UNIT, ...RUN]),
  // It needs Node 22.
  'nest12-vitest5': ofVitest('5', '@types/node@22', [
    ['npx', '-y', 'node@22', 'node_modules/vitest/vitest.mjs', 'run'],
  ]),
  swc: {
    versions: nest11,
    packages: [...jest, '@swc/core@1', '@swc/cli@0.7', '@swc/jest@0.2'],
    files: {
      '.swcrc': JSON.stringify(swcOptions),
      'set-up.ts': "import 'nest-job-queue/testing/jest';\n",
      'jest.config.json': jestConfig({ transform: { '\\.ts$': ['@swc/jest', swcOptions] } }),
    },
    steps: [['swc', ...SOURCES, '-d', 'dist'], ['jest'], UNIT, ...RUN],
  },
  'webpack-all': webpacked(LAZY, ALL_BUNDLED),
  'webpack-externals': webpacked([...LAZY, ...EXTERNALS], {}),
  'esbuild-all': {
    type: 'module',
    versions: nest12,
    packages: [...base, 'esbuild'],
    options: esmOptions,
    env: ALL_BUNDLED,
    steps: [
      TSC,
      [
        'esbuild',
        'dist/main.js',
        'dist/workers.js',
        '--bundle',
        '--platform=node',
        '--format=cjs',
        '--keep-names',
        '--outdir=bundle',
        '--out-extension:.js=.cjs',
        // Terminus 12 is an ES module that asks for its own URL, which a CommonJS bundle has not.
        '--define:import.meta.url=__url',
        "--banner:js=const __url = require('node:url').pathToFileURL(__filename).href;",
        ...LAZY.map((name) => `--external:${name}`),
      ],
      ['node', 'bundle/main.cjs'],
      ['node', 'bundle/workers.cjs'],
    ],
  },
  'types-5.4': typed(nest11, '5.4.5'),
  'types-newest-nest11': typed(nest11, devDependencies.typescript),
  'types-newest-nest12': typed(nest12, devDependencies.typescript),
  pnpm: {
    client: 'pnpm@10',
    versions: nest11,
    packages: [...base, ...TYPED_PEERS, 'other-ioredis@npm:ioredis@5.9.1'],
    options: { ...cjsOptions, skipLibCheck: false },
    sources: [...SOURCES, 'types.ts'],
    steps: [TSC, UNIT, ...RUN],
  },
  'yarn-pnp': {
    client: 'yarn',
    versions: nest11,
    packages: base,
    options: cjsOptions,
    steps: [TSC, UNIT, ...RUN],
  },
  node22: ofNode(22),
  node24: ofNode(24),
  bun: ofRuntime('bun@1', ['node_modules/.bin/bun']),
  // docs/sentry.md, and nothing else.
  'sentry-nest11': ofSentry('9.37.0', { versions: nest11, options: cjsOptions }, ['node', 'dist/sentry.js']),
  // Its peers end with NestJS 11. In ES modules it is loaded before the app.
  'sentry-nest12': ofSentry(
    '10.75.3',
    { versions: nest12, options: esmOptions, type: 'module', installOptions: ['--legacy-peer-deps'] },
    ['node', '--import', './dist/instrument.js', 'dist/sentry.js'],
  ),
  // Deno refuses some signals that Nest listens to by default.
  deno: ofRuntime(
    'deno@2',
    ['node_modules/.bin/deno', 'run', '-A', '--no-check', '--node-modules-dir=manual'],
    (code) => code.replace('enableShutdownHooks()', "enableShutdownHooks(['SIGTERM', 'SIGINT'])"),
  ),
};

function jestConfig(own) {
  return JSON.stringify({
    testEnvironment: 'node',
    moduleNameMapper: { '^(\\./.*)\\.js$': '$1' },
    setupFilesAfterEnv: ['./set-up.ts'],
    testMatch: ['**/app.spec.ts'],
    ...own,
  });
}

function webpacked(externals, env) {
  const entry = Object.fromEntries(['main', 'workers', 'square.worker'].map((name) => [name, `./dist/${name}.js`]));
  const config = { mode: 'development', target: 'node', entry, devtool: false, performance: { hints: false } };
  const text =
    `module.exports = { ...${JSON.stringify(config)},\n` +
    "  output: { path: __dirname + '/bundle', filename: '[name].js', library: { type: 'commonjs2' } },\n" +
    // Terminus requires by a variable. Without this, webpack compiles the types and source maps beside it.
    '  module: { parser: { javascript: { wrappedContextRegExp: /^$/ } } },\n' +
    // A prefix would not do: the entry points of the package (`nest-job-queue/health`) are external with it.
    `  externals: [({ request }, done) => ${JSON.stringify(externals)}.some((name) => request === name || request.startsWith(name + '/'))\n` +
    "    ? done(null, 'commonjs ' + request) : done()] };\n";
  return {
    versions: nest11,
    packages: [...base, 'webpack@5', 'webpack-cli@6'],
    options: cjsOptions,
    files: { 'webpack.config.js': text },
    env: { CONSUMER_BUILT: 'bundle', ...env },
    steps: [TSC, ['webpack'], ['node', 'bundle/main.js'], ['node', 'bundle/workers.js']],
  };
}

function typed(versions, typescript) {
  return {
    type: 'module',
    versions,
    packages: [
      `typescript@${typescript}`,
      '@types/node',
      ...TYPED_PEERS,
      `vitest@${devDependencies.vitest}`,
      '@nestjs/platform-express',
      '@types/express@5',
      'other-ioredis@npm:ioredis@5.9.1',
    ],
    options: { module: 'nodenext', noEmit: true, skipLibCheck: false },
    sources: ['types.ts', 'types-vitest.ts'],
    steps: [TSC],
  };
}

function ofVitest(version, types, steps) {
  return {
    type: 'module',
    versions: nest12,
    packages: [base[0], types, `vitest@${version}`, 'unplugin-swc@1', '@swc/core@1'],
    options: { ...esmOptions, types: ['node', 'vitest/globals'] },
    sources: [...SOURCES, 'app.spec.ts', 'set-up.ts'],
    files: {
      'set-up.ts': "import 'nest-job-queue/testing/vitest';\n",
      'vitest.config.mjs':
        "import swc from 'unplugin-swc';\n" +
        "const test = { globals: true, include: ['app.spec.ts'], setupFiles: ['./set-up.ts'] };\n" +
        "export default { test, plugins: [swc.vite({ module: { type: 'es6' } })] };\n",
    },
    steps: [TSC, ...steps],
  };
}

function ofNode(major) {
  const steps = [UNIT, ...RUN].map((step) => ['npx', '-y', `node@${major}`, ...step.slice(1)]);
  return { type: 'module', versions: nest12, packages: base, options: esmOptions, steps: [TSC, ...steps] };
}

function ofSentry(version, project, step) {
  const packages = [...base, `@sentry/nestjs@${version}`, '@nestjs/platform-express'];
  return { ...project, packages, sources: ['sentry.ts'], steps: [TSC, step] };
}

/** Returns the project of the README's quickstart on another runtime. @param change what the runtime needs in the code */
function ofRuntime(runtime, command, change = (code) => code) {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, code] = /<!-- quickstart:[^]*?```ts\n([^]*?)```/.exec(readme);
  return {
    type: 'module',
    allowScripts: { [runtime.split('@')[0]]: true }, // npm brings the runtime by an install script
    versions: nest12,
    packages: [...base, runtime, '@nestjs/platform-express'],
    options: esmOptions,
    sources: ['quickstart.ts'],
    files: { 'quickstart.ts': change(code) },
    steps: [
      TSC,
      [
        'node',
        fileURLToPath(new URL('../test/package/quickstart.mjs', import.meta.url)),
        ...command,
        'quickstart.ts',
      ],
    ],
  };
}
