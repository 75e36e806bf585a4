import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('npm ci has nothing to say against this version of Node', async () => {
  // A dry run reads the lock file alone: nothing is fetched and nothing is changed.
  const command = promisify(execFile)('npm', ['ci', '--dry-run', '--ignore-scripts', '--offline'], { cwd: root });
  expect((await command).stderr).not.toContain('EBADENGINE');
});
