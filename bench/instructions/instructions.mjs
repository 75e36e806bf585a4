// Counts the instructions of redis-server for one call of a plain and of a grouped job: enqueue, claim, complete. Counts of
// two runs differ by less than 1 %, on a busy machine too. Fewer calls would see more or less of the garbage collector of
// Lua. Needs valgrind.
//
//   node bench/instructions/instructions.mjs [--beside CHECKOUT] [--json FILE]
//
// A checkout needs `npm ci` and `npm run embed`.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { findRedisServer, freePort } from '../../scripts/redis/redis-server.mjs';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** The calls before the count, so that the scripts are loaded. */
const WARM_UP = 50;
const COUNTED = 1500;
const CALLS = ['enqueue', 'claim', 'complete'];

const { values: options } = parseArgs({ options: { beside: { type: 'string' }, json: { type: 'string' } } });

/** Loads the core of a checkout from its sources. */
async function loadCore(checkout) {
  const file = join(checkout, '.cache', 'instructions', 'core.mjs');
  const bundle = await rolldown({
    input: join(checkout, 'src/core.ts'),
    platform: 'node',
    external: (id) => !id.startsWith('.') && !id.startsWith('/'),
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  });
  await bundle.write({ file, format: 'esm', codeSplitting: false });
  const { Redis } = createRequire(join(checkout, 'package.json'))('ioredis');
  return { ...(await import(pathToFileURL(file).href)), Redis };
}

/** Starts redis-server under callgrind. `count` returns the instructions since its last call. */
async function startCounted(Redis) {
  const { server, env } = await findRedisServer();
  const folder = mkdtempSync(join(tmpdir(), 'instructions-'));
  const port = await freePort();
  // Only while a command is processed: the server's timers would count the time.
  const counted = ['--toggle-collect=processCommand', `--callgrind-out-file=${join(folder, 'out')}`];
  const settings = ['--port', `${port}`, '--save', '', '--appendonly', 'no', '--hz', '1', '--dynamic-hz', 'no'];
  const child = spawn('valgrind', ['--tool=callgrind', ...counted, server, ...settings], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  const redis = new Redis(port, '127.0.0.1', { retryStrategy: () => 200, maxRetriesPerRequest: null });
  redis.on('error', () => undefined); // it is not up yet
  await redis.ping();
  const totalOf = (file) => Number(/^(?:totals|summary): (\d+)/m.exec(readFileSync(join(folder, file), 'utf8'))[1]);
  let dumps = 0;
  return {
    redis,
    async count() {
      await run('callgrind_control', ['-d', `${child.pid}`]);
      dumps++;
      const file = readdirSync(folder).find((name) => name.endsWith(`.${dumps}`));
      return totalOf(file);
    },
    async stop() {
      redis.disconnect();
      child.kill('SIGTERM');
      await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the instructions of each call of one job. */
async function measure({ JobQueue }, server, name, enqueueOptions) {
  const queue = new JobQueue(server.redis, name, { visibilityMs: 3_600_000 });
  const claimed = [];
  const steps = {
    enqueue: (i) => queue.enqueue({ to: `user-${i}@example.com`, number: i }, enqueueOptions(i)),
    claim: async () => claimed.push(await queue.claim()),
    complete: () => queue.complete(claimed.shift()),
  };
  const times = async (count, step) => {
    for (let i = 0; i < count; i++) await steps[step](i);
  };
  for (const call of CALLS) await times(WARM_UP, call);
  const figures = {};
  for (const call of CALLS) {
    await server.count();
    await times(COUNTED, call);
    figures[call] = Math.round((await server.count()) / COUNTED);
  }
  queue.close();
  return figures;
}

async function measureCheckout(checkout) {
  const core = await loadCore(checkout);
  const server = await startCounted(core.Redis);
  try {
    const plain = await measure(core, server, 'plain', () => ({}));
    const grouped = await measure(core, server, 'grouped', (i) => ({ group: `g${i % 100}` }));
    return { plain, grouped };
  } finally {
    await server.stop();
  }
}

async function commitOf(checkout) {
  const { stdout } = await run('git', ['-C', checkout, 'rev-parse', '--short=8', 'HEAD']);
  return stdout.trim();
}

const checkouts = [...(options.beside === undefined ? [] : [resolve(options.beside)]), root];
const results = [];
for (const checkout of checkouts) {
  results.push({ commit: await commitOf(checkout), instructions: await measureCheckout(checkout) });
}
for (const kind of ['plain', 'grouped']) {
  for (const call of CALLS) {
    const counts = results.map(({ commit, instructions }) => `${commit} ${instructions[kind][call]}`);
    console.log(`${kind} ${call}: ${counts.join(', ')}`);
  }
}
if (options.json)
  writeFileSync(options.json, `${JSON.stringify({ unit: 'instructions per call', results }, null, 2)}\n`);
