// node bench/slots/one-by-one.mjs: takes apart one enqueue after the other, and one job at a time without prefetch. Each
// is compared with a PING, an empty script, and a script that runs the same commands. Prints the tables of
// docs/internals/performance.md. Needs `npm run build`, and `npm ci` in bench.
import { Redis } from 'ioredis';
import { startRedisServer } from '../../scripts/redis/redis-server.mjs';
import { payload } from '../fleet/payload.mjs';
import { loadPeer } from '../peers/index.mjs';
import { median } from '../report/stats.mjs';

const CALLS = 3_000;
const ROUNDS = 5;
/** The first rounds, whose code is not compiled yet. */
const WARM_UP = 3;

const server = await startRedisServer();
const redis = new Redis(server.url, { maxRetriesPerRequest: null });

/** Returns the CPU time of the server, and the part in which it ran commands, in µs. */
async function serverUs() {
  const [cpu, stats] = [await redis.info('cpu'), await redis.info('commandstats')];
  const used = [...cpu.matchAll(/^used_cpu_(?:sys|user)_main_thread:([\d.]+)/gm)].map(([, s]) => Number(s) * 1e6);
  const commands = [...stats.matchAll(/^cmdstat_(\S+):calls=(\d+),usec=(\d+)/gm)];
  const usOf = commands.filter(([, name]) => !/^(?:info|flushall|monitor)/.test(name));
  const scripts = usOf.filter(([, name]) => /^(?:evalsha|eval|fcall)$/.test(name));
  const sum = (list) => list.reduce((total, [, , , us]) => total + Number(us), 0);
  return { cpuUs: used[0] + used[1], commandUs: sum(scripts.length > 0 ? scripts : usOf) };
}

/** Measures one call after the other. Returns µs for each call. */
async function measure(run, calls) {
  await redis.config('RESETSTAT');
  const [server, cpu, started] = [await serverUs(), process.cpuUsage(), performance.now()];
  await run(calls);
  const [us, used] = [(performance.now() - started) * 1_000, process.cpuUsage(cpu)];
  const after = await serverUs();
  const each = (total) => total / calls;
  return {
    us: each(us),
    serverUs: each(after.cpuUs - server.cpuUs),
    commandUs: each(after.commandUs - server.commandUs),
    nodeUs: each(used.user + used.system),
  };
}

/** Returns the commands that scripts run meanwhile, as MONITOR shows them. */
async function commandsOf(run) {
  const monitor = await redis.monitor();
  const commands = [];
  monitor.on('monitor', (_, args, source) => void (source === 'lua' && commands.push(args)));
  await run();
  await redis.ping();
  await new Promise((resolve) => setTimeout(resolve, 50));
  monitor.disconnect();
  return commands;
}

/** Returns a script with the commands, of another job in each call: `id` is replaced. */
function scriptOf(commands, id) {
  const text = (arg) => JSON.stringify(arg).replaceAll(id, '"..ARGV[1].."');
  return commands.map((args) => `redis.call(${args.map(text).join(',')})`).join('\n');
}

const inTurn = (call) => async (count) => {
  for (let i = 0; i < count; i++) await call(i);
};

async function scriptCalls(source) {
  const sha = await redis.script('LOAD', source);
  return inTurn((i) => redis.evalsha(sha, 0, `n${i}`));
}

/** Returns the ways to measure an enqueue. */
async function enqueues() {
  const ways = new Map([
    ['PING', inTurn(() => redis.ping())],
    ['an empty script', await scriptCalls('return 1')],
  ]);
  for (const [id, name] of [
    ['self', 'ours'],
    ['bee-queue', 'bee-queue'],
  ]) {
    const session = await (
      await loadPeer(id)
    ).open({ url: server.url, queue: `one-${id}`, keep: 1_000, events: false });
    await session.enqueueOne(payload(0));
    const commands = await commandsOf(() => session.enqueueOne(payload(1)));
    const jobId = commands.map((args) => /[:/]job:(.+)$/.exec(args[1] ?? '')?.[1]).find(Boolean) ?? 'no id';
    ways.set(`${commands.length} commands of ${name}`, await scriptCalls(scriptOf(commands, jobId)));
    ways.set(
      name,
      inTurn((i) => session.enqueueOne(payload(i))),
    );
  }
  return ways;
}

/** Returns the ways to measure a job at a time, without prefetch. */
async function jobs() {
  const ways = new Map();
  for (const [id, name] of [
    ['self', 'ours'],
    ['groupmq', 'groupmq'],
  ]) {
    const peer = await loadPeer(id);
    ways.set(name, async (count) => {
      const session = await peer.open({ url: server.url, queue: `jobs-${id}`, keep: 1_000, events: false });
      await session.enqueueBulk(Array.from({ length: count }, (_, i) => payload(i)));
      let [ended, left] = [undefined, count];
      const done = new Promise((resolve) => (ended = resolve));
      const handler = async () => void (--left === 0 && ended());
      const worker = await session.prepareWorker({ concurrency: 1, prefetch: 0, handler, heldBack: true });
      return {
        async run() {
          worker.start();
          await done;
        },
        async end() {
          await worker.stop();
          await session.close();
        },
      };
    });
  }
  return ways;
}

function print(title, rows) {
  console.log(
    `\n| ${title} | µs | of them in commands | CPU of Redis, µs | CPU of Node, µs |\n| --- | --- | --- | --- | --- |`,
  );
  for (const [name, runs] of rows) {
    const of = (key) => median(runs.map((run) => run[key])).toFixed(1);
    console.log(`| ${name} | ${['us', 'commandUs', 'serverUs', 'nodeUs'].map(of).join(' | ')} |`);
  }
}

async function rounds(ways, once) {
  const rows = new Map([...ways.keys()].map((name) => [name, []]));
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [name, way] of ways) {
      const figures = await once(way);
      if (round >= 0) rows.get(name).push(figures);
    }
  }
  return rows;
}

print('one call after the other', await rounds(await enqueues(), (run) => measure(run, CALLS)));
const processed = await rounds(await jobs(), async (prepare) => {
  await redis.flushall();
  const { run, end } = await prepare(CALLS);
  const figures = await measure(run, CALLS);
  await end();
  return figures;
});
print('one job after the other, `prefetch: 0`', processed);
redis.disconnect();
await server.stop();
process.exit();
