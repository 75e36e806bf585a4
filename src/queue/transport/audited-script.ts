import { clusterScripts, luaScripts, transitions, type LuaScriptName } from '../lua.generated.js';
import { keptIn } from '../runtime/collections.js';
import { scriptText, sha1 } from './late-files.js';

/** What a call writes beside its own changes: the audit trail, the outcomes of jobs, or both. */
export interface AuditMark {
  /** The stream of the trail, and both keys of outcomes. */
  keys: readonly [stream: string, a: string, b: string];
  /** The approximate maximum of its entries. Absent: no trail. */
  maxEntries?: number;
  /** The bounds of the outcomes. Absent: none are written. */
  outcomes?: { cap: number; ageMs: number };
}

interface AuditedScript {
  sha: string;
  text: string;
}

const made = new Map<string, AuditedScript>();

/**
 * Returns a script inside the frame of `lua/audit/frame.lua`, which writes its transitions down. Made at its first use.
 *
 * @throws FilesReplacedError
 */
export function auditedScript(name: LuaScriptName, sharded = false): AuditedScript {
  return keptIn(made, `${name} ${sharded}`, () => {
    for (const part of [name, 'auditFrame'] as const) scriptText(part, sharded);
    const text = framed(name, sharded ? clusterScripts : luaScripts);
    return { text, sha: sha1(text) };
  });
}

/** Returns whether a script can change the status of a job, or delete a job, as its header declares. */
export function changesJobs(name: LuaScriptName): boolean {
  return transitions[name] !== undefined;
}

/** Returns the last arguments of a script inside the frame. */
export function frameArguments({ maxEntries, outcomes }: AuditMark): string[] {
  return [maxEntries ?? '', outcomes?.cap ?? '', outcomes?.ageMs ?? ''].map(String);
}

/** Returns one of these scripts inside the audit frame of the same set. */
export function framed(name: LuaScriptName, scripts: Readonly<Record<LuaScriptName, string>>): string {
  const transition = transitions[name];
  if (transition === undefined) {
    throw new TypeError(`The script ${name} declares no transition.`);
  }
  const [flags, script] = parted(scripts[name]);
  const [, frame] = parted(scripts.auditFrame);
  return flags + frame.replace('TRANSITION', transition).replace('SCRIPT()', () => script);
}

/** Splits off the first line, because Redis reads the flags only from there. */
function parted(text: string): [flags: string, rest: string] {
  const end = text.indexOf('\n') + 1;
  return [text.slice(0, end), text.slice(end)];
}
