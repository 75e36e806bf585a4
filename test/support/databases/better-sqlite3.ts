// The outbox with better-sqlite3, or with what is called as it is.
import Sqlite from 'libsql';
import { fromBetterSqlite3, type BetterSqlite3Database } from 'nest-job-queue/outbox';
import type { Client } from './client-cases.js';

/** The libSQL of the other clients, which is called as better-sqlite3 is. That one itself is in test/long/outbox. */
export class LikeBetterSqlite3 extends Sqlite {
  constructor(path: string, options?: object) {
    super(path, options);
    this.name = path;
  }
}

interface Database extends BetterSqlite3Database {
  exec(sql: string): unknown;
}

/** Makes a client that opens a connection for each transaction. */
export async function betterSqlite3(
  Driver: new (path: string, options?: object) => unknown,
  path: string,
): Promise<Client> {
  const opened: Database[] = [];
  const open = () => {
    const made = new Driver(path) as Database;
    opened.push(made);
    return made;
  };
  const db = open();
  return {
    database: fromBetterSqlite3(db),
    itself: db,
    async begin(work) {
      const transaction = open();
      transaction.exec('BEGIN IMMEDIATE');
      try {
        const result = await work(transaction);
        transaction.exec('COMMIT');
        return result;
      } catch (error) {
        transaction.exec('ROLLBACK');
        throw error;
      }
    },
    async nested(transaction: Database, work) {
      transaction.exec('SAVEPOINT inside');
      await work(transaction);
      transaction.exec('ROLLBACK TO SAVEPOINT inside');
    },
    close: async () => opened.forEach((each) => each.close()),
  };
}
