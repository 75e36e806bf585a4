// The packed library of an earlier commit, which runs beside the current one during a deploy.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '../../..');
const fixtures = join(root, 'tools/chaos/fixtures');
/** The package that the fault suite deploys beside the newest. */
const DEPLOYED = 'nest-job-queue-1c26e90.tgz';

export interface EarlierPackage {
  version: string;
  commit: string;
  /** The URL of its folder of modules, which ends in a slash. */
  url: string;
}

/** Returns all packed earlier versions, the oldest first. */
export function earlierPackages(): EarlierPackage[] {
  const tarballs = readdirSync(fixtures).filter((name) => name.endsWith('.tgz'));
  return tarballs.toSorted().map((tarball) => {
    const url = earlierVersion(tarball);
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', url), 'utf8')) as {
      version: string;
      gitHead: string;
    };
    return { version: manifest.version, commit: manifest.gitHead, url };
  });
}

/**
 * Returns the URL of its folder of modules, which ends in a slash. It is unpacked once, where the project's packages
 * are found.
 */
export function earlierVersion(name: string = DEPLOYED): string {
  const tarball = join(fixtures, name);
  const cache = join(root, '.cache');
  const digest = createHash('sha1').update(readFileSync(tarball)).digest('hex');
  const folder = join(cache, `earlier-version-${digest.slice(0, 12)}`);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    const own = mkdtempSync(join(cache, 'earlier-version-'));
    execFileSync('tar', ['-xzf', tarball, '-C', own]);
    putInPlace(own, folder);
  }
  return pathToFileURL(join(folder, 'package/dist/esm/')).href;
}

/** Returns the digest of one of its scripts in Redis. */
export async function earlierDigest(script: string): Promise<string> {
  const url = `${earlierVersion()}queue/lua.generated.js`;
  const { luaScripts } = (await import(url)) as { luaScripts: Record<string, string> };
  const text = luaScripts[script];
  if (text === undefined) throw new Error(`${script}: expected a script of the earlier version, found none`);
  return createHash('sha1').update(text).digest('hex');
}

/** Moves an unpacked version into its folder. Several processes may do it at once, and the first one's stays. */
function putInPlace(own: string, folder: string): void {
  try {
    renameSync(own, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(own, { recursive: true });
  }
}
