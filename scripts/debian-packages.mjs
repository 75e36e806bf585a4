// Unpacks packages of Debian into a folder. Needs neither root nor an installation.
import { execFile } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Downloads packages and unpacks them into one folder.
 *
 * @param isUsable whether the folder has what is needed; another process may have made it meanwhile
 * @param suite the suite of Debian, such as `trixie`; default: that of this machine
 */
export async function unpackPackages(packages, folder, isUsable, suite) {
  for (const tool of ['apt-get', 'dpkg-deb']) {
    if (onPath(tool) === undefined) throw new Error(`Fetching a Debian package needs ${tool}, which is missing.`);
  }
  mkdirSync(dirname(folder), { recursive: true });
  // Next to its final place, so that the rename is atomic: several processes may download at once.
  const work = mkdtempSync(`${folder}-download-`);
  try {
    await downloadPackages(packages, work, suite);
    const root = join(work, 'root');
    for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
      await run('dpkg-deb', ['-x', join(work, file), root]);
    }
    try {
      renameSync(root, folder);
    } catch (error) {
      // Another process was first; its copy is as good. A copy that cannot be used is replaced.
      if (!isUsable()) {
        rmSync(folder, { recursive: true, force: true });
        renameSync(root, folder);
      } else if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    }
  } catch (error) {
    throw new Error(`Fetching the Debian package failed: ${error.stderr || error.message}`, { cause: error });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function downloadPackages(packages, work, suite) {
  const get = (options) => run('apt-get', [...options, 'download', ...packages], { cwd: work });
  const state = join(work, 'state');
  const cache = join(work, 'cache');
  mkdirSync(join(state, 'lists/partial'), { recursive: true });
  mkdirSync(join(cache, 'archives/partial'), { recursive: true });
  // Root may own the folder, but apt's own unprivileged user could not write there.
  const sandbox = ['-o', 'APT::Sandbox::User=root', '-o', `Dir::Cache=${cache}`];
  const lists = suite === undefined ? [] : listsOf(suite, work);
  try {
    if (suite !== undefined) throw new Error('the lists of this machine are of another suite');
    await get(sandbox);
  } catch {
    // No lists, or stale ones: fetch lists of our own, and leave the system's alone.
    const own = [
      ...sandbox,
      ...lists,
      '-o',
      `Dir::State=${state}`,
      '-o',
      'Dir::State::status=/var/lib/dpkg/status',
    ];
    await run('apt-get', [...own, 'update']);
    await get(own);
  }
}

/** Returns the options of apt that name a suite as its only source. */
function listsOf(suite, work) {
  const file = join(work, 'sources.list');
  const key = '/usr/share/keyrings/debian-archive-keyring.gpg';
  writeFileSync(file, `deb [signed-by=${key}] http://deb.debian.org/debian ${suite} main\n`);
  return ['-o', `Dir::Etc::sourcelist=${file}`, '-o', 'Dir::Etc::sourceparts=-'];
}

/** Returns the path of a program on the PATH; undefined if there is none. */
export function onPath(name) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return existsSync(path) && statSync(path).isFile();
  } catch {
    return false;
  }
}
