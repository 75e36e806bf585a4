// A fault planted into the texts of scripts, which the simulation must find.
import type { LuaScriptName } from '#queue/lua.generated.js';
import type { Part } from '../parts.js';

/** A change of the text of some scripts, in each place where the words stand. */
export interface Edit {
  /** Undefined for all scripts with these words. */
  readonly scripts: readonly LuaScriptName[] | undefined;
  readonly from: string;
  readonly to: string;
}

export interface Plant {
  /** The invariant that it breaks. */
  readonly breaks: string;
  /** The part of the library that it is in, or the parts that show it. Undefined if every run exercises it. */
  readonly part?: Part | readonly Part[];
  readonly edits: readonly Edit[];
}

/** Returns an edit. @param scripts their names, with blanks between; '*' for all with these words */
export function edit(scripts: string, from: string, to: string): Edit {
  return { scripts: scripts === '*' ? undefined : (scripts.split(' ') as LuaScriptName[]), from, to };
}

export function plant(breaks: string, part: Plant['part'], ...edits: readonly Edit[]): Plant {
  return { breaks, ...(part !== undefined && { part }), edits };
}

/** Returns the text of a script with its faults. Words that are not in it change nothing. */
export function editedText(text: string, script: LuaScriptName, edits: readonly Edit[]): string {
  return edits.reduce(
    (edited, { scripts, from, to }) =>
      scripts?.includes(script) === false ? edited : edited.replaceAll(from, () => to),
    text,
  );
}
