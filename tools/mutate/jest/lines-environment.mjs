// The environment of a run that records for each test file which lines of the scripts it reaches: see lua-lines.ts. A file of
// own-environment.mjs is not recorded, because it loads the library anew.
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import SharedEnvironment from '../../../test/support/shared-environment.mjs';

export default class LinesEnvironment extends SharedEnvironment {
  constructor(config, context) {
    super(config, context);
    this.file = relative(config.projectConfig.rootDir, context.testPath);
  }

  async setup() {
    await super.setup();
    globalThis.luaLines = new Set();
    this.startedAt = performance.now();
  }

  async teardown() {
    const seconds = (performance.now() - this.startedAt) / 1_000;
    const record = { file: this.file, seconds, lines: [...globalThis.luaLines].map((line) => line.slice(1)) };
    writeFileSync(join(process.env.LUA_LINES, `${this.file.replaceAll('/', '+')}.json`), JSON.stringify(record));
    await super.teardown();
  }
}
