// A process that runs test files for one mutant after another. It loads jest and the library once. A changed script is
// put in place of the right one when that is sent. So a mutant of a script needs no process of its own.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { runCLI } from 'jest';
import { ExchangedScripts } from './exchanged-scripts.mjs';
import setUp from '../../../test/support/run/global-setup.mjs';

const config = fileURLToPath(new URL('jest.config.mjs', import.meta.url));

let exchanged = new ExchangedScripts([]);
let active;
/** The mutants behind switches that a spec has reached. */
let reached = new Set();

globalThis.mutantOfRun = (index) => {
  reached.add(index);
  return index === active;
};

const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function exchange(command, ...rest) {
  exchanged.exchange(command);
  return sendCommand.call(this, command, ...rest);
};

process.on('message', (run) => void runTests(run));
process.on('disconnect', () => process.exit());

async function runTests({ files, scripts, mutant, ms = Infinity }) {
  active = mutant;
  if (mutant === undefined) delete process.env.MUTANT;
  else process.env.MUTANT = String(mutant);
  exchanged = new ExchangedScripts(scripts);
  reached = new Set();
  const onEnd = (path, seconds, hasPassed) => {
    process.send({ ended: relative(process.cwd(), path), seconds, hasPassed, reached: [...reached] });
    reached = new Set();
  };
  globalThis.mutateRun = { files, until: performance.now() + ms, onEnd };
  await runCLI({ $0: '', _: files, config, runTestsByPath: true, runInBand: true, silent: true }, [process.cwd()]);
  const { failed } = globalThis.mutateRun;
  process.send(
    failed ? { failed: relative(process.cwd(), failed.path), test: failed.test } : { isSent: exchanged.isSent },
  );
}

await setUp();
// Loaded before a mutant is in its place, so that the scripts to exchange are the right ones.
await import('../../../test/support/typescript.mjs');
await import('../../../src/index.ts');
process.send({ isReady: true });
