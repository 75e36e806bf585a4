// nest-cli.json: the command line of Nest builds, starts and generates in this repository. It works on a copy.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';

jest.setTimeout(600_000);

const ROOT = join(import.meta.dirname, '../../..');
mkdirSync(join(ROOT, '.cache'), { recursive: true });
// Inside of the project, where its packages are found.
const copy = mkdtempSync(join(ROOT, '.cache', 'nest-repository-'));

beforeAll(() => {
  for (const name of ['nest-cli.json', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'src']) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

function nest(...list: string[]): string {
  const bin = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...list], { cwd: copy, encoding: 'utf8' });
  if (status !== 0) throw new Error(`nest ${list.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

it('nest build compiles the sources, and nest start runs the command of the package', () => {
  nest('build');
  expect(existsSync(join(copy, 'dist/esm/index.d.ts'))).toBe(true);
  const { version } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8')) as { version: string };
  expect(nest('start', '--', '--version')).toContain(version);
});

it('nest g makes a file among the sources, without a question', () => {
  expect(nest('g', 'service', 'mail', '--no-spec')).toContain('src/mail/mail.service.ts');
  expect(existsSync(join(copy, 'src/mail/mail.service.ts'))).toBe(true);
});
