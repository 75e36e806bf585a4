// What holds for each database client: only jobs of committed transactions, once each.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkTables } from '#outbox/check-tables.js';
import type { OutboxDatabase } from 'nest-job-queue/outbox';
import { gate } from '../faults/wait.js';
import { makeTables, TestOutbox } from './outbox.js';

/** A client as a test uses it. */
export interface Client {
  database: OutboxDatabase;
  /** The client itself, which is no transaction. */
  itself: unknown;
  /** Runs work in a transaction of the app. Default: as the outbox does. */
  begin?<Result>(work: (transaction: unknown) => Promise<Result>): Promise<Result>;
  /** Runs work in a transaction that is nested in this one, and rolls it back. Absent where the client has none. */
  nested?(transaction: never, work: (inner: object) => Promise<void>): Promise<unknown>;
  close(): Promise<unknown>;
}

/** Undoes a transaction. */
export class Undo extends Error {}

/** Makes the tables once for all clients of a server; those of SQLite have a database each. */
export function describeClient(name: string, make: () => Promise<Client>): void {
  describe(`the outbox with ${name}`, () => {
    let client: Client;
    let t: TestOutbox;

    beforeAll(async () => {
      client = await make();
      if (client.database.dialect === 'sqlite') {
        await makeTables(client.database);
      }
      t = new TestOutbox(client.database);
    });

    afterAll(async () => {
      t.close();
      await client.close();
    });

    const begin = (work: (transaction: object) => Promise<unknown>) =>
      (client.begin ?? client.database.begin)((transaction) => work(transaction as object));

    it('finds that its tables are right', async () => {
      expect(await checkTables(client.database)).toEqual([]);
    });

    it('adds the jobs of a committed transaction after its commit, in their order', async () => {
      const handles = await begin(async (transaction) => {
        const made = [await t.enqueue(transaction, 1), await t.enqueue(transaction, 2, { metadata: { a: 'b' } })];
        const many = [{ payload: { to: 'ada ? $1' } }, { payload: 'é\u0000\\', id: 'own' }];
        return [...made, ...(await t.queue.producer.many(undefined, many, { transaction }))];
      });
      expect((handles as { outcome: string }[]).map(({ outcome }) => outcome)).toEqual(Array(4).fill('stored'));
      expect(await t.pending()).toEqual([]);
      expect(await t.rows()).toBe(4);
      await t.outbox.ship();
      expect(await t.pending()).toEqual([1, 2, { to: 'ada ? $1' }, 'é\u0000\\']);
      expect((await t.queue.get((handles as { id: string }[])[1]!.id))?.metadata).toEqual({ a: 'b' });
      expect((await t.queue.get('own'))?.status).toBe('pending');
      expect(await t.rows()).toBe(0);
      await t.purge();
    });

    it('adds each job once where two relays look at the same time', async () => {
      const other = new TestOutbox(client.database);
      await begin(
        (transaction) =>
        t.queue.producer.many(undefined, Array.from({ length: 50 }, (_, payload) => ({ payload })), { transaction }), // prettier-ignore
      );
      await Promise.all([t.outbox.ship(), other.outbox.ship()]);
      await t.outbox.ship(); // where both met the lock of the other
      expect(await t.pending()).toEqual(Array.from({ length: 50 }, (_, i) => i));
      expect(await t.rows()).toBe(0);
      await t.purge();
      other.close();
    });

    it('adds no job of a transaction that rolls back', async () => {
      const undone = begin(async (transaction) => {
        await t.enqueue(transaction, 'never');
        throw new Undo();
      });
      await expect(undone).rejects.toThrow(Undo);
      await t.outbox.ship();
      expect(await t.pending()).toEqual([]);
    });

    it('adds no job of a savepoint that rolls back', async () => {
      const { nested } = client;
      await begin(async (transaction) => {
        await t.enqueue(transaction, 'kept');
        await nested?.(transaction as never, async (inner) => void (await t.enqueue(inner, 'undone'))).catch(
          (error: Error) => expect(error).toBeInstanceOf(Undo),
        );
      });
      await t.outbox.ship();
      expect(await t.pending()).toEqual(['kept']);
      await t.purge();
    });

    it('refuses a value that is no open transaction, and names it', async () => {
      let ended: object | undefined;
      await begin(async (transaction) => {
        ended = transaction;
      });
      const refusal = (value: unknown) =>
        t.enqueue(value as object, 1).then(
          () => 'stored',
          (error: Error) => error.message,
        );
      const words = await Promise.all([client.itself, {}, 'text'].map(refusal));
      expect(words[0]).toMatch(
        /^enqueue.transaction: expected an open transaction, found .*(itself|without a transaction)/,
      );
      expect(words[1]).toMatch(/found no (client|connection|database|EntityManager|transaction) /);
      expect(words.join()).not.toContain('stored');
      expect(await refusal(ended)).not.toBe('stored');
      await t.outbox.ship();
      expect(await t.pending()).toEqual([]);
    });

    it('adds the jobs of a group in the order of the commits, where it is ordered', async () => {
      const [isWritten, commits] = [gate(), gate()];
      const add = (payload: string, group: string) => (transaction: object) =>
        t.enqueue(transaction, payload, { group, ordered: true });
      const first = begin(async (transaction) => {
        await add('first', 'a')(transaction);
        isWritten.open();
        await commits.promise;
      });
      await isWritten.promise;
      if (client.database.dialect === 'sqlite') {
        commits.open(); // SQLite lets no other transaction write until then
        await first;
        await begin(add('second', 'a'));
      } else {
        const second = begin(add('second', 'a'));
        await begin(add('other', 'b'));
        await t.outbox.ship();
        expect(await t.pending()).toEqual(['other']);
        commits.open();
        await Promise.all([first, second]);
      }
      await t.outbox.ship();
      expect((await t.pending()).filter((payload) => payload !== 'other')).toEqual(['first', 'second']);
      await t.purge();
    });

    it('notes once that the work of a job was done', async () => {
      const writer = t.outbox.writerFor('default');
      const mark = (transaction: object) => writer.markDone(transaction, t.queue.name, 'job-1');
      await expect(begin(async (transaction) => (expect(await mark(transaction)).toBe(true), Promise.reject(new Undo())))).rejects.toThrow(Undo); // prettier-ignore
      expect(await begin(mark)).toBe(true);
      expect(await begin(mark)).toBe(false);
    });
  });
}
