// A fleet of relays and producers that are killed and stalled, and the check of its outcome.
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { JobOutbox } from '#outbox/job-outbox.js';
import { systemClock } from '#queue/runtime/clock.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { JobQueue } from 'nest-job-queue/core';
import { fromPg } from 'nest-job-queue/outbox';
import { bundle } from '../bundle.mjs';
import { makeTables } from '../databases/outbox.js';
import type { Postgres } from '../../../scripts/databases/postgres-server.mjs';
import { eventually, sleep } from '../faults/wait.js';
import { connect, testRedisUrl, uniqueQueueName } from '../redis/redis.js';
import type { KillSettings } from './process.js';

const QUEUES = 3;
const RELAYS = 3;
const PRODUCERS = 2;
const STALL_MS = 200;

export interface KillOutcome {
  committed: number;
  kills: number;
  stalls: number;
  /** Committed rows without a job. */
  lost: number;
  /** Jobs beyond the first of a row. */
  twice: number;
  /** Jobs of rows that were not committed. */
  phantom: number;
  /** Jobs of a group that came before one that was added earlier. */
  disorder: number;
}

interface Seen {
  group: string;
  n: number;
}

export class KillLoop {
  private readonly queues = Array.from({ length: QUEUES }, () => uniqueQueueName('kills'));
  private readonly redis = connect();
  private readonly pool: pg.Pool;
  private readonly children = new Set<ChildProcess>();
  private readonly seen: Seen[][] = this.queues.map(() => []);
  private program = '';
  private names = 0;
  private kills = 0;
  private stalls = 0;
  private ends = false;

  constructor(
    private readonly server: Postgres,
    private readonly plant?: KillSettings['plant'],
  ) {
    this.pool = new pg.Pool({ connectionString: server.url });
    this.pool.on('error', () => undefined);
  }

  /** Runs until this many processes have died or stalled, and jobs have run. Then lets the rest be shipped, and compares. */
  async run(deaths: number, jobs = 0): Promise<KillOutcome> {
    await makeTables(fromPg(this.pool));
    const file = join(import.meta.dirname, 'process.ts');
    this.program = await bundle(file, '.cache/programs/outbox-kills.mjs', (name) => name === 'pg-native');
    const consumers = this.queues.map((name, i) => this.consume(new JobQueue(this.redis, name, { completedHistory: 1, resultTtlMs: 1 }), i)); // prettier-ignore
    for (let i = 0; i < RELAYS; i++) this.start('relay');
    for (let i = 0; i < PRODUCERS; i++) this.start('producer');
    const ran = () => this.seen.reduce((sum, each) => sum + each.length, 0);
    await eventually(() => this.kills + this.stalls >= deaths && ran() >= jobs, {
      timeoutMs: 60_000 + deaths * 5_000 + jobs * 20,
      what: 'the deaths and the jobs',
    });
    this.ends = true;
    this.children.forEach((child) => child.kill('SIGKILL'));
    await this.shipRest();
    await Promise.all(consumers);
    const outcome = await this.outcome();
    await this.pool.end();
    return outcome;
  }

  private start(role: KillSettings['role']): void {
    const name = `${role}-${this.names++}`;
    const settings: KillSettings = {
      role,
      name,
      postgres: this.server.url,
      redis: testRedisUrl(),
      queues: this.queues,
      deadly: role === 'relay' ? 0.02 : 0.002,
      ...(this.plant && { plant: this.plant }),
    };
    const child = spawn(process.execPath, [this.program], {
      env: { ...process.env, KILL_SETTINGS: JSON.stringify(settings) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.children.add(child);
    createInterface({ input: child.stdout }).on('line', (line) => line === 'stops' && void this.stall(child, name));
    child.once('exit', () => {
      this.children.delete(child);
      if (!this.ends) {
        this.kills++;
        this.start(role);
      }
    });
  }

  /** Cuts the sessions of a stopped process, as a database does with a silent one. Lets it go on later. */
  private async stall(child: ChildProcess, name: string): Promise<void> {
    this.stalls++;
    await sleep(STALL_MS / 2);
    await this.pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
      name,
    ]);
    await sleep(STALL_MS);
    child.kill('SIGCONT');
  }

  /** Runs each job at once and forgets it, so that its id does not keep a second one away. */
  private async consume(queue: JobQueue, i: number): Promise<void> {
    for (;;) {
      const jobs = await queue.claimMany(100);
      for (const job of jobs) {
        this.seen[i]!.push(job.payload as Seen);
        await queue.complete(job);
      }
      if (jobs.length > 0) {
        await this.redis.unlink(
          ...jobs.map(({ id }) => `queue:${queue.name}:job:${id}`),
          `queue:${queue.name}:completed`,
        );
      } else if (this.ends && (await this.rows()) === 0 && (await queue.stats()).pending === 0) {
        return;
      } else {
        await sleep(10);
      }
    }
  }

  private async shipRest(): Promise<void> {
    await this.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'relay-%'`,
    );
    const outbox = new JobOutbox({
      database: fromPg(this.pool),
      relays: false,
      clock: systemClock,
      logger: silentLogger,
      pollMs: 1_000,
      keepDoneMs: 1e9,
      queueOf: (_connection, name) => new JobQueue(this.redis, name),
    });
    await eventually(async () => (await outbox.ship(), (await this.rows()) === 0), { what: 'no row is left' });
  }

  private async rows(): Promise<number> {
    const { rows } = await this.pool.query('SELECT count(*) AS count FROM job_outbox');
    return Number((rows[0] as { count: string }).count);
  }

  private async outcome(): Promise<KillOutcome> {
    const { rows } = await this.pool.query('SELECT name FROM orders');
    const committed = new Set((rows as { name: string }[]).map(({ name }) => name));
    const counts = new Map<string, number>();
    let disorder = 0;
    for (const queue of this.seen) {
      const last = new Map<string, number>();
      for (const { group, n } of queue) {
        const key = JSON.stringify({ group, n });
        counts.set(key, (counts.get(key) ?? 0) + 1);
        disorder += (last.get(group) ?? -1) > n ? 1 : 0;
        last.set(group, n);
      }
    }
    return {
      committed: committed.size,
      kills: this.kills,
      stalls: this.stalls,
      lost: [...committed].filter((key) => !counts.has(key)).length,
      twice: [...counts.values()].reduce((sum, count) => sum + count - 1, 0),
      phantom: [...counts.keys()].filter((key) => !committed.has(key)).length,
      disorder,
    };
  }
}
