// A process that runs test files for one mutant after another. It loads jest and the library once. A changed script is
// put in place of the right one when that is sent. So a mutant of a script needs no process of its own.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { runCLI } from 'jest';
import { scriptDigest } from './script-digest.mjs';
import setUp from '../../../test/support/run/global-setup.mjs';

const config = fileURLToPath(new URL('jest.config.mjs', import.meta.url));

let exchanged = new Map();
let isSent = false;

const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function exchange(command, ...rest) {
  if (exchanged.size > 0) exchangeScript(command);
  return sendCommand.call(this, command, ...rest);
};

/** Puts the digest or the text of a changed script in place of the right one. */
function exchangeScript({ name, args }) {
  if (name !== 'evalsha' && name !== 'eval') return;
  const script = exchanged.get(name === 'eval' ? scriptDigest(String(args[0])) : String(args[0]));
  if (script === undefined) return;
  args[0] = name === 'eval' ? script.text : script.digest;
  isSent = true;
}

process.on('message', (run) => void runTests(run));
process.on('disconnect', () => process.exit());

async function runTests({ files, scripts }) {
  exchanged = new Map(scripts.map(([digest, text]) => [digest, { digest: scriptDigest(text), text }]));
  isSent = false;
  globalThis.mutateRun = { files, onEnd: () => process.send({ isAlive: true }) };
  await runCLI({ $0: '', _: files, config, runTestsByPath: true, runInBand: true, silent: true }, [process.cwd()]);
  const { failed } = globalThis.mutateRun;
  process.send(failed ? { failed: relative(process.cwd(), failed.path), test: failed.test } : { isSent });
}

await setUp();
// Loaded before a mutant is in its place, so that the scripts to exchange are the right ones.
await import('../../../test/support/typescript.mjs');
await import('../../../src/index.ts');
process.send({ isReady: true });
