// Whole apps on BullMQ: compiled and run, converted by the built codemod, compiled and run again. What ran is the same. `app` has the parts
// of the documentation, `forms` has payloads, ids and queues in forms of real apps.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { startOwnRedis } from '../../support/redis/own-redis.js';

jest.setTimeout(600_000);

const ROOT = join(import.meta.dirname, '../../..');
mkdirSync(join(ROOT, '.cache'), { recursive: true });
// Inside of the project, where its packages are found.
const folder = mkdtempSync(join(ROOT, '.cache', 'codemod-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command: string, list: string[], env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr } = spawnSync(command, list, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(`${command} ${list.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** Compiles the app, with the library's sources in the package's place. Returns the folder of its programs. */
function compile(name: string, out: string): string {
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      rootDir: ROOT,
      outDir: join(folder, out),
      paths: { 'nest-job-queue': [join(ROOT, 'src/index.ts')] },
    },
    include: [],
    files: [`${name}/main.ts`, join(ROOT, 'src/queue/redis/cluster/cluster-key-slot.d.ts')],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder]);
  return join(folder, out, folder.slice(ROOT.length), name);
}

beforeAll(() => {
  cpSync(join(import.meta.dirname, 'app/package.json'), join(folder, 'package.json'));
  const packages = ['@nestjs/bullmq@12.0.0', 'bullmq@6.7.0'];
  run('npm', ['install', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund', ...packages]);
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: join(ROOT, 'codemod') });
});

/** Runs a compiled app. Returns what it prints. */
async function outcome(programs: string): Promise<unknown> {
  const { url } = await startOwnRedis();
  return JSON.parse(run(process.execPath, [join(programs, 'main.js')], { REDIS_PORT: new URL(url).port }));
}

it.each(['app', 'forms'])('%s: an app of BullMQ does the same after the codemod', async (name) => {
  cpSync(join(import.meta.dirname, name), join(folder, name), { recursive: true });
  const before = await outcome(compile(name, 'before'));

  const report = run(process.execPath, [join(ROOT, 'codemod/dist/cli.js'), 'bullmq', name]);
  expect(report).toContain('0 left with a TODO');
  const texts = readdirSync(join(folder, name)).map((file) => readFileSync(join(folder, name, file), 'utf8'));
  expect(texts.join('\n')).not.toMatch(/from '(@nestjs\/)?bullmq'/);

  const programs = compile(name, 'after');
  writeFileSync(join(folder, 'after/src/package.json'), '{ "type": "module", "exports": "./index.js" }');
  rmSync(join(folder, 'node_modules/nest-job-queue'), { force: true });
  symlinkSync(join(folder, 'after/src'), join(folder, 'node_modules/nest-job-queue'));
  expect(await outcome(programs)).toEqual(before);
});
