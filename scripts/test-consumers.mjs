// npm run test:consumers [-- NAME …]: projects that use the packed tarball with the tool chains that users of NestJS have. Each
// installs it, builds by its own tool, and runs a job on Redis. Needs a built dist, a registry, and some minutes.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nest11Versions } from './nest11-versions.mjs';
import { ensureRedis } from './redis/redis-server.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'test/package/consumers');
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const PEERS = ['@nestjs/common', '@nestjs/core', '@nestjs/testing', 'ioredis', 'reflect-metadata', 'rxjs'];
const OPTIONAL_PEERS = ['@nestjs/schedule', '@nestjs/terminus', '@opentelemetry/api', 'piscina', 'prom-client'];
const TYPES = ['@types/node', ...PEERS, ...OPTIONAL_PEERS];
const TSC = ['tsc', '-p', '.'];
const RUN = ['node', 'dist/main.js'];
/** Packages that Nest itself loads only where they are installed: its documentation leaves them out of bundles too. */
const NEST_LAZY = [
  '@nestjs/websockets/socket-module',
  '@nestjs/websockets/socket-module.js',
  '@nestjs/microservices',
  '@nestjs/microservices/microservices-module',
  '@nestjs/microservices/microservices-module.js',
  '@nestjs/platform-express',
];

const nest12 = devDependencies;
const nest11 = { ...devDependencies, ...nest11Versions };
const tsc = `typescript@${devDependencies.typescript}`;
const base = [tsc, '@types/node'];

const esmOptions = { module: 'nodenext', outDir: 'dist' };
const cjsOptions = { module: 'commonjs', moduleResolution: 'bundler', outDir: 'dist' };
const typeOptions = { module: 'nodenext', noEmit: true, skipLibCheck: false };

const projects = {
  'nest11-ts-jest': {
    versions: nest11,
    packages: [...base, 'ts-jest@29.4.15', 'jest@30.5.2', '@types/jest@30'],
    options: { ...cjsOptions, types: ['node', 'jest'] },
    files: {
      'jest.config.json': JSON.stringify({
        preset: 'ts-jest',
        testEnvironment: 'node',
        moduleNameMapper: { '^(\\./.*)\\.js$': '$1' },
        testMatch: ['**/app.spec.ts'],
      }),
    },
    steps: [['jest'], TSC, RUN],
  },
  'nest12-vitest': {
    type: 'module',
    versions: nest12,
    packages: [...base, 'vitest@4.1.12', 'unplugin-swc@1', '@swc/core@1'],
    options: { ...esmOptions, types: ['node', 'vitest/globals'] },
    files: {
      'vitest.config.mjs':
        "import swc from 'unplugin-swc';\nexport default { test: { globals: true, include: ['app.spec.ts'] }, plugins: [swc.vite({ module: { type: 'es6' } })] };\n",
    },
    steps: [['vitest', 'run'], TSC, RUN],
  },
  swc: {
    versions: nest11,
    packages: ['@swc/core@1', '@swc/cli@0.7'],
    files: {
      '.swcrc': JSON.stringify({
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
        module: { type: 'commonjs' },
      }),
    },
    steps: [['swc', 'app.ts', 'main.ts', '-d', 'dist'], RUN],
  },
  'webpack-all': {
    versions: nest11,
    packages: [...base, 'webpack@5', 'webpack-cli@6'],
    options: cjsOptions,
    files: { 'webpack.config.js': webpackConfig(NEST_LAZY) },
    steps: [TSC, ['webpack'], ['node', 'bundle/main.js']],
  },
  'webpack-externals': {
    versions: nest11,
    packages: [...base, 'webpack@5', 'webpack-cli@6'],
    options: cjsOptions,
    files: {
      'webpack.config.js': webpackConfig([
        ...NEST_LAZY,
        'nest-job-queue',
        'piscina',
        '@nestjs/common',
        '@nestjs/core',
      ]),
    },
    steps: [TSC, ['webpack'], ['node', 'bundle/main.js']],
  },
  'esbuild-all': {
    type: 'module',
    versions: nest12,
    packages: [...base, 'esbuild'],
    options: esmOptions,
    steps: [
      TSC,
      [
        'esbuild',
        'dist/main.js',
        '--bundle',
        '--platform=node',
        '--format=cjs',
        '--keep-names',
        '--outfile=bundle/main.cjs',
        ...NEST_LAZY.concat('class-transformer', 'class-validator', 'piscina').map((name) => `--external:${name}`),
      ],
      ['node', 'bundle/main.cjs'],
    ],
  },
  'types-5.4': typed(nest11, '5.4.5'),
  'types-newest-nest11': typed(nest11, devDependencies.typescript),
  'types-newest-nest12': typed(nest12, devDependencies.typescript),
  pnpm: {
    client: 'pnpm@10',
    versions: nest11,
    packages: [...base, 'other-ioredis@npm:ioredis@5.9.1', ...OPTIONAL_PEERS],
    options: { ...cjsOptions, skipLibCheck: true },
    sources: ['app.ts', 'main.ts', 'types.ts'],
    steps: [TSC, RUN],
  },
  'yarn-pnp': {
    client: 'yarn',
    versions: nest11,
    packages: base,
    options: cjsOptions,
    steps: [TSC, RUN],
  },
  node22: {
    type: 'module',
    versions: nest12,
    packages: base,
    options: esmOptions,
    steps: [TSC, ['npx', '-y', 'node@22', 'dist/main.js']],
  },
  node24: {
    type: 'module',
    versions: nest12,
    packages: base,
    options: esmOptions,
    steps: [TSC, ['npx', '-y', 'node@24', 'dist/main.js']],
  },
};

const wanted = process.argv.slice(2);
const redis = await ensureRedis();
const work = mkdtempSync(join(tmpdir(), 'consumers-'));
const outcomes = [];
try {
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', work], { cwd: root });
  const tarball = join(
    work,
    readdirSync(work).find((file) => file.endsWith('.tgz')),
  );
  for (const [name, project] of Object.entries(projects)) {
    if (wanted.length === 0 || wanted.includes(name)) outcomes.push(attempt(name, project, tarball));
  }
} finally {
  rmSync(work, { recursive: true, force: true });
  await redis.stop();
}
const failed = outcomes.filter(({ error }) => error);
for (const { name, error } of outcomes)
  console.log(`${error ? 'FAILED' : 'works '} ${name}${error ? `\n${error}` : ''}`);
console.log(`${outcomes.length - failed.length} of ${outcomes.length} consumers work`);
if (failed.length > 0 || outcomes.length === 0) process.exitCode = 1;

function attempt(name, project, tarball) {
  const cwd = join(work, name);
  try {
    prepare(name, project, cwd);
    install(project, tarball, cwd);
    for (const [command, ...args] of project.steps) run(...binary(project, command, args), cwd, name);
    return { name };
  } catch (error) {
    return { name, error: `${error.stdout ?? ''}${error.stderr ?? ''}${error.message}`.slice(-3_000) };
  }
}

function prepare(name, { type, options, files = {}, sources: own }, cwd) {
  mkdirSync(cwd);
  const manifest = { name: `consumer-${name}`, version: '0.0.0', private: true, ...(type && { type }) };
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifest));
  const included = own ?? ['app.ts', 'main.ts'];
  for (const file of new Set([...included, 'app.ts', 'main.ts', 'app.spec.ts']))
    cpSync(join(sources, file), join(cwd, file));
  const compilerOptions = {
    target: 'es2022',
    strict: true,
    skipLibCheck: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    esModuleInterop: true,
    types: ['node'],
    ...options,
  };
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: included }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(cwd, file), text);
}

function install({ client = 'npm', packages, versions }, tarball, cwd) {
  const names = [...new Set([...PEERS, ...packages])];
  const list = names.map((each) => (versions[each] ? `${each}@${versions[each]}` : each));
  if (client === 'npm') {
    run('npm', ['install', '--silent', '--prefer-offline', '--no-audit', '--no-fund', tarball, ...list], cwd);
  } else if (client === 'yarn') {
    writeFileSync(join(cwd, '.yarnrc.yml'), 'nodeLinker: pnp\nenableTelemetry: false\nenableGlobalCache: false\n');
    writeFileSync(join(cwd, 'yarn.lock'), '');
    run('npx', ['-y', '@yarnpkg/cli-dist@4', 'add', `nest-job-queue@file:${tarball}`, ...list], cwd);
  } else {
    run('npx', ['-y', client, 'add', `file:${tarball}`, ...list], cwd);
  }
}

function binary({ client }, command, args) {
  if (client === 'yarn')
    return [
      'npx',
      [
        '-y',
        '@yarnpkg/cli-dist@4',
        command === 'node' ? 'node' : 'run',
        ...(command === 'node' ? [] : [command]),
        ...args,
      ],
    ];
  return command === 'node' || command === 'npx' ? [command, args] : [join('node_modules/.bin', command), args];
}

function run(command, args, cwd, name) {
  const env = { ...process.env, REDIS_URL: redis.url, CONSUMER: name ?? '' };
  execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 400_000 });
}

function webpackConfig(externals) {
  const ignored = JSON.stringify(['class-validator', 'class-transformer', 'class-transformer/storage', 'piscina']);
  const config = {
    mode: 'development',
    target: 'node',
    entry: './dist/main.js',
    output: { filename: 'main.js' },
    devtool: false,
    performance: { hints: false },
  };
  return (
    `const external = ${JSON.stringify(externals)}.concat(${ignored});\n` +
    `module.exports = { ...${JSON.stringify(config)}, output: { path: __dirname + '/bundle', filename: 'main.js' },\n` +
    "  externals: external.map((name) => ({ [name]: 'commonjs ' + name })) };\n"
  );
}

function typed(versions, typescript) {
  return {
    type: 'module',
    versions,
    packages: [
      `typescript@${typescript}`,
      ...TYPES,
      '@nestjs/platform-express',
      '@types/express@5',
      'other-ioredis@npm:ioredis@5.9.1',
    ],
    options: typeOptions,
    sources: ['types.ts'],
    steps: [TSC],
  };
}
