// Rows that cannot be sent, whatever is wrong with them. Each is set aside alone, is shown, and is sent once repaired.
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { encrypted } from 'nest-job-queue/core';
import type { OutboxDatabase, OutboxDialect } from 'nest-job-queue/outbox';
import { TestOutbox } from '../support/databases/outbox.js';
import { someOf } from '../support/run/samples.js';
import { onOutboxDatabases, OUTBOX_DATABASES } from '../support/databases/outbox-databases.js';

/** A column that was made wrong after its row was written, and what becomes of the row. */
interface Wrong {
  column: string;
  what: string;
  /** The value; a text in an array is an expression of SQL. */
  value: string | number | null | [sql: string];
  /** The reason in the list of rows. Absent: the row is sent as it is. */
  reason?: RegExp;
  /** The databases that take such a value. @default all */
  only?: readonly OutboxDialect[];
}

const kept = (options: unknown, span?: unknown) => JSON.stringify({ options, span });
const long = (length: number) => 'x'.repeat(length);
const deep = `{"options":{"metadata":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`;

const NOT_MYSQL = ['postgres', 'sqlite'] as const;

const WRONGS: readonly Wrong[] = [
  { column: 'entry', what: 'empty', value: '', reason: /^entry: expected text of 1 to 256 characters, found ""/ },
  { column: 'entry', what: '1 MB', value: long(1_000_000), reason: /^entry: /, only: NOT_MYSQL },
  { column: 'id', what: 'empty', value: '', reason: /^id: expected 1 to 128 characters/ },
  { column: 'id', what: 'too long', value: long(129), reason: /^id: / },
  { column: 'id', what: '1 MB', value: long(1_000_000), reason: /^id: /, only: NOT_MYSQL },
  { column: 'id', what: 'a line break', value: 'a\nb', reason: /^id: / },
  { column: 'id', what: 'that of a schedule', value: '@schedule:a:1', reason: /^id: .*@schedule:/ },
  { column: 'queue', what: 'a star', value: 'a*b', reason: /^queue name: .*found "a\*b"/ },
  { column: 'queue', what: 'empty', value: '', reason: /^queue name: / },
  { column: 'queue', what: '1 MB', value: long(1_000_000), reason: /^queue name: /, only: NOT_MYSQL },
  { column: 'queue', what: 'keys of another queue', value: 'a:job:b', reason: /^queue name: .*":job"/ },
  { column: 'queue', what: 'inherited', value: '__proto__ ', reason: /^queue name: / },
  { column: 'name', what: 'empty', value: '', reason: /^name: expected text of 1 to 256 characters/ },
  { column: 'name', what: '1 MB', value: long(1_000_000), reason: /^name: /, only: NOT_MYSQL },
  { column: 'name', what: 'that of a failure job', value: '@failed:a', reason: /^name: .*@failed:/ },
  { column: 'payload', what: 'no JSON', value: '{{', reason: /^payload: expected JSON/ },
  { column: 'payload', what: 'empty', value: '', reason: /^payload: expected JSON/ },
  { column: 'options', what: 'no JSON', value: '{{', reason: /JSON/ },
  { column: 'options', what: 'empty', value: '', reason: /JSON/ },
  { column: 'options', what: 'null', value: 'null', reason: /^options: expected an object/ },
  { column: 'options', what: 'a number', value: '7', reason: /^options: expected an object/ },
  { column: 'options', what: 'a list', value: '[]', reason: /^options: expected an object/ },
  { column: 'options', what: 'another field', value: '{"a":1}', reason: /^options\.a: expected a known option/ },
  { column: 'options', what: 'no object within', value: kept(7), reason: /^options\.options: / },
  { column: 'options', what: 'an unknown option', value: kept({ a: 1 }), reason: /^options\.options\.a: / },
  {
    column: 'options',
    what: 'an inherited option',
    value: '{"options":{"__proto__":{"group":5}}}',
    reason: /options/,
  },
  { column: 'options', what: 'a delay in words', value: kept({ delayMs: 'soon' }), reason: /\.delayMs: / },
  { column: 'options', what: 'an endless delay', value: '{"options":{"delayMs":1e999}}', reason: /\.delayMs: / },
  { column: 'options', what: 'a start in words', value: kept({ runAt: 'soon' }), reason: /\.runAt: / },
  { column: 'options', what: 'a group that is none', value: kept({ group: 5 }), reason: /\.group: / },
  { column: 'options', what: 'a group of 1 MB', value: kept({ group: long(1_000_000) }), reason: /\.group: / },
  { column: 'options', what: 'a priority of a table', value: kept({ priority: {} }), reason: /\.priority: / },
  {
    column: 'options',
    what: 'a key that is none',
    value: kept({ unique: { key: 5, for: 'pending' } }),
    reason: /\.unique/,
  },
  { column: 'options', what: 'a key that replaces', value: kept({ unique: { key: 'a', for: 'pending', onConflict: 'replace' } }), reason: /\.unique/ }, // prettier-ignore
  { column: 'options', what: 'limits without a group', value: kept({ groupLimits: {} }), reason: /groupLimits/ },
  {
    column: 'options',
    what: 'limits that are none',
    value: kept({ group: 'a', groupLimits: 5 }),
    reason: /groupLimits/,
  },
  { column: 'options', what: 'a batch', value: kept({ batch: 'b' }), reason: /a member of a batch/ },
  { column: 'options', what: 'other jobs', value: kept({ after: ['x'] }), reason: /\.after: / },
  { column: 'options', what: 'metadata of numbers', value: kept({ metadata: { a: 5 } }), reason: /\.metadata/ },
  { column: 'options', what: 'metadata without a bottom', value: deep, reason: /./ },
  { column: 'options', what: 'a request that is none', value: kept({ request: 5 }), reason: /\.request: / },
  {
    column: 'options',
    what: 'a span of words',
    value: kept({}, { runAtMs: 'a', expiresInMs: 5 }),
    reason: /\.span/,
  },
  { column: 'group_name', what: 'of another group', value: 'other' },
  { column: 'group_name', what: '1 MB', value: long(1_000_000), reason: /^group_name: /, only: NOT_MYSQL },
  { column: 'created_at', what: 'never', value: [`'infinity'`], only: ['postgres'] },
  { column: 'created_at', what: 'always', value: [`'-infinity'`], only: ['postgres'] },
  { column: 'created_at', what: 'words', value: 'soon', only: ['sqlite'] },
  { column: 'created_at', what: 'too large', value: ['9223372036854775807'], only: ['sqlite'] },
  { column: 'created_at', what: 'too small', value: ['-9223372036854775807'], only: ['sqlite'] },
  {
    column: 'created_at',
    what: 'far in the future',
    value: [`'9999-12-31 00:00:00'`],
    only: ['postgres', 'mysql'],
  },
  { column: 'attempts', what: 'the largest number', value: 2_147_483_647 },
  { column: 'attempts', what: 'beyond numbers', value: ['9223372036854775807'], only: ['sqlite'] },
  { column: 'attempts', what: 'negative', value: -2_147_483_648 },
  { column: 'attempts', what: 'words', value: 'many', only: ['sqlite'] },
  { column: 'last_error', what: 'long', value: long(60_000) },
  { column: 'seq', what: 'negative', value: ['-5'], only: ['mysql', 'sqlite'] },
  { column: 'seq', what: 'beyond numbers', value: ['9007199254740993'], only: ['mysql', 'sqlite'] },
];

onOutboxDatabases('the outbox', someOf(OUTBOX_DATABASES, 3), (opened) => {
  let database: OutboxDatabase;
  let t: TestOutbox;

  beforeEach(async () => {
    database = opened();
    await run('DELETE FROM job_outbox');
    t = new TestOutbox(database);
  });

  afterEach(() => t.close());

  const run = (sql: string, values: readonly unknown[] = []) =>
    database.begin((transaction) => database.run(transaction, sql, values));
  const add = (payload: unknown, options = {}) =>
    database.begin((transaction) => t.enqueue(transaction as object, payload, options));

  /** Sets a column of the row whose job has this payload. */
  const set = (column: string, value: Wrong['value'], payload: string) =>
    run(
      `UPDATE job_outbox SET ${column} = ${Array.isArray(value) ? value[0] : '?'} WHERE payload = ? OR entry = 'bad'`,
      [...(Array.isArray(value) ? [] : [value]), payload],
    );

  const wrongs = () => WRONGS.filter(({ only }) => only?.includes(database.dialect) ?? true);

  it.each(WRONGS.map((wrong) => [wrong.column, wrong.what, wrong] as const))(
    'sends what is beside a row whose %s is wrong: %s',
    async (column, _what, wrong) => {
      if (!wrongs().includes(wrong)) return;
      const { value, reason } = wrong;
      await add('before');
      await add('bad', { group: 'a' });
      const [good] = await run(`SELECT * FROM job_outbox WHERE payload = '"bad"'`);
      await add('behind');
      await set(column, value, '"bad"');
      await t.outbox.ship();
      await t.outbox.ship();
      const isSent = reason === undefined;
      expect((await t.pending()).filter((payload) => payload !== 'bad')).toEqual(['before', 'behind']);
      expect(await t.outbox.stats()).toMatchObject({
        waiting: isSent ? 0 : 1,
        setAside: isSent ? 0 : 1,
        failed: 0,
      });
      expect(t.outbox.trouble).toBeUndefined();
      if (!isSent) {
        const [shown] = await t.outbox.list();
        expect(shown).toMatchObject({ attempts: 1, lastError: expect.stringMatching(reason) });
        expect(shown!.lastError!.length).toBeLessThan(1_100);
        await run(`UPDATE job_outbox SET ${column} = ? WHERE last_error IS NOT NULL`, [good![column]]);
        expect(await t.outbox.retry()).toBe(1);
        await t.outbox.ship();
      }
      const pending = await t.pending();
      expect(pending).toHaveLength(3);
      expect(pending).toEqual(expect.arrayContaining(['bad', 'before', 'behind']));
      expect(await t.outbox.stats()).toMatchObject({ waiting: 0, failed: 0 });
    },
  );

  const many = (count: number) =>
    database.begin((transaction) => {
      const jobs = Array.from({ length: count }, (_, payload) => ({ payload }));
      return t.queue.producer.many(undefined, jobs, { transaction: transaction as object });
    });

  it('sends thousands of rows behind one that no queue can have, and deletes them', async () => {
    await add('bad');
    await set('queue', 'a*b', '"bad"');
    await many(2_100);
    await t.outbox.ship();
    expect((await t.queue.stats()).pending).toBe(2_100);
    expect(await t.outbox.list()).toMatchObject([
      { attempts: 1, lastError: expect.stringMatching(/^queue name: /) },
    ]);
    expect(t.warnings.join()).toMatch(
      /^The row \d+ of the outbox was refused: queue name: .*next attempt is in 1000 ms/,
    );
  });

  it('keeps the order of a group whose middle row is bad', async () => {
    await add('first', { group: 'a' });
    await add('bad', { group: 'a' });
    await add('third', { group: 'a' });
    await set('options', '{{', '"bad"');
    await t.outbox.ship();
    expect(await t.pending()).toEqual(['first']);
    await set('options', '{"options":{"group":"a"}}', '"bad"');
    await t.outbox.retry();
    await t.outbox.ship();
    expect(await t.pending()).toEqual(['first', 'bad', 'third']);
  });

  it('sets a row aside whose entry is that of another one, since the second would count as sent', async () => {
    await add('first');
    await add('bad');
    const [first] = await run(`SELECT entry FROM job_outbox WHERE payload = '"first"'`);
    await set('entry', first!['entry'] as string, '"bad"');
    await t.outbox.ship();
    expect(await t.pending()).toEqual(['first']);
    expect((await t.outbox.list())[0]!.lastError).toMatch(/^entry: expected text that no other row has/);
    await t.outbox.retry();
    await t.outbox.ship();
    expect(await t.pending()).toEqual(['first', 'bad']);
  });

  it('leaves a row to the relay of its connection for a minute, and sets it aside then', async () => {
    await add('bad');
    await set('connection', 'nope', '"bad"');
    await many(1_100);
    await t.outbox.ship();
    expect((await t.queue.stats()).pending).toBe(1_100);
    expect(t.outbox.trouble).toBeUndefined();
    expect(await t.outbox.stats()).toMatchObject({ waiting: 1, setAside: 0 });
    await set('created_at', { sqlite: 0, postgres: '2020-01-01', mysql: '2020-01-01' }[database.dialect], '"bad"');
    await t.outbox.ship();
    const [shown] = await t.outbox.list();
    expect(shown).toMatchObject({ attempts: 1, lastError: expect.stringMatching(/^connection: .*found "nope"/) });
    await set('connection', 'default', '"bad"');
    expect(await t.outbox.retry()).toBe(1);
    await t.outbox.ship();
    expect(await t.outbox.stats()).toMatchObject({ waiting: 0 });
  });

  it('sets a row aside that its client cannot read, and no row where it can read none', async () => {
    await many(300);
    await add('bad');
    await many(300);
    let failsFor = '"bad"';
    const failing: OutboxDatabase = {
      ...database,
      run: async (transaction, sql, values, name) => {
        const rows = await database.run(transaction, sql, values, name);
        const isRead = sql.includes('AS payload');
        if (isRead && (failsFor === '' || rows.some(({ payload }) => payload === failsFor)))
          throw new RangeError('too large for a number');
        return rows;
      },
    };
    const other = new TestOutbox(failing, {}, undefined, false);
    other.queueOf(t.queue.name);
    await other.outbox.ship();
    expect((await t.queue.stats()).pending).toBe(600);
    expect(await t.outbox.list()).toMatchObject([{ attempts: 1, lastError: 'too large for a number' }]);
    await t.outbox.retry();
    failsFor = '';
    await other.outbox.ship();
    expect(other.outbox.trouble).toBe('too large for a number');
    expect(await t.outbox.stats()).toMatchObject({ waiting: 1, setAside: 0 });
    other.close();
  });

  it.each(['without', 'with'])(
    'sets a row aside that was written in the clear where plain jobs are refused, by a relay %s the key',
    async (relay) => {
      const codec = encrypted([{ id: 'k', key: randomBytes(32) }], { plainJobs: 'refuse' });
      const keyed = new TestOutbox(database, { codec });
      const [sealing, relaying] = [keyed.queueOf(t.queue.name), relay === 'with' ? keyed : t];
      await sealing.enqueue('known');
      await add('plain');
      const addSealed = (payload: string) =>
        database.begin((transaction) =>
          sealing.producer.one(undefined, payload, {}, { transaction: transaction as object }),
        );
      await addSealed('sealed');
      // The envelope of a codec that is not that of the queue is in the clear too.
      await add('foreign');
      await set('payload', '{"$codec":"superjson","value":"foreign"}', '"foreign"');
      await relaying.outbox.ship();
      expect(await keyed.pending(sealing)).toEqual(['known', 'sealed']);
      expect(relaying.outbox.trouble).toBeUndefined();
      const text = `Queue "${t.queue.name}" is encrypted, and the payload is not`;
      const lastError = expect.stringContaining(text);
      expect(await t.outbox.list()).toMatchObject([
        { attempts: 1, lastError },
        { attempts: 1, lastError },
      ]);
      keyed.close();
    },
  );
});
