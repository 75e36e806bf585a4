// A process of the fleet that the kill loops kill, bundled. A relay dies or stalls by itself at a drawn point of its
// turn. A producer dies between its rows and its commit.
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { JobOutbox } from '#outbox/job-outbox.js';
import type { OutboxDatabase, OutboxDialect } from '#outbox/outbox-database.js';
import { JobQueue } from '#queue/job-queue.js';
import { openDatabase } from './databases.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { systemClock } from '#queue/runtime/clock.js';

/** The settings of a process, as JSON in its standard input. It waits for them, so that it can be started ahead. */
export interface KillSettings {
  role: 'relay' | 'producer';
  /** The group of a producer. */
  name: string;
  dialect: OutboxDialect;
  url: string;
  redis: string;
  queues: string[];
  /** The share of points at which it dies. */
  deadly: number;
  plant?: 'no-mark' | 'no-fence';
}

/** The statements of a turn before which, or after which, a relay may die or stall. */
const POINTS = [
  /^SELECT nextval/,
  /^SELECT LAST_INSERT_ID/,
  /^SELECT seq, entry/,
  /^DELETE FROM job_outbox /,
  /^COMMIT/,
];

const settings = JSON.parse(await text(process.stdin)) as KillSettings;
const redis = new Redis(settings.redis);
// The number of a session is said, so that the test can cut it while the process has stopped.
const plain = await openDatabase(settings, (session) => void say(`session ${session}`));

function say(line: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()));
}

/** Dies, or stops until another process cuts its session and lets it go on. */
async function mayEnd(): Promise<void> {
  if (Math.random() > settings.deadly) {
    return;
  }
  const isStop = settings.role === 'relay' && Math.random() < 0.4;
  await say(isStop ? 'stops' : 'dies');
  process.kill(process.pid, isStop ? 'SIGSTOP' : 'SIGKILL');
}

const deadly: OutboxDatabase = {
  ...plain,
  async run(transaction, sql, values) {
    const isPoint = POINTS.some((point) => point.test(sql));
    const rows = await plain.run(transaction, sql, values);
    await (isPoint && mayEnd());
    return rows;
  },
  async begin(work) {
    const result = await plain.begin(work);
    await mayEnd();
    return result;
  },
};

/** Breaks the protocol as a planted fault: forgets marks or fences right after each call. */
async function spoil(queue: JobQueue): Promise<void> {
  const { plant } = settings;
  const base = `queue:${queue.name}:`;
  if (plant === 'no-fence') {
    await redis.unlink(`${base}once_fences`);
  } else if (plant === 'no-mark') {
    const marks = await redis.keys(`${base}once:*`);
    await (marks.length > 0 && redis.unlink(...marks));
  }
}

const queues = new Map(settings.queues.map((name) => [name, new JobQueue(redis, name)]));
const outbox = new JobOutbox({
  database: settings.role === 'relay' ? deadly : plain,
  relays: settings.role === 'relay',
  clock: systemClock,
  logger: silentLogger,
  pollMs: 20,
  keepDoneMs: 1e9,
  connections: ['default'],
  queueOf: (_connection, name) => {
    const queue = queues.get(name)!;
    const exec: JobQueue['exec'] = async (...asked) => {
      const reply = await queue.exec(...asked);
      await spoil(queue);
      return reply;
    };
    return settings.plant ? { name, exec } : queue;
  },
});
queues.forEach((queue) => (queue.outbox = () => outbox.writerFor('default')));

/** The most jobs of one transaction. */
const MOST_JOBS = 8;

/** Adds jobs in transactions, of which some roll back and in some of which it dies. */
async function produce(): Promise<void> {
  const { name: group } = settings;
  for (let n = 0, turn = 0; ; turn++) {
    const queue = queues.get(settings.queues[turn % settings.queues.length]!)!;
    const isUndone = Math.random() < 0.3;
    const payloads = Array.from({ length: 1 + Math.floor(Math.random() * MOST_JOBS) }, () => ({ group, n: n++ }));
    await plain
      .begin(async (transaction) => {
        for (const payload of payloads) {
          await plain.run(transaction, 'INSERT INTO orders (name) VALUES (?)', [JSON.stringify(payload)]);
        }
        const jobs = payloads.map((payload) => ({ payload, group }));
        await queue.producer.many(undefined, jobs, { transaction: transaction as object });
        await mayEnd();
        if (isUndone) throw new Error('undone');
      })
      .catch(() => undefined);
  }
}

await say('ready');
if (settings.role === 'relay') {
  outbox.start();
  setInterval(() => undefined, 1_000);
} else {
  await produce();
}
