// The environment of a run that records for each test file which scripts it calls and which sources it executes. A file
// of own-environment.mjs is not recorded, because it loads the library anew.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import SharedEnvironment from '../../test/support/shared-environment.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = join(root, '.cache/mutate/records');

const { sendCommand } = Redis.prototype;
const session = new Session();
let digests = new Set();
let coverage;

Redis.prototype.sendCommand = function recorded(command, ...rest) {
  if (command.name === 'evalsha') digests.add(String(command.args[0]));
  if (command.name === 'eval') digests.add(createHash('sha1').update(String(command.args[0])).digest('hex'));
  return sendCommand.call(this, command, ...rest);
};

async function begin() {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
}

/** Returns the sources of which a function ran since the last call. Loading a source is not counted. */
async function executed() {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith('file:') && url.includes('/src/'))
    .filter(({ functions }) => functions.some(({ functionName, ranges }) => functionName && ranges[0].count > 0))
    .map(({ url }) => relative(root, fileURLToPath(url)));
}

export default class RecordingEnvironment extends SharedEnvironment {
  constructor(config, context) {
    super(config, context);
    this.file = relative(root, context.testPath);
  }

  async setup() {
    await super.setup();
    await (coverage ??= begin());
    await executed();
    digests = new Set();
    this.startedAt = performance.now();
  }

  async teardown() {
    const seconds = (performance.now() - this.startedAt) / 1_000;
    const record = { file: this.file, seconds, digests: [...digests], sources: await executed() };
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${this.file.replaceAll('/', '+')}.json`), JSON.stringify(record));
    await super.teardown();
  }
}
