// The texts of the scripts, for one server and for a Cluster, and which of them a mutant changes.
import type { LuaScriptName } from '#queue/lua.generated.js';
import { changesJobs, framed } from '#queue/transport/audited-script.js';
import { inCluster } from './jest/script-digest.mjs';

type Scripts = Readonly<Record<LuaScriptName, string>>;

export interface Texts {
  readonly scripts: Scripts;
  /** The texts for a Cluster of the scripts that have another one there. */
  readonly clusterScripts: Readonly<Partial<Scripts>>;
}

/** The right text of a script, and the changed one. */
export type ExchangedScript = readonly [right: string, changed: string];

/** Returns the names of the scripts that a mutant changes. The text for a Cluster has a name of its own. */
export function changedNames(right: Texts, changed: Texts): Set<string> {
  const names = Object.keys(right.scripts) as LuaScriptName[];
  return new Set([
    ...names.filter((name) => right.scripts[name] !== changed.scripts[name]),
    ...names.filter((name) => right.clusterScripts[name] !== changed.clusterScripts[name]).map(inCluster),
  ]);
}

/** Returns the changed scripts in each form in which they are sent: bare, without flags, and with the audit trail. */
export function exchangedScripts(right: Texts, changed: Texts): ExchangedScript[] {
  return [
    ...exchangedOf(right.scripts, changed.scripts),
    ...exchangedOf(
      { ...right.scripts, ...right.clusterScripts },
      { ...changed.scripts, ...changed.clusterScripts },
    ),
  ];
}

function exchangedOf(right: Scripts, changed: Scripts): ExchangedScript[] {
  const isFrameChanged = right.auditFrame !== changed.auditFrame;
  return (Object.keys(right) as LuaScriptName[]).flatMap((name) => {
    const isChanged = right[name] !== changed[name];
    const forms: ((scripts: Scripts) => string)[] = [];
    if (isChanged)
      forms.push(
        (scripts) => scripts[name],
        (scripts) => scripts[name].replace(/^#!.*\n/, ''),
      );
    if ((isChanged || isFrameChanged) && changesJobs(name)) forms.push((scripts) => framed(name, scripts));
    return forms.map((form): ExchangedScript => [form(right), form(changed)]);
  });
}
