// The compiled scripts of the process, by their texts.
import vm from 'node:vm';
import { keptIn } from '../../queue/runtime/collections.js';
import { codeOfCompiler, compileLua, type ScriptFactory } from './compile.js';
import type { CheckCommand } from './runtime.js';

const KEPT = Symbol.for('nest-job-queue:compiled-scripts');

/** The most compiled scripts. There are fewer texts than this, but a test may make its own. */
const MOST_KEPT = 1_000;

/**
 * Returns the factory of a script, compiled when its text is first wanted in the process. Jest loads this module anew for
 * each test file. So the compiled scripts are kept on a module of Node. Their code is in no realm of a test file.
 *
 * @param name shown in stacks and by the coverage of V8
 * @throws LuaSubsetError for a script outside of the subset
 */
export function scriptFactory(text: string, name: string, checkCommand: CheckCommand): ScriptFactory {
  const keeper = vm as { [KEPT]?: Map<string, Map<string, ScriptFactory>> };
  keeper[KEPT] ??= new Map();
  // Another version of this library in the process may compile otherwise.
  const kept = keptIn(keeper[KEPT], codeOfCompiler(), () => new Map<string, ScriptFactory>());
  const compile = () =>
    vm.runInThisContext(compileLua(text, checkCommand, false), { filename: `lua:${name}` }) as ScriptFactory;
  return keptIn(kept, text, compile, MOST_KEPT);
}
