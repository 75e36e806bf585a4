// Counts the instructions of redis-server for one call of a plain and of a grouped job: enqueue, claim, complete. Then for a
// job in calls of 50, while 50 others run. These are plain, of 100, and of 1,000 groups of one slot. Counts of two runs differ by less
// than 1 %, on a busy machine too. Fewer calls would see more or less of the garbage collector of Lua. Needs valgrind.
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

/** The jobs of a call, and the calls, where many travel together. */
const TOGETHER = 50;
const CALLS_OF_MANY = 30;
const WAITING = 2_000;

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

/** Returns the instructions for each job in calls of many, while as many others run. */
async function measureMany({ JobQueue }, server, name, groups) {
  const queue = new JobQueue(server.redis, name, { visibilityMs: 3_600_000, enqueueTimeoutMs: 120_000 });
  if (groups > 0) await queue.limits.set({ groups: { maxRunning: 1 } });
  let made = 0;
  const make = () => {
    const number = made++;
    const payload = { to: `user-${number}@example.com`, number };
    return groups > 0 ? { payload, group: `g${number % groups}` } : { payload };
  };
  const enqueue = (count) => queue.enqueueMany(Array.from({ length: count }, make));
  const running = [];
  const steps = {
    enqueue: () => enqueue(TOGETHER),
    claim: async () => running.push(await queue.claimMany(TOGETHER)),
    complete: (jobs = running.shift()) =>
      queue.exec((calls) => calls.complete(jobs.map((job) => ({ ...job, result: 'null' })))),
  };
  await enqueue(WAITING);
  await steps.claim();
  const figures = { enqueue: 0, claim: 0, complete: 0 };
  for (let call = -2; call < CALLS_OF_MANY; call++) {
    for (const step of CALLS) {
      await server.count();
      await steps[step]();
      if (call >= 0) figures[step] += await server.count(); // the first calls load the scripts
    }
  }
  queue.close();
  return Object.fromEntries(CALLS.map((call) => [call, Math.round(figures[call] / CALLS_OF_MANY / TOGETHER)]));
}

async function measureCheckout(checkout) {
  const core = await loadCore(checkout);
  const server = await startCounted(core.Redis);
  try {
    const plain = await measure(core, server, 'plain', () => ({}));
    const grouped = await measure(core, server, 'grouped', (i) => ({ group: `g${i % 100}` }));
    const many = {};
    for (const groups of [0, 100, 1_000]) {
      const kind = groups === 0 ? 'many plain' : `many of ${groups} groups`;
      many[kind] = await measureMany(core, server, `many-${groups}`, groups);
    }
    return { plain, grouped, ...many };
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
for (const kind of Object.keys(results[0].instructions)) {
  for (const call of CALLS) {
    const counts = results.map(({ commit, instructions }) => `${commit} ${instructions[kind][call]}`);
    console.log(`${kind} ${call}: ${counts.join(', ')}`);
  }
}
if (options.json)
  writeFileSync(options.json, `${JSON.stringify({ unit: 'instructions per call', results }, null, 2)}\n`);
