// Checks the package as its users get it. Runs publint and attw, then installs the tarball into temporary projects. These
// are of both supported rows of versions, or with --newest of one. There tsc compiles an ES module and a CommonJS consumer
// (test/package), which run. Worker processes of each do a job, also as `nest start` runs them in development.
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { nest11Versions } from '../nest11-versions.mjs';
import { ensureRedis } from '../redis/redis-server.mjs';
import { runChild } from '../run-child.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bin = (name) => join(root, 'node_modules/.bin', name);
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const work = mkdtempSync(join(tmpdir(), 'check-package-'));

/** The bound of the tarball, in bytes. `npm pack --dry-run` lists what is in it. */
const MAX_BYTES = 930_000;

const compilerOptions = {
  target: 'es2022',
  module: 'nodenext',
  strict: true,
  // An option may be undefined, such as a variable of the environment.
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  // The peers' types name optional packages that an app need not have.
  skipLibCheck: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  types: ['node'],
};

const redis = await ensureRedis();
const env = { ...process.env, REDIS_URL: redis.url };

const run = (command, args, cwd) => {
  console.log(`\n> ${command.replace(`${root}node_modules/.bin/`, '')} ${args.join(' ')}`);
  return runChild(command, args, { cwd, env, stdio: 'inherit' });
};

try {
  // dist is built already: no second build by prepack.
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', work], root);
  const tarball = join(
    work,
    readdirSync(work).find((file) => file.endsWith('.tgz')),
  );
  checkSize(tarball);
  // Each uses about one core. All end before the folder goes.
  const outcomes = await Promise.allSettled([checkForm, checkNest12].map((check) => check(tarball)));
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
  if (!process.argv.includes('--newest')) await checkNest11(tarball);
  // A release publishes this file, and no other that is packed later.
  const folder = process.env.TESTED_TARBALL_FOLDER;
  if (folder) copyFileSync(tarball, join(folder, basename(tarball)));
  console.log('\nThe package is sound.');
} catch (error) {
  console.error(`\ncheck-package: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
  await redis.stop();
}

function checkSize(tarball) {
  const { size } = statSync(tarball);
  console.log(`\nThe tarball has ${size} bytes, of at most ${MAX_BYTES}.`);
  if (size > MAX_BYTES)
    throw new Error(`expected a tarball of at most ${MAX_BYTES} bytes, found ${size}: drop what users do not need`);
}

async function checkForm(tarball) {
  await run(bin('publint'), ['--strict', tarball], root);
  await run(bin('attw'), [tarball], root);
  // The core needs ioredis alone: nothing of Nest comes with it.
  const plain = await installOnly(tarball, 'plain', ['ioredis'], manifest.devDependencies);
  copyFileSync(join(root, 'test/package/core.mjs'), join(plain, 'core.mjs'));
  await run(process.execPath, ['core.mjs'], plain);
  await bundle(join(root, 'test/package/bundled.mjs'), plain);
  await run(process.execPath, ['bundled.mjs'], plain);
}

/** Bundles a program with its packages, and minifies it, as apps are for a serverless function. */
async function bundle(input, cwd) {
  const copy = join(cwd, 'input.mjs');
  copyFileSync(input, copy);
  const bundler = await rolldown({ input: copy, cwd, platform: 'node', external: ['piscina'] });
  await bundler.write({ file: join(cwd, basename(input)), format: 'es', minify: true });
  await bundler.close();
}

async function checkNest12(tarball) {
  const nest12 = await install(tarball, 'nest12', manifest.devDependencies);
  await compile(nest12, ['consumer.mts', 'consumer.cts', 'worker.mts']);
  await run(process.execPath, ['consumer.mjs'], nest12);
  await run(process.execPath, ['consumer.cjs'], nest12);
  await run(process.execPath, ['worker.mjs'], nest12);
  await develop(nest12, 'worker.mts');
  await quickstart(nest12, { type: 'module' });
}

async function checkNest11(tarball) {
  const nest11 = await install(tarball, 'nest11', { ...manifest.devDependencies, ...nest11Versions });
  await compile(nest11, ['consumer.mts', 'consumer.cts', 'worker.cts']);
  await run(process.execPath, ['consumer.mjs'], nest11);
  // Turns `require` of ES modules off, so that Node runs the CommonJS build. NestJS 12 cannot run without it.
  await run(process.execPath, ['--no-experimental-require-module', 'consumer.cjs'], nest11);
  await run(process.execPath, ['--no-experimental-require-module', 'worker.cjs'], nest11);
  await quickstart(nest11, {});
}

/** Installs the tarball and these packages only. */
async function installOnly(tarball, name, packages, versions) {
  const cwd = join(work, name);
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'package.json'), '{ "name": "consumers", "private": true }');
  const wanted = packages.map((each) => `${each}@${versions[each]}`);
  await run('npm', ['install', '--silent', '--prefer-offline', '--no-audit', '--no-fund', tarball, ...wanted], cwd);
  return cwd;
}

/** Installs the tarball and these versions of its peers into a new folder. */
async function install(tarball, name, versions) {
  const cwd = join(work, name);
  mkdirSync(cwd);
  // Only `nest-job-queue mcp` needs the SDK, and no consumer starts it.
  const peers = [
    ...Object.keys(manifest.peerDependencies).filter((peer) => peer !== '@modelcontextprotocol/sdk'),
    '@nestjs/testing',
    '@nestjs/platform-express',
    '@types/node',
  ];
  writeFileSync(join(cwd, 'package.json'), '{ "name": "consumers", "private": true }');
  const packages = peers.filter((peer) => versions[peer] !== undefined).map((peer) => `${peer}@${versions[peer]}`);
  await run(
    'npm',
    ['install', '--silent', '--prefer-offline', '--no-audit', '--no-fund', tarball, ...packages],
    cwd,
  );
  return cwd;
}

async function compile(cwd, files) {
  for (const file of files) copyFileSync(join(root, 'test/package', file), join(cwd, file));
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  await run(bin('tsc'), ['-p', '.'], cwd);
}

/**
 * Checks the README's quickstart in a project of `nest new`: ES modules for NestJS 12, CommonJS for NestJS 11.
 */
async function quickstart(cwd, manifestOfApp) {
  const [, code] = /<!-- quickstart:[^]*?```ts\n([^]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'));
  const app = join(cwd, 'quickstart');
  mkdirSync(join(app, 'src'), { recursive: true });
  writeFileSync(join(app, 'package.json'), JSON.stringify(manifestOfApp));
  writeFileSync(join(app, 'src/main.ts'), code);
  const config = { compilerOptions: { ...compilerOptions, rootDir: 'src', outDir: 'dist' }, include: ['src'] };
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify(config));
  await run(bin('tsc'), ['-p', '.'], app);
  await run(process.execPath, [join(root, 'test/package/quickstart.mjs'), process.execPath, 'dist/main.js'], app);
}

/** Runs the file as the main file of an app in development: Nest's command line compiles it, and runs it. */
async function develop(cwd, file) {
  const app = join(cwd, 'app');
  mkdirSync(join(app, 'src'), { recursive: true });
  copyFileSync(join(root, 'test/package', file), join(app, 'src/main.ts'));
  writeFileSync(join(app, 'package.json'), '{ "type": "module" }');
  const config = { compilerOptions: { ...compilerOptions, rootDir: 'src', outDir: 'dist' }, include: ['src'] };
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify(config));
  await run(bin('nest'), ['start'], app);
}
