// A process of one contestant: it adds jobs in transactions, or runs them. It stays for the whole run.
import pg from 'pg';
import { monotonicUs, payload } from '../fleet/payload.mjs';
import { serve } from '../fleet/serve.mjs';
import { loadPeer } from './peers.mjs';

/** The transactions that are open at once. */
const CLIENTS = 8;
/** The connections of a pool: those of the transactions, or of a worker with many jobs at once. */
const CONNECTIONS = 25;
const MOST_ROWS = 1_000;

const [contestant] = process.argv.slice(2);
const peer = await loadPeer(contestant);
let pool;
let session;
let staged;
let work;
let cpu = process.cpuUsage();

serve({
  /** @param runs whether it runs jobs; else it adds them */
  async open({ postgres, redis, relays, runs }) {
    pool = new pg.Pool({ connectionString: postgres, max: CONNECTIONS });
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    session = await peer.open({ pool, redis, relays, ...(runs && { handler: note }) });
  },
  async close() {
    await session.close();
    await pool.end();
  },
  /** Runs transactions, each with a row of the app and a job. */
  async add({ count }) {
    cpu = process.cpuUsage();
    const started = monotonicUs();
    let next = 0;
    const client = async () => {
      while (next < count) await addOne(next++);
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return { us: monotonicUs() - started, cpuUs: cpuUs() };
  },
  /** Adds many jobs in a transaction that stays open. */
  async stage({ count }) {
    const all = Array.from({ length: count }, (_, n) => payload(n));
    staged = await pool.connect();
    await staged.query('BEGIN');
    for (let from = 0; from < count; from += MOST_ROWS) {
      await session.addMany(staged, all.slice(from, from + MOST_ROWS));
    }
  },
  /** Commits it. Returns the time of the commit. */
  async commit() {
    cpu = process.cpuUsage();
    await staged.query('COMMIT');
    const at = monotonicUs();
    staged.release();
    session.committed?.();
    return { at };
  },
  /** Adds jobs one after another. Returns the time of each commit. */
  async addSlowly({ count, paceMs, wakes }) {
    const committedAt = [];
    for (let n = 0; n < count; n++) {
      await addOne(n);
      committedAt.push(monotonicUs());
      if (wakes) session.committed?.();
      // Of different lengths, so that no poll keeps time with it.
      await new Promise((resolve) => setTimeout(resolve, paceMs * (0.5 + Math.random())));
    }
    return committedAt;
  },
  async ship() {
    cpu = process.cpuUsage();
    const started = monotonicUs();
    await session.ship();
    return { us: monotonicUs() - started, cpuUs: cpuUs() };
  },
  /** Starts to count runs. Says so once they are as many as this. */
  expect({ count }) {
    work = { startedAt: Array.from({ length: count }, () => undefined), runs: 0, repeated: 0 };
    cpu = process.cpuUsage();
  },
  outcome: () => ({ ...work, cpuUs: cpuUs() }),
  cpuUs,
});

/** Notes the run of a job. */
function note({ n }) {
  if (work.startedAt[n] !== undefined) work.repeated++;
  work.startedAt[n] = monotonicUs();
  if (++work.runs === work.startedAt.length) process.send({ event: 'ran', at: work.startedAt[n], cpuUs: cpuUs() });
}

function addOne(n) {
  return inTransaction(async (client) => {
    await client.query('INSERT INTO orders (n, body) VALUES ($1, $2)', [n, 'an order of the app']);
    await session.add(client, payload(n));
  });
}

async function inTransaction(run) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await run(client);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

function cpuUs() {
  const { user, system } = process.cpuUsage(cpu);
  return user + system;
}
