// The table "options together" of docs/jobs.md: each cell is one enqueue here with both options.
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError } from '../../src/queue/errors.js';
import { coreDriver } from './core-driver.js';
import { nestDriver } from './nest-driver.js';
import { HOUR, type Row } from './rows.js';
import { Scene, type Driver } from './scene.js';
import { expectOnReplica } from './server.js';
import { keptWords } from './words.js';
import { tableOf } from '../docs/table.js';

const OPTIONS: Record<string, Row> = {
  '`delayMs`': { options: { delayMs: HOUR } },
  '`runAt`': { options: { runAt: Date.now() + HOUR } },
  '`priority`': { options: { priority: 5 } },
  '`expiresInMs`': { options: { expiresInMs: 2 * HOUR } },
  '`maxAttempts`': { options: { maxAttempts: 5 } },
  '`maxCrashes`': { options: { maxCrashes: 5 } },
  '`backoff`': { options: { backoff: 2 * HOUR } },
  '`timeoutMs`': { options: { timeoutMs: HOUR } },
  '`keepResult: false`': { options: { keepResult: false } },
  '`resultTtlMs`': { options: { resultTtlMs: HOUR } },
  '`durability`': { options: { durability: 'replica' } },
  'a definition': { options: {}, typed: true },
  '`unique`': { options: { unique: { key: 'k', for: 'unfinished' } } },
  '`unique`, replaced': { options: { unique: { key: 'k', for: 'unfinished', onConflict: 'replace' } } },
};

/** What becomes of an enqueue with both: where it waits, where it is claimed from, what its worker is told, what stands in its way. */
async function together(driver: Driver, first: Row, second: Row, cell: string): Promise<string> {
  const options = { ...first.options, ...second.options };
  const typed = Boolean(first.typed ?? second.typed);
  const stage = await driver.open({ options, typed }, cell);
  const scene = new Scene(stage, { options, typed });
  if (options.unique?.onConflict) {
    await stage.enqueue('older', { id: 'subject', unique: options.unique }, typed);
  }
  const made = await stage
    .enqueue('subject', { ...options, ...(options.unique?.onConflict ? {} : { id: 'subject' }) }, typed)
    .catch((error: unknown) => error);
  if (made instanceof InvalidOptionError) {
    expect(await stage.queue.get('subject')).toBeNull();
    return 'refused';
  }
  const job = (await stage.queue.get('subject'))!;
  expect(job.payload).toBe('subject');
  const words = [await scene.place(job.status)];
  if (options.durability) {
    await expectOnReplica(stage.state, 'subject', 'subject');
    words.unshift('on the replica');
  }
  if (job.status === 'scheduled') {
    await stage.state.makeDue('subject');
    await stage.state.run(stage.state.scripts.promote(10));
    words.push(`then ${await scene.place('pending')}`);
  }
  words.push(...(await keptWords({ ...options, expiresInMs: undefined }, job, stage.state)));
  if (options.unique) {
    const { outcome } = await stage.enqueue('rival', { unique: { key: 'k', for: 'unfinished' } }, typed);
    words.push(outcome === 'kept' ? 'key held' : 'key free');
  }
  if (options.expiresInMs) {
    expect(job.expiresAt!.getTime() - job.enqueuedAt.getTime()).toBeGreaterThanOrEqual(2 * HOUR);
    await stage.state.redis.hset(stage.state.keys.job('subject'), 'expires_at_ms', 1);
    expect(await stage.queue.claim()).toBeNull();
    words.push(`${(await stage.queue.get('subject'))!.status} once expired`);
  }
  return words.join(', ');
}

const cells = tableOf('options together').filter(([, , said]) => said !== '');

describe.each([coreDriver, nestDriver()])('through $name, one enqueue with', (driver) => {
  it.each(cells)('%s and %s: %s', async (row, column, said) => {
    expect(OPTIONS).toHaveProperty([row]);
    expect(OPTIONS).toHaveProperty([column]);
    expect(await together(driver, OPTIONS[row]!, OPTIONS[column]!, `${row}, ${column}`)).toBe(said);
  });
});

it('the table has a cell for each pair of options', () => {
  const names = Object.keys(OPTIONS);
  const pairs = names.flatMap((row, i) => names.slice(i + 1).map((column) => `${row} × ${column}`));
  // Both kinds of unique are one option.
  const wanted = pairs.filter((pair) => pair !== '`unique` × `unique`, replaced');
  expect(cells.map(([row, column]) => `${row} × ${column}`)).toEqual(wanted);
});
