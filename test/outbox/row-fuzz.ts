// Rows of the outbox with anything in any column, between rows of enqueues. These are sent once and in their order. Each
// other row is sent or set aside with a reason.
import { expect } from '@jest/globals';
import type { OutboxDatabase } from 'nest-job-queue/outbox';
import { hostileValue, hostileWord } from '../security/hostile.js';
import { TestOutbox } from '../support/databases/outbox.js';
import fc from '../support/queue/properties.js';

const TURNS = 3;
const WRONGS = 4;

type Column =
  | 'entry'
  | 'id'
  | 'connection'
  | 'queue'
  | 'name'
  | 'payload'
  | 'options'
  | 'group_name'
  | 'attempts'
  | 'created_at'
  | 'not_before';
interface Wrong {
  column: Column;
  value: string | number | null;
}

const names = fc.constantFrom(
  'delayMs', 'runAt', 'priority', 'group', 'maxAttempts', 'backoff', 'unique', 'metadata', 'lifo', 'cost', 'after', 'batch',
  'request', 'groupLimits', 'expiresInMs', '__proto__', 'payloadId', 'resultTtlMs', 'stopsBatch', 'wasMember',
); // prettier-ignore

/** Options of every kind: words, JSON of anything, and options with values of anything. */
const options = fc.oneof(
  hostileWord,
  hostileValue.map((value) => JSON.stringify(value)),
  fc
    .array(fc.tuple(names, fc.oneof(hostileValue, fc.integer(), fc.constant({ key: 'k', for: 'pending' }))), {
      maxLength: 3,
    })
    .map(
      (fields) =>
        `{"options":{${fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}}`,
    ),
);

const text = fc.oneof({ arbitrary: hostileWord, weight: 4 }, fc.constant('x'.repeat(300_000)));
const number = fc.oneof(fc.integer(), fc.constantFrom(2_147_483_647, -2_147_483_648, 0));
const wrong: fc.Arbitrary<Wrong> = fc.oneof(
  { arbitrary: fc.record({ column: fc.constant<Column>('options'), value: options }), weight: 6 },
  {
    arbitrary: fc.record({
      column: fc.constantFrom<Column>('entry', 'id', 'connection', 'queue', 'name', 'payload', 'group_name'),
      value: text,
    }),
    weight: 6,
  },
  fc.record({ column: fc.constant<Column>('attempts'), value: number }),
  fc.record({ column: fc.constantFrom<Column>('created_at', 'not_before'), value: fc.oneof(text, number) }),
);

function run(database: OutboxDatabase, sql: string, values: readonly unknown[] = []) {
  return database.begin((transaction) => database.run(transaction, sql, values));
}

/** Sends some rows, of which some were made wrong. Throws unless each has its outcome. */
async function round(database: OutboxDatabase, wrongs: readonly Wrong[]): Promise<number> {
  await run(database, 'DELETE FROM job_outbox');
  const t = new TestOutbox(database);
  const [good, grouped]: [string[], string[]] = [[], []];
  let planted = 0;
  const add = (payload: string, group?: string) =>
    database.begin((transaction) =>
      t.enqueue(transaction as object, payload, group === undefined ? {} : { group }),
    );
  for (const [i, { column, value }] of wrongs.entries()) {
    good.push(`good ${2 * i}`, `good ${2 * i + 1}`);
    grouped.push(`in group ${i}`);
    await add(`good ${2 * i}`);
    await add(`in group ${i}`, 'a');
    await add(`bad ${i}`, `bad ${i}`);
    // A database refuses some values by itself.
    const isPlanted = await run(database, `UPDATE job_outbox SET ${column} = ? WHERE payload = ?`, [
      value,
      `"bad ${i}"`,
    ]).then(
      () => true,
      () => false,
    );
    planted += Number(isPlanted);
    await add(`good ${2 * i + 1}`);
  }
  for (let turn = 0; turn < TURNS; turn++) await t.outbox.ship();
  const pending = await t.pending();
  expect(pending.filter((payload) => String(payload).startsWith('good'))).toEqual(good);
  expect(pending.filter((payload) => String(payload).startsWith('in group'))).toEqual(grouped);
  const rows = await t.outbox.list({ limit: 100 });
  for (const { lastError, attempts, isFailed } of rows) {
    expect({ isTold: lastError !== undefined || attempts === 0, isFailed: isFailed && attempts < 20 }).toEqual({ isTold: true, isFailed: false }); // prettier-ignore
  }
  expect(t.outbox.trouble).toBeUndefined();
  expect((await t.outbox.stats()).waiting + (await t.outbox.stats()).failed).toBe(rows.length);
  await t.purge();
  t.close();
  return planted;
}

/**
 * Sends rounds of rows for a time.
 *
 * @returns the number of rounds and of wrong rows
 * @throws with the seed of the round that failed
 */
export async function fuzzRows(
  database: OutboxDatabase,
  { seed, seconds }: { seed: number; seconds: number },
): Promise<{ rounds: number; planted: number }> {
  const until = performance.now() + seconds * 1_000;
  let [rounds, planted] = [0, 0];
  while (performance.now() < until) {
    const wrongs = fc.sample(wrong, { seed: seed + rounds, numRuns: WRONGS });
    planted += await round(database, wrongs).catch((error: Error) => {
      const rows = JSON.stringify(wrongs).slice(0, 2_000);
      throw new Error(`PROPERTY_SEED=${seed + rounds}: ${rows}\n${error.message}`);
    });
    rounds += 1;
  }
  return { rounds, planted };
}
