// The environment of a run that notes which lines of the scripts each process reaches: see lua-lines.ts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import SharedEnvironment from '../../../test/support/shared-environment.mjs';

export default class LinesEnvironment extends SharedEnvironment {
  async teardown() {
    const lines = [...(globalThis.luaLines ?? [])];
    writeFileSync(join(process.env.LUA_LINES, String(process.pid)), lines.join('\n'));
    await super.teardown();
  }
}
