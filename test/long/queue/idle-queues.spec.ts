// What thousands of idle queues cost Redis, of one process and of ten, by kind. test/worker/fetch/idle-cost.spec.ts bounds
// the first seconds of hundreds.
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, expect, it } from '@jest/globals';
import { scriptDigests } from '#queue/digests.generated.js';
import { JobQueue } from '#queue/job-queue.js';
import { sleep } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { namedConnection, startWorker } from '../../support/worker/workers.js';

/** The time until each worker rests, or knows its fleet by the reply to its first repeated announcement, in ms. */
const SETTLED_MS = 75_000;

/** The interval of the rarest task of an idle queue, the check of its announcement, in ms. It has two notes. */
const MEASURED_MS = 120_000;

/** The kinds of calls. All others are of the daily sweep of an empty queue, and of its history. */
const KINDS: Readonly<Record<string, keyof Calls>> = {
  queueLook: 'looks',
  sweepHold: 'looks',
  bzpopmin: 'waits',
  workerRenew: 'announcements',
  sweepNoteIdle: 'notes',
  hmget: 'opened',
};

/**
 * The calls of each kind. `opened` counts the queues that a process opens one by one, once, when it maintains for the first
 * time.
 */
interface Calls {
  looks: number;
  waits: number;
  announcements: number;
  notes: number;
  sweeps: number;
  opened: number;
}

/**
 * The most that fleets of processes with the same idle queues send. `sent` counts commands a second without sweeps, and `sweeps`
 * the calls for sweeps a minute. A swept queue has about ten of them. `kilobytes` counts a second.
 */
const FLEETS = [
  { queues: 300, processes: 1, sent: 0.45, sweeps: 25, kilobytes: 18 },
  { queues: 300, processes: 10, sent: 3.4, sweeps: 25, kilobytes: 100 },
  { queues: 1_000, processes: 1, sent: 0.7, sweeps: 30, kilobytes: 40 },
  { queues: 1_000, processes: 10, sent: 5.4, sweeps: 30, kilobytes: 280 },
  { queues: 5_000, processes: 1, sent: 2.4, sweeps: 60, kilobytes: 190 },
];

/**
 * The most that scripts do. A process announces itself to a queue each 20 s by three commands. Each two minutes six more check
 * the announcement. A note has four commands for each queue, and each second note one more.
 */
const INSIDE = { announcements: 3.2, announced: 3.1, checks: 6.1, noted: 5.05, look: 5 };

const open: JobQueue[] = [];

afterAll(() => open.forEach((queue) => queue.close()));

it('sends few commands and bytes a second for thousands of idle queues, and does little inside scripts', async () => {
  const started: string[] = [];
  for (const fleet of FLEETS) {
    started.push(await startFleet(fleet)); // one after another, because thousands of queues keep this process busy
  }
  await sleep(SETTLED_MS);
  const costs = await Promise.all(started.map(costOn));
  expect(FLEETS.flatMap((fleet, i) => broken(fleet, costs[i]!))).toEqual([]);
}, 600_000);

type Fleet = (typeof FLEETS)[number];
type Cost = Awaited<ReturnType<typeof costOn>>;

/** Returns the bounds that a fleet does not keep, with what it costs. */
function broken(fleet: Fleet, { sent, inside, announced, checked, noted, bytes, seconds }: Cost): string[] {
  const { queues, processes } = fleet;
  const calls = sent.looks + sent.waits + sent.announcements + sent.notes;
  const plain = inside.announcements - INSIDE.checks * checked;
  const figures: Record<string, [found: number, most: number]> = {
    'commands a second': [calls / seconds, fleet.sent],
    'calls for sweeps a minute': [(60 * sent.sweeps) / seconds, fleet.sweeps],
    'openings of a queue by a process': [sent.opened / queues / processes, 1.01], // a sweep beside the note opens it as well
    'kilobytes a second': [bytes / 1_000 / seconds, fleet.kilobytes],
    'announcements of a queue by a process a minute': [
      (60 * announced) / queues / processes / seconds,
      INSIDE.announcements,
    ],
    'commands to announce a queue': [plain / announced, INSIDE.announced],
    'commands to note a queue': [inside.notes / noted, INSIDE.noted],
    'commands of a look': [inside.looks / sent.looks, INSIDE.look],
  };
  return Object.entries(figures)
    .filter(([, [found, most]]) => !(found <= most))
    .map(([name, [found, most]]) => `${queues} queues of ${processes}: ${found} ${name}, at most ${most}`);
}

/** Starts the processes of a fleet on a server of its own. Returns its URL. */
async function startFleet({ queues, processes }: Fleet): Promise<string> {
  const { url } = await startOwnRedis();
  for (let i = 0; i < processes; i++) {
    await startProcess(url, queues);
  }
  return url;
}

/** Returns the calls and bytes that a server receives in the measured time, and the commands inside the scripts. */
async function costOn(url: string) {
  const admin = connect({}, url);
  const received = async () => Number(/total_net_input_bytes:(\d+)/.exec(await admin.info('stats'))![1]);
  const [before, begun] = [await received(), performance.now()];
  const calls = await countCalls(url);
  return { ...calls, bytes: (await received()) - before, seconds: (performance.now() - begun) / 1_000 };
}

/** Starts a worker with a client of its own. */
async function startProcess(url: string, count: number): Promise<void> {
  const redis = namedConnection({}, url);
  const queues = Array.from({ length: count }, (_, i) => new JobQueue(redis, `q${i}`));
  open.push(...queues);
  await startWorker(
    queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } })),
    undefined,
    { sweepIntervalMs: 5_000 },
  );
}

const scriptOf = new Map(Object.entries(scriptDigests).map(([name, digest]) => [digest, name]));

/**
 * Counts what clients send and what scripts do by kind. MONITOR shows a script before the commands inside it, whose source is
 * `lua`. One command of each script shows how many queues it reaches.
 */
async function countCalls(url: string) {
  const [sent, inside] = [noCalls(), noCalls()];
  const reached = { announced: 0, checked: 0, noted: 0 };
  let kind: keyof Calls = 'sweeps';
  const { hostname, port } = new URL(url);
  const socket = createConnection(Number(port), hostname);
  createInterface({ input: socket }).on('line', (line) => {
    const [, source, command, digest] = /^\+[\d.]+ \[\d+ ([^\]]+)\] "([^"]*)"(?: "([^"]*)")?/.exec(line) ?? [];
    if (!command || command === 'info') return;
    if (source !== 'lua') {
      kind = KINDS[scriptOf.get(digest ?? '') ?? command] ?? 'sweeps';
      sent[kind]++;
    } else if (command !== 'PEXPIRE' || kind !== 'notes') {
      inside[kind]++; // a note extends a history in two minutes of thirty
      reached.announced += kind === 'announcements' && / "XX" "CH"/.test(line) ? 1 : 0;
      reached.checked += kind === 'announcements' && command === 'PERSIST' ? 1 : 0;
      reached.noted += kind === 'notes' && command === 'EXISTS' ? 1 : 0;
    }
  });
  socket.write('MONITOR\r\n');
  await sleep(MEASURED_MS);
  socket.destroy();
  return { sent, inside, ...reached };
}

function noCalls(): Calls {
  return { looks: 0, waits: 0, announcements: 0, notes: 0, sweeps: 0, opened: 0 };
}
