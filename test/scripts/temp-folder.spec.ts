import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { openTempFolder } from '../support/run/temp-folder.mjs';

it('a run leaves the temporary folder empty, and removes files of a killed run', () => {
  const before = process.env.TMPDIR;
  const shared = mkdtempSync(join(tmpdir(), 'shared-'));
  const { pid } = spawnSync(process.execPath, ['--version']); // has ended
  const [killed, other] = [`nest-job-queue-tests-${pid}`, `nest-job-queue-tests-${process.ppid}`];
  [killed, other, 'of-a-user'].forEach((name) => mkdirSync(join(shared, name, 'rules-x'), { recursive: true }));
  try {
    const { folder, close } = openTempFolder(shared);
    expect(process.env.TMPDIR).toBe(folder);
    mkdtempSync(join(folder, 'rules-'));
    expect(existsSync(join(shared, killed))).toBe(false);
    close();
    expect(process.env.TMPDIR).toBe(shared);
    expect(readdirSync(shared).toSorted()).toEqual([other, 'of-a-user'].toSorted());
  } finally {
    process.env.TMPDIR = before;
  }
});
