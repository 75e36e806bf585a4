// `.ci/run` on stubs of npm and Node: which steps it runs, and how it ends.
import { execFile } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { folderWith } from './folder.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs `.ci/run` with an npm that fails on arguments that contain this text. @param fails what it does then */
function ciRun(failsOn: string, fails = 'exit 1') {
  const totals = '{"passed":3,"failed":0,"skipped":0}';
  const bin = folderWith({
    npm: `#!/bin/sh\n[ "$1" != test ] || echo '${totals}' >> "$TEST_TOTALS_FILE"\ncase "$*" in *'${failsOn}'*) ${fails};; esac\n`,
    node: `#!/bin/sh\ncase "$1" in *print-totals*) exec '${process.execPath}' "$@";; esac\n`,
  });
  ['npm', 'node'].forEach((name) => chmodSync(`${bin}/${name}`, 0o755));
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  return new Promise<{ code: unknown; lines: string[] }>((resolve) => {
    execFile('.ci/run', { cwd: root, env }, (error, stdout) =>
      resolve({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n') }),
    );
  });
}

const SIMULATE = /^=== npm run simulate -- --seed \d{10} --seeds 1000 --seconds 60 --steps 5000/;

it('simulates for a minute, by a named seed, and ends with the totals', async () => {
  const { code, lines } = await ciRun('no step');
  expect(lines).toContainEqual(expect.stringMatching(SIMULATE));
  expect(lines.at(-1)).toBe('3 passed, 0 failed');
  expect(code).toBe(0);
});

it('fails if the simulation found something, and still runs the rest', async () => {
  const { code, lines } = await ciRun('simulate');
  expect(lines).toContainEqual(expect.stringMatching(new RegExp(`${SIMULATE.source}: FAILED`)));
  expect(lines).toContainEqual(expect.stringMatching(/^=== npm run docs:build: ok/));
  expect(lines.at(-1)).toBe('3 passed, 1 failed');
  expect(code).toBe(1);
});

it('fails if steps beside the others are cut off', async () => {
  const { code, lines } = await ciRun('simulate', 'kill -9 $PPID');
  expect(lines).toContain('failed: steps that were cut off');
  expect(lines.at(-1)).toBe('3 passed, 1 failed');
  expect(code).toBe(1);
});
