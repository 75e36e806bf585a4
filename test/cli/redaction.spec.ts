// No command shows what `redact` hides, whichever field quotes it.
import { afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { type Job, JobQueue } from 'nest-job-queue/core';
import { main } from '#cli/program.js';
import { tendBatches } from '#queue/operate/tend-batches.js';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { eventually } from '../support/faults/wait.js';
import { startWorker } from '../support/worker/workers.js';

const SECRET = 'DE02-1203-SECRET';
const name = uniqueQueueName();
const other = uniqueQueueName();
const ids: string[] = [];
let batchId = '';
let said = '';
const client = connect();
const queue = new JobQueue(client, name, {
  redact: ['iban'],
  auditTrail: { maxEntries: 1_000 },
  backoff: 1,
  eventExtras: { results: true },
});

/** Fails with the payload in its error. */
function fail({ payload }: Job): never {
  throw new Error(`no account ${(payload as { iban: string }).iban}`);
}

/** Quotes the payload wherever a handler can. */
async function work(job: Job): Promise<unknown> {
  await job.progress({ iban: SECRET });
  await job.log(`account ${SECRET}`);
  return 'fails' in (job.payload as object) ? fail(job) : { iban: SECRET };
}

beforeAll(async () => {
  process.env['REDIS_URL'] = testRedisUrl();
  const elsewhere = new JobQueue(client, other, { redact: ['iban'] });
  await startWorker(elsewhere, fail);
  await startWorker(queue, work);
  const batch = queue.batch();
  batchId = batch.id;
  const members = [
    await batch.add(name, { iban: SECRET }),
    await batch.add(name, { iban: SECRET, fails: true }, { maxAttempts: 1 }),
    await batch.add(other, { iban: SECRET }, { queue: elsewhere, maxAttempts: 1 }),
  ];
  await batch.seal();
  await Promise.allSettled(members.map((member) => member.result()));
  await tendBatches(elsewhere);
  await batch.wait();
  ids.push(...members.map(({ id }) => id));
  await queue.schedules.upsert('monthly', { cron: '0 3 1 * *' }, { payload: { iban: SECRET } });
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** Runs a command, and returns what it wrote. */
async function saidTo(args: readonly string[]): Promise<string> {
  said = '';
  const keep = (text: unknown) => {
    said += String(text);
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(keep);
  jest.spyOn(process.stderr, 'write').mockImplementation(keep);
  const code = await main(['node', 'nest-job-queue', ...args]);
  jest.restoreAllMocks();
  expect([code, said]).toEqual([0, said]);
  return said;
}

it.each<[string, () => string[]]>([
  ['list completed', () => ['list', name, 'completed']],
  ['list failed', () => ['list', name, 'failed']],
  ['show of a completed job', () => ['show', name, ids[0]!]],
  ['show of a dead letter', () => ['show', name, ids[1]!]],
  ['batch', () => ['batch', name, batchId]],
  ['batches', () => ['batches', name]],
  ['audit', () => ['audit', name]],
  ['schedules', () => ['schedules', name]],
  ['stats', () => ['stats', name]],
  ['doctor', () => ['doctor', name]],
])('%s', async (_, args) => {
  for (const flags of [[], ['--json'], ['--verbose']]) {
    await saidTo([...args(), ...flags]);
    expect(said).not.toContain(SECRET);
    expect(said.length).toBeGreaterThan(0);
  }
});

it.each([[[]], [['--json']]])('tail %j: progress, results and errors', async (flags) => {
  await startWorker(queue, work);
  const tailed = saidTo(['tail', name, '--count', '4', ...flags]);
  await eventually(() => said.includes('Listening'));
  await (await queue.enqueue({ iban: SECRET })).result();
  await (await queue.enqueue({ iban: SECRET, fails: true }, { maxAttempts: 1 })).result().catch(() => undefined);
  expect(await tailed).toMatch(/completed/);
  expect(said).not.toContain(SECRET);
});
