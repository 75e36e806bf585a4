// What the package loads late: the texts of the scripts, and code that no boot, enqueue or plain job runs. A deploy may replace
// these files under a running process.
import { createHash } from 'node:crypto';
import { clusterDigests, scriptDigests } from '../digests.generated.js';
import { FilesReplacedError } from '../errors/errors.js';
import { clusterScripts, luaScripts, type LuaScriptName } from '../lua.generated.js';

/** The digests whose texts were checked. A durable enqueue sends a text each time. */
const checked = new Set<string>();

/** Notes and returns the digest of a text that has none. Whoever replaces a text drops its digest. */
export function newDigest(name: LuaScriptName, isSharded: boolean): string {
  const digest = sha1(loadedText(name, isSharded));
  (isSharded ? clusterDigests : scriptDigests)[name] = digest;
  return digest;
}

/**
 * Returns the text of a script. The texts load late, so their file may be that of another version by then.
 *
 * @throws FilesReplacedError if the text is missing, or is not that of the digest
 */
export function scriptText(name: LuaScriptName, isSharded: boolean): string {
  const text = loadedText(name, isSharded);
  const digest = (isSharded ? clusterDigests : scriptDigests)[name];
  if (digest !== undefined && !checked.has(digest)) {
    if (sha1(text) !== digest) throw new FilesReplacedError(`another text of the script ${name}`);
    checked.add(digest);
  }
  return text;
}

function loadedText(name: LuaScriptName, isSharded: boolean): string {
  let text: string | undefined;
  try {
    text = (isSharded ? clusterScripts : luaScripts)[name];
  } catch (cause) {
    throw new FilesReplacedError('no texts of the scripts', { cause });
  }
  if (text === undefined) {
    throw new FilesReplacedError(`no script ${name}`);
  }
  return text;
}

/** Returns the digest of a text, as Redis makes it. */
export function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

/** Long enough for the boot of an app, short enough that no deploy replaces the files meanwhile. */
const DELAY_MS = 2_000;

/** The time between two files, in which the event loop is free. */
const APART_MS = 100;

/** The loaders of the late files. The build fills the list: see scripts/build/late-modules.mjs. */
const LATE_FILES: (() => unknown)[] = [];

let isAsked = false;

/**
 * Loads the late files of the package a moment later. So no file of a later version meets this process. Does nothing in
 * Jest, which reports a file that is loaded behind the end of a test.
 */
export function loadLateFiles(): void {
  if (isAsked || process.env.JEST_WORKER_ID !== undefined) return;
  isAsked = true;
  LATE_FILES.forEach((load, i) => setTimeout(() => tryToLoad(load), DELAY_MS + i * APART_MS).unref());
}

function tryToLoad(load: () => unknown): void {
  try {
    load();
  } catch {
    // The first use of the file throws the error again.
  }
}
