// npm run test:consumers [-- NAME …]: projects that use the packed tarball with the tool chains of NestJS users. Each
// installs it, builds with its own tool, and runs the app of test/package/consumers on Redis. Needs a built dist, a
// registry, and some minutes.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PEERS, SOURCES, projects } from './consumer-projects.mjs';
import { ensureRedis } from './redis/redis-server.mjs';
import { runChild } from './run-child.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'test/package/consumers');
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in projects));
if (unknown.length > 0) {
  console.error(
    `test-consumers: expected some of ${Object.keys(projects).join(', ')}, found ${unknown.join(', ')}`,
  );
  process.exit(2);
}
const redis = await ensureRedis();
const work = mkdtempSync(join(tmpdir(), 'consumers-'));
const outcomes = [];
try {
  await runChild('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', work], { cwd: root });
  const tarball = join(
    work,
    readdirSync(work).find((file) => file.endsWith('.tgz')),
  );
  for (const [name, project] of Object.entries(projects)) {
    if (wanted.length === 0 || wanted.includes(name)) outcomes.push(await attempt(name, project, tarball));
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

async function attempt(name, project, tarball) {
  const cwd = join(work, name);
  try {
    prepare(name, project, cwd);
    await install(project, tarball, cwd);
    for (const [command, ...args] of project.steps)
      await run(...binary(project, command, args), cwd, { CONSUMER: name, ...project.env });
    return { name };
  } catch (error) {
    return { name, error: error.message.slice(-3_000) };
  }
}

function prepare(name, { type, allowScripts, options, files = {}, sources: own }, cwd) {
  mkdirSync(cwd);
  const manifest = { name: `consumer-${name}`, version: '0.0.0', private: true, type, allowScripts };
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifest));
  const included = own ?? SOURCES;
  for (const file of readdirSync(sources)) cpSync(join(sources, file), join(cwd, file));
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

async function install({ client = 'npm', packages, versions, installOptions = [] }, tarball, cwd) {
  const names = [...new Set([...PEERS, ...packages])];
  const list = names.map((each) => (versions[each] ? `${each}@${versions[each]}` : each));
  if (client === 'npm') {
    await run(
      'npm',
      ['install', '--silent', '--prefer-offline', '--no-audit', '--no-fund', ...installOptions, tarball, ...list],
      cwd,
    );
  } else if (client === 'yarn') {
    writeFileSync(join(cwd, '.yarnrc.yml'), 'nodeLinker: pnp\nenableTelemetry: false\nenableGlobalCache: false\n');
    writeFileSync(join(cwd, 'yarn.lock'), '');
    await run('npx', ['-y', '@yarnpkg/cli-dist@4', 'add', `nest-job-queue@file:${tarball}`, ...list], cwd);
  } else {
    await run('npx', ['-y', client, 'add', `file:${tarball}`, ...list], cwd);
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

function run(command, args, cwd, own) {
  const env = { ...process.env, REDIS_URL: redis.url, ...own };
  return runChild(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 400_000 });
}
