// The relay between a database and Redis: order, refusals, other relays, and servers that are away.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { checkTables } from '#outbox/check-tables.js';
import { fromPg, outboxSql, type OutboxDatabase } from 'nest-job-queue/outbox';
import type { JobQueueOptions } from 'nest-job-queue/core';
import { makeTables, TestOutbox } from '../support/databases/outbox.js';
import { startPostgres, type Postgres } from '../../scripts/databases/postgres-server.mjs';
import { eventually, gate } from '../support/faults/wait.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';

let server: Postgres;
let pool: pg.Pool;
let database: OutboxDatabase;
const used: TestOutbox[] = [];
const ignore = () => undefined;

beforeAll(async () => {
  server = await startPostgres();
  pool = new pg.Pool({ connectionString: server.url });
  pool.on('error', () => undefined);
  database = fromPg(pool);
  await makeTables(database);
}, 60_000);

beforeEach(() => pool.query('TRUNCATE job_outbox'));

afterAll(async () => {
  used.forEach((each) => each.close());
  await pool.end();
  await server.stop();
});

function outboxOf(options: JobQueueOptions = {}, redis = connect(), of = database, wakes = false): TestOutbox {
  const made = new TestOutbox(of, options, redis, wakes);
  used.push(made);
  return made;
}

const commit = (work: (transaction: object) => Promise<unknown>) =>
  database.begin((transaction) => work(transaction as object));

/** Lets rows that were set aside be sent again now. */
const pass = () => pool.query('UPDATE job_outbox SET not_before = now() WHERE not_before IS NOT NULL');

it('counts a delay and an expiry from the insert', async () => {
  const t = outboxOf();
  const [delayed, due, expired] = (await commit(async (tx) => [
    await t.enqueue(tx, 1, { delayMs: 7_200_000 }),
    await t.enqueue(tx, 2, { delayMs: 60_000 }),
    await t.enqueue(tx, 3, { expiresInMs: 60_000 }),
  ])) as { id: string }[];
  await pool.query(`UPDATE job_outbox SET created_at = created_at - interval '1 hour'`);
  await t.outbox.ship();
  const { dueAt } = (await t.queue.get(delayed!.id))!;
  expect(Math.abs(dueAt!.getTime() - Date.now() - 3_600_000)).toBeLessThan(10_000);
  expect((await t.queue.get(due!.id))?.status).toBe('pending');
  expect(await t.queue.claim()).toMatchObject({ id: due!.id });
  expect(await t.queue.claim()).toBeNull();
  expect((await t.queue.get(expired!.id))?.status).toBe('failed');
});

it('adds nothing twice if a relay died before its commit, and the job is forgotten by then', async () => {
  const t = outboxOf();
  await commit((tx) => t.enqueue(tx, 1));
  const dying = outboxOf({}, connect(), {
    ...database,
    run: (tx, sql, values) =>
      sql.startsWith('DELETE FROM job_outbox')
        ? Promise.reject(new Error('killed'))
        : database.run(tx, sql, values),
  });
  await dying.outbox.ship();
  expect(dying.outbox.trouble).toBe('killed');
  expect(await t.pending()).toEqual([1]);
  await t.purge();
  expect(await t.rows()).toBe(1);
  await t.outbox.ship();
  expect(await t.rows()).toBe(0);
  expect(await t.pending()).toEqual([]);
});

it('adds nothing when it stalls and comes back after another took over', async () => {
  const [t, redis] = [outboxOf(), connect()];
  await commit((tx) => t.enqueue(tx, 1));
  const stalling = outboxOf();
  const queue = t.queue;
  const { reached, goOn } = stalling.stallAt(queue);
  const stalled = stalling.outbox.ship();
  await reached;
  // Waits until the server has ended the session, because it holds the relay's lock until then.
  const cut = `SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE state = 'idle in transaction'`;
  await pool.query(cut);
  await t.outbox.ship();
  expect(await t.pending()).toEqual([1]);
  await t.purge();
  goOn();
  await stalled;
  expect(stalling.outbox.trouble).toBeDefined();
  expect(await t.pending()).toEqual([]);
  expect(await redis.zcard(`queue:${queue.name}:once`)).toBe(0);
});

it('leaves no mark in Redis, also after a relay that died behind its commit', async () => {
  const [t, redis] = [outboxOf(), connect()];
  const [{ source }] = (await pool.query('SELECT source FROM job_outbox_source')).rows as [{ source: string }];
  const marks = `queue:${t.queue.name}:once:${source}`;
  await redis.zadd(marks, 1, 'of a deleted row');
  await commit((tx) => t.enqueue(tx, 1));
  await t.outbox.ship();
  expect(await redis.exists(marks)).toBe(0);
});

it('raises its fence where the database was restored from a backup', async () => {
  const t = outboxOf();
  const [{ source }] = (await pool.query('SELECT source FROM job_outbox_source')).rows as [{ source: string }];
  await t.queue.exec((calls) => calls.once.enqueue({ sender: { source, fence: 5_000 }, entries: [] }));
  await commit((tx) => t.enqueue(tx, 1));
  await t.outbox.ship();
  expect(await t.pending()).toEqual([1]);
  expect(t.warnings.join()).toContain('behind that of Redis (5000)');
});

it('sets a row aside that is refused, with the later ones of its group, and ships the others', async () => {
  const t = outboxOf({ maxPendingBytes: 20 });
  const group = 'a\n"\\';
  await commit(async (tx) => {
    await t.enqueue(tx, 'too large for the bound', { group });
    await t.enqueue(tx, 'later', { group });
    await t.enqueue(tx, 'other', { group: 'b' });
  });
  await t.outbox.ship();
  const waiting = async () => (await t.outbox.list()).map(({ attempts, lastError }) => [attempts, lastError]);
  const full = `the queue ${t.queue.name} is full: it holds 20 bytes`;
  expect(await waiting()).toEqual([[1, full], [0, undefined]]); // prettier-ignore
  expect(await t.outbox.stats()).toMatchObject({ waiting: 2, setAside: 1, failed: 0 });
  await t.outbox.ship();
  expect(await waiting()).toEqual([[1, full], [0, undefined]]); // prettier-ignore
  await t.queue.limits.change({ maxPendingBytes: 1_000 });
  await pass();
  await t.outbox.ship();
  expect(await t.rows()).toBe(0);
  expect((await t.queue.stats()).pending).toBe(3);
});

it('ships other rows past a group that waits with more rows than a turn reads', async () => {
  const t = outboxOf({ maxPendingBytes: 20 });
  await commit(async (tx) => {
    await t.enqueue(tx, 'too large for the bound', { group: 'a' });
    const later = Array.from({ length: 1_000 }, (_, payload) => ({ payload, group: 'a' }));
    await t.queue.producer.many(undefined, later, { transaction: tx });
    await t.enqueue(tx, 'other', { group: 'b' });
  });
  await t.outbox.ship();
  await t.outbox.ship();
  expect(await t.rows()).toBe(1_001);
  expect((await t.queue.stats()).pending).toBe(1);
});

it('keeps the order of more groups than it can list, and lets all of them be sent again', async () => {
  const t = outboxOf();
  const add = (notBefore: string) =>
    pool.query(
      `INSERT INTO job_outbox (entry, id, connection, queue, name, payload, options, group_name, not_before)
         SELECT gen_random_uuid(), gen_random_uuid(), 'default', $1, $1, '1', '{}', n, ${notBefore}
         FROM generate_series(1, 10001) AS n`,
      [t.queue.name],
    );
  await add(`now() + interval '1 hour'`);
  await add('NULL');
  await commit((tx) => t.enqueue(tx, 'other'));
  await t.outbox.ship();
  expect(await t.pending()).toEqual(['other']);
  expect(await t.outbox.retry()).toBe(10_001);
  expect((await t.outbox.stats()).setAside).toBe(0);
});

it('finds the rows that it deletes by the primary key', async () => {
  const plans: unknown[] = [];
  const t = outboxOf({}, connect(), {
    ...database,
    run: async (tx, sql, values) => {
      if (sql.startsWith('DELETE')) {
        await database.run(tx, 'SET LOCAL enable_seqscan = off', []);
        plans.push(await database.run(tx, `EXPLAIN ${sql}`, values));
      }
      return database.run(tx, sql, values);
    },
  });
  await commit((tx) => t.enqueue(tx, 1));
  await t.outbox.ship();
  expect(JSON.stringify(plans)).toContain('job_outbox_pkey');
});

it('finds the row that cannot be read, and lets it fail after twenty attempts', async () => {
  const t = outboxOf();
  await commit((tx) =>
    t.queue.producer.many(undefined, [{ payload: 1 }, { payload: 2 }, { payload: 3 }], { transaction: tx }),
  );
  await pool.query(`UPDATE job_outbox SET options = '{{' WHERE payload = '2'`);
  await t.outbox.ship();
  expect(await t.pending()).toEqual([1, 3]);
  expect((await t.outbox.list())[0]).toMatchObject({ attempts: 1, isFailed: false });
  await pool.query('UPDATE job_outbox SET attempts = 19, not_before = NULL');
  await t.outbox.ship();
  const [row] = await t.outbox.list();
  expect(row).toMatchObject({ attempts: 20, isFailed: true });
  expect(await t.outbox.stats()).toMatchObject({ waiting: 0, failed: 1 });
  expect(await t.outbox.retry()).toBe(1);
  expect(await t.rows()).toBe(1);
  expect(await t.outbox.discard(row!.seq)).toBe(false);
  await pool.query('UPDATE job_outbox SET failed_at = now()');
  expect(await t.outbox.discard(row!.seq)).toBe(true);
});

it('ships other queues past one that takes no rows, and keeps its order', async () => {
  const t = outboxOf();
  const stuck = t.queueOf(`${t.queue.name}-stuck`);
  await connect().set(`queue:${stuck.name}:pending`, 'no list');
  const add = (queue: typeof stuck, payload: unknown) =>
    commit((tx) => queue.producer.one(undefined, payload, undefined, { transaction: tx }));
  await add(stuck, 1);
  await add(t.queue, 'a');
  await t.outbox.ship();
  expect(t.outbox.trouble).toContain('pending');
  await add(stuck, 2);
  await add(t.queue, 'b');
  await t.outbox.ship();
  expect(await t.pending()).toEqual(['a', 'b']);
  await connect().unlink(`queue:${stuck.name}:pending`);
  const other = outboxOf(); // it has no trouble to wait for
  await other.outbox.ship();
  expect(await t.pending(stuck)).toEqual([1, 2]);
});

it('sets a row aside that makes its call fail, once the queue takes a call without it', async () => {
  const t = outboxOf();
  for (const payload of ['before', 'bad', 'behind']) {
    await commit((tx) => t.enqueue(tx, payload));
  }
  const exec = t.queue.exec.bind(t.queue);
  t.queue.exec = async (...asked: Parameters<typeof exec>) => {
    let isBad = false;
    const enqueue = (given: { entries: unknown }) =>
      void (isBad = JSON.stringify(given.entries).includes('\\"bad\\"'));
    try {
      asked[0]({ once: { enqueue, forget: ignore, marks: ignore } } as never);
    } catch {
      // a call of another verb
    }
    return isBad ? Promise.reject(new Error('Connection is closed.')) : (exec(...asked) as never);
  };
  await t.outbox.ship();
  expect(t.outbox.trouble).toBe('Connection is closed.');
  expect(await t.outbox.stats()).toMatchObject({ waiting: 3, setAside: 0 });
  await eventually(
    async () => {
      await t.outbox.ship();
      return (await t.pending()).length === 2;
    },
    { what: 'the rest of the queue is over' },
  );
  expect(await t.pending()).toEqual(['before', 'behind']);
  expect(await t.outbox.stats()).toMatchObject({ waiting: 1, setAside: 1 });
  t.queue.exec = exec;
  await t.outbox.retry();
  await t.outbox.ship();
  expect(await t.pending()).toEqual(['before', 'behind', 'bad']);
});

it('finds a row of a transaction that commits after one with a larger number was shipped', async () => {
  const t = outboxOf();
  const [isWritten, commits] = [gate(), gate()];
  const slow = commit(async (tx) => {
    await t.enqueue(tx, 'first');
    isWritten.open();
    await commits.promise;
  });
  await isWritten.promise;
  await commit((tx) => t.enqueue(tx, 'second'));
  await t.outbox.ship();
  expect(await t.pending()).toEqual(['second']);
  commits.open();
  await slow;
  await t.outbox.ship();
  expect(await t.pending()).toEqual(['second', 'first']);
});

it('keeps the order of a group also behind a transaction that was open for longer than it looks back', async () => {
  const t = outboxOf({}, connect(), database, true);
  const [isWritten, commits] = [gate(), gate()];
  const long = commit(async (tx) => {
    await t.enqueue(tx, 'first', { group: 'a' });
    isWritten.open();
    await commits.promise;
  });
  await isWritten.promise;
  for (let i = 0; i < 4; i++) {
    await commit((tx) => t.enqueue(tx, i));
    await t.outbox.ship(); // each looks at all rows, and the next looks begin later
  }
  commits.open();
  await long;
  await commit((tx) => t.enqueue(tx, 'second', { group: 'a' }));
  t.outbox.wake();
  await eventually(async () => (await t.rows()) === 0, { what: 'all rows are shipped' });
  expect((await t.pending()).slice(4)).toEqual(['first', 'second']);
  await t.outbox.stop(); // it would take the turn from a relay of the next test
});

it('reads rows of a group once if no row waits before them', async () => {
  const reads: string[] = [];
  const t = outboxOf(
    {},
    connect(),
    {
      ...database,
      run: (tx, sql, values) => {
        if (sql.startsWith('SELECT CAST(seq')) reads.push(/LIMIT (\d+)/.exec(sql)![1]!);
        return database.run(tx, sql, values);
      },
    },
    true,
  );
  for (let i = 0; i < 3; i++) {
    await commit((tx) => t.enqueue(tx, i, { group: 'a' }));
    await t.outbox.ship(); // each looks at all rows, and the next looks begin later
  }
  reads.length = 0;
  await commit((tx) => t.enqueue(tx, 3, { group: 'a' }));
  t.outbox.wake();
  await eventually(async () => (await t.rows()) === 0, { what: 'all rows are shipped' });
  await t.outbox.stop();
  // A look may come before the commit, and find nothing. The one that ships asks for the first row alone.
  expect(reads.slice(reads.indexOf('1') - 1).slice(0, 2)).toEqual(['1000', '1']);
  expect(await t.pending()).toEqual([0, 1, 2, 3]);
});

it('ships in the order of the rows, thousands in several calls', async () => {
  const t = outboxOf();
  const payloads = Array.from({ length: 2_500 }, (_, i) => i);
  await commit((tx) => t.queue.producer.many(undefined, payloads.map((payload) => ({ payload })), { transaction: tx })); // prettier-ignore
  await Promise.all([t.outbox.ship(), outboxOf().outbox.ship()]);
  await t.outbox.ship();
  expect(await t.rows()).toBe(0);
  const found: unknown[] = [];
  for (let offset = 0; offset < payloads.length; offset += 1_000) {
    const page = await t.queue.list('pending', { offset, limit: 1_000 });
    found.push(...page.map(({ payload }) => payload));
  }
  expect(found).toEqual(payloads);
  await t.purge();
});

it('refuses options that a transaction cannot decide, before any statement', async () => {
  const t = outboxOf({ durability: 'memory' });
  const refused = (options: object) =>
    commit((tx) => t.enqueue(tx, 1, options)).then(
      () => 'stored',
      (error: Error) => error.message,
    );
  expect(await refused({ after: ['x'] })).toContain('enqueue.after');
  expect(await refused({ unique: { key: 'k', for: 'pending', onConflict: 'replace' } })).toContain('onConflict');
  expect(await refused({ durability: 'replica' })).toContain('enqueue.durability');
  expect(await refused({ delayMs: -1 })).toContain('enqueueMany[0].delayMs');
  expect(await t.rows()).toBe(0);
});

it('keeps rows while Redis is away, and ships them when it is back', async () => {
  const redis = await startOwnRedis();
  const client = connect({}, redis.url);
  client.on('error', () => undefined);
  const t = outboxOf({ enqueueTimeoutMs: 1_500 }, client);
  await commit((tx) => t.enqueue(tx, 1));
  await redis.kill();
  await commit((tx) => t.enqueue(tx, 2));
  await t.outbox.ship();
  expect(t.outbox.trouble).toContain('Redis');
  const signs = () => t.outbox.writerFor('default').signs!();
  const { trouble, troubledForMs } = (await signs())!;
  expect(trouble).toContain('Redis');
  await t.outbox.ship();
  expect((await signs())!.troubledForMs).toBeGreaterThan(troubledForMs!);
  expect(await t.rows()).toBe(2);
  await redis.restart();
  const again = outboxOf({}, connect({}, redis.url));
  again.queueOf(t.queue.name);
  await again.outbox.ship();
  expect(await t.pending(again.queueOf(t.queue.name))).toEqual([1, 2]);
});

it('finds the faults of its tables', async () => {
  await pool.query('CREATE SCHEMA wrong');
  const other = new pg.Pool({ connectionString: server.url, options: '-c search_path=wrong' });
  const here = fromPg(other);
  expect((await checkTables(here)).toSorted()).toEqual([
    'The sequence job_outbox_fence is missing.',
    'The table job_done is missing.',
    'The table job_outbox is missing.',
    'The table job_outbox_source is missing.',
  ]);
  for (const sql of outboxSql('postgres')) {
    await other.query(sql.replace('payload text', 'payload jsonb').replace(/^CREATE INDEX.*/, 'SELECT 1'));
  }
  await other.query(
    'ALTER TABLE job_outbox DROP COLUMN group_name, ALTER attempts DROP DEFAULT, ADD tenant text NOT NULL',
  );
  await other.query(`INSERT INTO job_outbox_source VALUES ('second')`);
  expect(await checkTables(here)).toEqual([
    'The column job_outbox.payload has the type jsonb, and needs text.',
    'The column job_outbox.group_name is missing.',
    'The column job_outbox.attempts has no default.',
    'The column job_outbox.tenant is not of the outbox, and has no default.',
    'The table job_outbox has no index on (not_before).',
    'The table job_outbox_source has 2 rows, and needs exactly one.',
  ]);
  await other.end();
});

it('goes on when the database was away', async () => {
  const t = outboxOf();
  await commit((tx) => t.enqueue(tx, 1));
  await server.restart();
  for (let i = 0; i < 3 && (t.outbox.trouble !== undefined || i === 0); i++) {
    await t.outbox.ship(); // a dead connection of the pool may be handed out first
  }
  expect(await t.pending()).toEqual([1]);
});
