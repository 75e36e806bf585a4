import { createHash } from 'node:crypto';
import { luaScripts, type LuaScriptName } from '../lua.generated.js';

/** Where the transitions of a call are written down. */
export interface AuditMark {
  /** The key of the stream. */
  stream: string;
  /** How many entries it keeps, about. */
  maxEntries: number;
}

interface AuditedScript {
  sha: string;
  text: string;
}

const made = new Map<LuaScriptName, AuditedScript>();

/** Returns a script inside the frame of `lua/audit/frame.lua`, which writes its transitions down. Made at its first use. */
export function auditedScript(name: LuaScriptName): AuditedScript {
  let script = made.get(name);
  if (!script) {
    const text = framed(name);
    script = { text, sha: createHash('sha1').update(text).digest('hex') };
    made.set(name, script);
  }
  return script;
}

/** True for a script that can change the status of a job, or delete one. */
export function changesJobs(name: LuaScriptName): boolean {
  const text = luaScripts[name];
  return !text.startsWith('#!lua flags=no-writes') && /'status'|'UNLINK'/.test(text);
}

/** Returns the name of a transition in the trail: `deadLetterRedrive` is `redrive`. */
export function transitionOf(name: LuaScriptName): string {
  const verb = name.replace(/^(attempt|deadLetter|job|sweep|queue|schedule|batch|doctor|group)(?=[A-Z])/, '');
  return verb.replaceAll(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}

function framed(name: LuaScriptName): string {
  const [flags, script] = parted(luaScripts[name]);
  const [, frame] = parted(luaScripts.auditFrame);
  return flags + frame.replace('TRANSITION', transitionOf(name)).replace('SCRIPT()', () => script);
}

/** Redis reads the flags only from the very first line. */
function parted(text: string): [flags: string, rest: string] {
  const end = text.indexOf('\n') + 1;
  return [text.slice(0, end), text.slice(end)];
}
