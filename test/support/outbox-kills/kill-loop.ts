// A fleet of relays and producers that are killed and stalled, and the check of its outcome.
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { JobOutbox } from '#outbox/job-outbox.js';
import { systemClock } from '#queue/runtime/clock.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { JobQueue } from 'nest-job-queue/core';
import type { OutboxDatabase, OutboxDialect } from '#outbox/outbox-database.js';
import { bundle } from '../bundle.mjs';
import { makeTables } from '../databases/outbox.js';
import { eventually, sleep } from '../faults/wait.js';
import { connect, testRedisUrl, uniqueQueueName } from '../redis/redis.js';
import { cut, openDatabase } from './databases.js';
import type { KillSettings } from './process.js';

const QUEUES = 3;
const RELAYS = 3;
const PRODUCERS = 2;
const STALL_MS = 200;
/** The processes that are started ahead, at most: a start takes most of the time of a death. */
const SPARES = 4;

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
  private database!: OutboxDatabase;
  private readonly spares: ChildProcess[] = [];
  /** The processes that run, with their sessions in the database. */
  private readonly children = new Map<ChildProcess, number[]>();
  private readonly seen: Seen[][] = this.queues.map(() => []);
  private program = '';
  private names = 0;
  private kills = 0;
  private stalls = 0;
  private ends = false;
  /** The deaths and stalls of the run. */
  private wanted = 0;

  constructor(
    private readonly server: { dialect: OutboxDialect; url: string },
    private readonly plant?: KillSettings['plant'],
  ) {}

  /** Runs until this many processes have died or stalled, and jobs have run. Then lets the rest be shipped, and compares. */
  async run(deaths: number, jobs = 0): Promise<KillOutcome> {
    this.wanted = deaths;
    this.database = await openDatabase(this.server, () => undefined);
    await makeTables(this.database);
    const file = join(import.meta.dirname, 'process.ts');
    this.program = await bundle(file, '.cache/programs/outbox-kills.mjs', (name) =>
      ['pg', 'mysql2/promise'].includes(name),
    );
    const consumers = this.queues.map((name, i) => this.consume(new JobQueue(this.redis, name, { completedHistory: 1, resultTtlMs: 1 }), i)); // prettier-ignore
    for (let i = 0; i < RELAYS; i++) this.start('relay');
    for (let i = 0; i < PRODUCERS; i++) this.start('producer');
    const ran = () => this.seen.reduce((sum, each) => sum + each.length, 0);
    await eventually(() => this.kills + this.stalls >= deaths && ran() >= jobs, {
      timeoutMs: 60_000 + deaths * 5_000 + jobs * 20,
      what: 'the deaths and the jobs',
    });
    this.ends = true;
    [...this.children.keys(), ...this.spares].forEach((child) => child.kill('SIGKILL'));
    await this.shipRest();
    await Promise.all(consumers);
    const outcome = await this.outcome();
    await this.database.close?.();
    return outcome;
  }

  private start(role: KillSettings['role']): void {
    const name = `${role}-${this.names++}`;
    const settings: KillSettings = {
      role,
      name,
      ...this.server,
      redis: testRedisUrl(),
      queues: this.queues,
      deadly: role === 'relay' ? 0.02 : 0.002,
      ...(this.plant && { plant: this.plant }),
    };
    const ahead = Math.min(SPARES, this.wanted - this.kills - this.stalls);
    while (this.spares.length <= Math.max(0, ahead)) this.spares.push(this.spawn());
    const child = this.spares.shift()!;
    const sessions: number[] = [];
    this.children.set(child, sessions);
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const [word, session] = line.split(' ');
      if (word === 'stops') void this.stall(child, sessions);
      if (word === 'session') sessions.push(Number(session));
    });
    child.once('exit', () => {
      this.children.delete(child);
      if (!this.ends) {
        this.kills++;
        this.start(role);
      }
    });
    child.stdin!.end(JSON.stringify(settings));
  }

  private spawn(): ChildProcess {
    return spawn(process.execPath, [this.program], { stdio: ['pipe', 'pipe', 'inherit'] });
  }

  /** Cuts the sessions of a stopped process, as a database does with a silent one. Lets it go on later. */
  private async stall(child: ChildProcess, sessions: readonly number[]): Promise<void> {
    this.stalls++;
    await sleep(STALL_MS / 2); // the stall is the fault: the process is silent meanwhile
    for (const session of sessions) await cut(this.database, session);
    await sleep(STALL_MS); // the rest of the stall, without a session
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
        await sleep(10); // a poll: the relays run in other processes, and a claim does not block
      }
    }
  }

  private async shipRest(): Promise<void> {
    for (const session of [...this.children.values()].flat()) await cut(this.database, session);
    const outbox = new JobOutbox({
      database: this.database,
      relays: false,
      clock: systemClock,
      logger: silentLogger,
      pollMs: 1_000,
      keepDoneMs: 1e9,
      connections: ['default'],
      queueOf: (_connection, name) => new JobQueue(this.redis, name),
    });
    await eventually(async () => (await outbox.ship(), (await this.rows()) === 0), { what: 'no row is left' });
  }

  private async rows(): Promise<number> {
    const [row] = await this.read('SELECT count(*) AS count FROM job_outbox');
    return Number(row!.count);
  }

  private read(sql: string) {
    return this.database.begin((transaction) => this.database.run(transaction, sql, []));
  }

  private async outcome(): Promise<KillOutcome> {
    const committed = new Set((await this.read('SELECT name FROM orders')).map(({ name }) => String(name)));
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
