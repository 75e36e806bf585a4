// A selection of tests that matches nothing fails.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { folderWith } from './folder.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs jest with the reporter in a folder of two test files. */
function runJest(...args: string[]) {
  const folder = folderWith({
    'jest.config.json': JSON.stringify({
      reporters: [join(root, 'scripts/selection-reporter.mjs')],
      transform: {},
    }),
    'package.json': '{}',
    'a.spec.js': "it('adds', () => expect(1 + 1).toBe(2));",
    'b.spec.js': "it('fails', () => expect(1).toBe(2));",
  });
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  const env = { ...process.env, NODE_OPTIONS: '' };
  const { status, stderr } = spawnSync(process.execPath, [jest, '-i', ...args], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  return { status, stderr: stderr.trim() };
}

it('passes where each path and the name match', () => {
  expect(runJest('a.spec', '-t', 'adds')).toEqual({ status: 0, stderr: '' });
});

it('fails where a path matches no file, and where no test has the name', () => {
  const { status, stderr } = runJest('a.spec', 'c.spec', '-t', 'nothing');
  expect(stderr.split('\n')).toEqual(['No test file matches "c.spec".', 'No test has a name like "nothing".']);
  expect(status).toBe(1);
});
