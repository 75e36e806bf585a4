// Each planted fault changes the text of a script, and a short run of a fleet finds it. test/long/faults/simulate.spec.ts has the
// faults that need a long run.
import { expect, it } from '@jest/globals';
import { clusterScripts, luaScripts, type LuaScriptName } from '#queue/lua.generated.js';
import { auditedScript, changesJobs } from '#queue/transport/audited-script.js';
import { someOf } from '../../../test/support/run/samples.js';
import { plants } from './plants.js';
import { find, LONGEST_DRAW_MS, plantsOf } from './soonest.js';

it.each(someOf(plantsOf('short'), 10))(
  'a simulated fleet finds a planted fault: %s',
  async (name, planted) => {
    expect((await find(name, planted)).seed).toBeGreaterThan(0);
  },
  LONGEST_DRAW_MS,
);

it.each(Object.entries(plants))('a planted fault is in the texts of its scripts: %s', (_, { edits }) => {
  const all = Object.keys(luaScripts) as LuaScriptName[];
  for (const { scripts, from } of edits) {
    const without = (scripts ?? all).filter((script) => !textsOf(script).some((text) => text.includes(from)));
    expect({ from, without }).toEqual({ from, without: scripts ? [] : expect.not.arrayContaining(all) });
  }
});

function textsOf(script: LuaScriptName): string[] {
  return [luaScripts[script], clusterScripts[script], ...(changesJobs(script) ? [auditedScript(script).text] : [])];
}
