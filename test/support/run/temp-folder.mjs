// One temporary folder for a run of the tests. All folders that tests make are in it, also those of their processes.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'nest-job-queue-tests-';

/** Makes the folder of this run in a shared one, and removes those of runs that were killed. */
export function openTempFolder(shared = tmpdir()) {
  for (const name of readdirSync(shared)) {
    if (name.startsWith(PREFIX) && !isAlive(Number(name.slice(PREFIX.length)))) remove(join(shared, name));
  }
  const folder = join(shared, `${PREFIX}${process.pid}`);
  mkdirSync(folder, { recursive: true });
  process.env.TMPDIR = folder; // the variable of os.tmpdir(), which workers and their processes inherit
  return {
    folder,
    close() {
      process.env.TMPDIR = shared;
      remove(folder);
    },
  };
}

/** Removes a folder. A process of a test may still end and write there. */
function remove(folder) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
