import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('npm ci warns of nothing on this version of Node', async () => {
  // A dry run reads the lock file alone: nothing is fetched, changed or run.
  const { stderr } = await promisify(execFile)('npm', ['ci', '--dry-run', '--offline'], { cwd: root });
  expect(stderr).not.toContain('EBADENGINE');
  // The two packages of Jest with such scripts only check or build what their packages for each system bring along.
  expect(stderr).not.toContain('npm warn install-scripts');
});
