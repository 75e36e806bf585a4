// The environment of a run that records for each test file which scripts it calls. A file of own-environment.mjs is not
// recorded, because it loads the library anew.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { inCluster, scriptDigest } from './jest/script-digest.mjs';
import SharedEnvironment from '../../test/support/shared-environment.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = join(root, '.cache/mutate/records');

const { sendCommand } = Redis.prototype;
let digests = new Set();

Redis.prototype.sendCommand = function recorded(command, ...rest) {
  if (command.name === 'evalsha') digests.add(String(command.args[0]));
  if (command.name === 'eval') digests.add(scriptDigest(String(command.args[0])));
  return sendCommand.call(this, command, ...rest);
};

/** Returns the names of the scripts of some digests, with and without the audit trail. The next commit may change digests. */
async function namesOf(called) {
  await import('../../test/support/typescript.mjs');
  const { clusterScripts, luaScripts } = await import('../../src/queue/lua.generated.ts');
  const { auditedScript, changesJobs } = await import('../../src/queue/transport/audited-script.ts');
  return [false, true].flatMap((sharded) => {
    const texts = sharded ? clusterScripts : luaScripts;
    const own = (name) => (texts[name] === luaScripts[name] ? name : inCluster(name));
    return Object.entries(texts).flatMap(([name, text]) => {
      const isFramed = changesJobs(name) && called.has(auditedScript(name, sharded).sha);
      const isBare = [text, text.replace(/^#!.*\n/, '')].some((form) => called.has(scriptDigest(form)));
      return [...(isBare || isFramed ? [own(name)] : []), ...(isFramed ? [own('auditFrame')] : [])];
    });
  });
}

export default class RecordingEnvironment extends SharedEnvironment {
  constructor(config, context) {
    super(config, context);
    this.file = relative(root, context.testPath);
  }

  async setup() {
    await super.setup();
    digests = new Set();
    this.startedAt = performance.now();
  }

  async teardown() {
    const seconds = (performance.now() - this.startedAt) / 1_000;
    const record = { file: this.file, seconds, scripts: [...new Set(await namesOf(digests))] };
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${this.file.replaceAll('/', '+')}.json`), JSON.stringify(record));
    await super.teardown();
  }
}
