// The schematics by the command line of Nest 11, in a project that it has just made. The generated test runs.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it, jest } from '@jest/globals';
import { rolldown } from 'rolldown';

jest.setTimeout(300_000);

const ROOT = join(import.meta.dirname, '../../..');
mkdirSync(join(ROOT, '.cache'), { recursive: true });
// Inside of the project, where its packages are found.
const folder = mkdtempSync(join(ROOT, '.cache', 'nest-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(cwd: string, ...list: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, list, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${list.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

const nest = (cwd: string, ...list: string[]) =>
  run(cwd, join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js'), ...list);

/** Puts the package with its schematics into a project, as an install does. */
async function install(app: string): Promise<void> {
  const own = join(app, 'node_modules/nest-job-queue');
  const input = ['handler', 'nest-add'].map((name) => join(ROOT, 'src/schematics', `${name}.ts`));
  const bundler = await rolldown({ input, platform: 'node' });
  await bundler.write({ dir: join(own, 'dist/schematics'), format: 'cjs', chunkFileNames: '[name].js' });
  await bundler.close();
  for (const name of ['collection', 'handler.schema']) {
    cpSync(join(ROOT, `src/schematics/${name}.json`), join(own, `dist/schematics/${name}.json`));
  }
  const { name, version, schematics } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  writeFileSync(join(own, 'package.json'), JSON.stringify({ name, version, schematics }));
}

/** Runs the tests of the project with the library's sources in the package's place. */
function runTests(app: string): string {
  const config = `import base from ${JSON.stringify(join(ROOT, 'jest.config.mjs'))};
export default { ...base, rootDir: ${JSON.stringify(ROOT)}, roots: [${JSON.stringify(join(app, 'src/email'))}],
  testMatch: ['**/*.spec.ts'], testPathIgnorePatterns: [], modulePathIgnorePatterns: [], forceExit: true, reporters: ['default'], globalSetup: undefined, globalTeardown: undefined };`;
  writeFileSync(join(folder, 'jest.config.mjs'), config);
  const bin = join(ROOT, 'node_modules/jest/bin/jest.js');
  return run(ROOT, '--experimental-vm-modules', bin, '--config', join(folder, 'jest.config.mjs'), '-i');
}

it('nest add and nest g change a fresh project, whose new test passes', async () => {
  nest(folder, 'new', 'app', '--skip-install', '--skip-git', '--package-manager', 'npm');
  const app = join(folder, 'app');
  mkdirSync(join(app, 'node_modules'));
  await install(app);
  nest(app, 'add', 'nest-job-queue', '--skip-install');
  nest(app, 'g', '-c', 'nest-job-queue', 'handler', 'email');
  const read = (file: string) => readFileSync(join(app, 'src', file), 'utf8');
  expect(read('app.module.ts')).toMatch(/imports: \[JobQueueModule\.forRoot\(\)\][^]*EmailHandler\]/);
  expect(read('main.ts')).toContain('app.enableShutdownHooks();');
  expect(runTests(app)).toContain('1 passed');
});
