// The table "options together" of docs/combinations.md: each cell is one enqueue here with both options, or with one alone.
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError, InvalidPayloadError } from '#queue/errors/errors.js';
import type { EnqueueOptions, UniqueOptions } from '#queue/enqueue/enqueue-options.js';
import { coreDriver } from './core-driver.js';
import { nestDriver } from './nest-driver.js';
import { HOUR, type Row } from './rows.js';
import { Scene, type Driver, type Stage } from './scene.js';
import { expectOnReplica } from './server.js';
import { keptWords } from './words.js';
import { allCells } from './all-cells.js';
import { byRow, tableOf } from '../table.js';

const OPTIONS: Record<string, Row> = {
  '`delayMs`': { options: { delayMs: HOUR } },
  '`runAt`': { options: { runAt: Date.now() + HOUR } },
  '`priority`': { options: { priority: 5 } },
  '`id`': { options: { id: 'own' } },
  '`expiresInMs`': { options: { expiresInMs: 2 * HOUR } },
  '`maxAttempts`': { options: { maxAttempts: 5 } },
  '`maxCrashes`': { options: { maxCrashes: 5 } },
  '`backoff`': { options: { backoff: 2 * HOUR } },
  '`timeoutMs`': { options: { timeoutMs: HOUR } },
  '`keepResult: false`': { options: { keepResult: false } },
  '`resultTtlMs`': { options: { resultTtlMs: 48 * HOUR } },
  '`durability`': { options: { durability: 'replica' } },
  'a definition': { options: {}, typed: true },
  '`lifo`': { options: { lifo: true } },
  '`group`': { options: { group: 'tenant' } },
  '`after`': { options: { after: ['first'] } },
  '`cost`': { options: { cost: 2 } },
  '`metadata`': { options: { metadata: { tenant: 'a' } } },
};
const UNIQUE: Record<string, Row> = {
  "`unique` for `'pending'`": unique('pending'),
  "`unique` for `'unfinished'`": unique('unfinished'),
  '`unique` for `{ ms }`': unique({ ms: HOUR }),
  "`'pending'`, `'replace'`": unique('pending', 'replace'),
  "`'unfinished'`, `'replace'`": unique('unfinished', 'replace'),
  "`{ ms }`, `'replace'`": unique({ ms: HOUR }, 'replace'),
};
const ALL: Record<string, Row> = { ...OPTIONS, ...UNIQUE };
const ALONE = 'alone';

function unique(hold: UniqueOptions['for'], onConflict?: UniqueOptions['onConflict']): Row {
  return { options: { unique: { key: 'k', for: hold, onConflict } } };
}

/** Returns the outcome of an enqueue with these options: its place, the worker's options, and its obstacles. */
async function wordsOf(driver: Driver, ...rows: Row[]): Promise<string[]> {
  const options: EnqueueOptions = Object.assign({}, ...rows.map((row) => row.options));
  const typed = rows.some((row) => row.typed);
  const stage = await driver.open({ options, typed }, '');
  const replaces = options.unique?.onConflict === 'replace';
  if (replaces) {
    await stage.enqueue('older', { id: 'older', unique: options.unique }, typed);
  }
  const before = options.lifo ? 'peer' : options.after ? 'first' : undefined;
  if (before !== undefined) {
    await stage.enqueue(before, { id: before }, typed);
  }
  const there = await stage.state.total('enqueued');
  const made = await stage.enqueue('subject', options, typed).catch((error: unknown) => error);
  if (made instanceof InvalidOptionError) {
    expect(await stage.state.total('enqueued')).toBe(there);
    return ['refused'];
  }
  const { id } = made as { id: string };
  expect((await stage.get(id))!.payload).toBe('subject');
  return [
    ...(options.durability ? [await onReplica(stage, id)] : []),
    ...(options.after ? [await afterWord(stage, id)] : []),
    ...(await placeWords(stage, id, options)),
    ...(await keptWords(
      { options: { ...options, expiresInMs: undefined, after: undefined } },
      (await stage.get(id))!,
      stage.state,
    )),
    ...(typed ? [await checkedWord(stage, options)] : []),
    ...(await claimWords(stage, id, options, typed)),
  ];
}

async function onReplica(stage: Stage, id: string): Promise<string> {
  await expectOnReplica(stage.state, id, 'subject');
  return 'on the replica';
}

/** Ends the other job, and returns where the jobs that waited for it are. */
async function afterWord(stage: Stage, id: string): Promise<string> {
  const { status, after } = (await stage.get(id))!;
  expect([status, after]).toEqual(['scheduled', [{ id: 'first', queue: stage.queue.name }]]);
  await stage.queue.complete((await stage.queue.claim())!, 'done');
  await stage.state.run(stage.state.scripts.sweep.promote({ limit: 10 }));
  return 'after the other job';
}

/** Returns the place of a job; empty for the end of the line, where a job without options goes. */
async function placeWords(stage: Stage, id: string, { group }: EnqueueOptions): Promise<string[]> {
  const words: string[] = [];
  if ((await stage.get(id))!.status === 'scheduled') {
    await stage.state.makeDue(id);
    await stage.state.run(stage.state.scripts.sweep.promote({ limit: 10 }));
    words.push('scheduled');
  }
  const scene = new Scene(stage, { options: group === undefined ? {} : { group } });
  scene.id = id;
  const place = await scene.place((await stage.get(id))!.status);
  return place === 'in the line' ? words : [...words, place];
}

async function checkedWord(stage: Stage, options: EnqueueOptions): Promise<string> {
  const bad = await stage.enqueue(5 as never, options, true).catch((error: unknown) => error);
  return bad instanceof InvalidPayloadError ? 'payload checked' : 'payload not checked';
}

/** Returns what a second enqueue finds of the id and the unique key, and whether the job expires. */
async function claimWords(stage: Stage, id: string, options: EnqueueOptions, typed: boolean): Promise<string[]> {
  const words: string[] = [];
  if (options.id) {
    const { outcome } = await stage.enqueue('again', { id: options.id }, typed);
    words.push(outcome === 'existing' ? 'id known' : 'id not taken');
  }
  if (options.unique) {
    const { outcome } = await stage.enqueue('rival', { unique: { key: 'k', for: 'unfinished' } }, typed);
    words.push(outcome === 'kept' ? 'key held' : 'key free', ...(id === 'older' ? ['replaces the older'] : []));
  }
  if (options.expiresInMs) {
    const { expiresAt, enqueuedAt } = (await stage.get(id))!;
    expect(expiresAt!.getTime() - enqueuedAt.getTime()).toBeGreaterThanOrEqual(2 * HOUR);
    await stage.state.redis.hset(stage.state.keys.job(id), 'expires_at_ms', 1);
    await stage.queue.claim();
    words.push(`${(await stage.get(id))!.status} once expired`);
  }
  return words;
}

const rows = byRow(tableOf('options together', 'docs/combinations.md'));
/** The words of the docs for each option alone, which has a cell of its own. */
const ALONE_WORDS = new Map(rows.map(([row, said]) => [row, said[ALONE]!.split(', ')]));

/** Returns the word of the docs: `both` if the job has exactly the effects of each option alone. */
async function together(driver: Driver, row: string, column: string): Promise<string> {
  if (column === ALONE) {
    return (await wordsOf(driver, ALL[row]!)).join(', ');
  }
  const words = await wordsOf(driver, ALL[row]!, ALL[column]!);
  const each = new Set([row, column].flatMap((option) => ALONE_WORDS.get(option)!));
  return [...each].toSorted().join() === words.toSorted().join() ? 'both' : words.join(', ');
}

describe.each([coreDriver, nestDriver()])('through $name, one enqueue with', (driver) => {
  it.each(rows)('%s and each other option', async (row, said) => {
    expect(await allCells(said, (column) => together(driver, row, column))).toEqual(said);
  });
});

it('the table has a cell for each option and each pair of them', () => {
  const columns = [ALONE, ...Object.keys(OPTIONS)];
  // A pair is there once; two kinds of unique make none, because they are one option.
  const wanted = Object.keys(ALL).map((row) => {
    const i = columns.indexOf(row);
    return [row, columns.slice(0, i === -1 ? columns.length : i)];
  });
  expect(rows.map(([row, said]) => [row, Object.keys(said)])).toEqual(wanted);
});
