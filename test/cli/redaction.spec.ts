// No command shows what `redact` hides, whichever field quotes it.
import { beforeAll, expect, it } from '@jest/globals';
import { type Job, JobQueue } from 'nest-job-queue/core';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { eventually } from '../support/faults/wait.js';
import { startWorker } from '../support/worker/workers.js';
import { cli, cliHere } from './run-cli.js';

const SECRET = 'DE02-1203-SECRET';
const name = uniqueQueueName();
const other = uniqueQueueName();
const ids: string[] = [];
let batchId = '';
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
  await maintainBatches(elsewhere);
  await batch.wait();
  ids.push(...members.map(({ id }) => id));
  await queue.schedules.upsert('monthly', { cron: '0 3 1 * *' }, { payload: { iban: SECRET } });
});

/** Runs a command, and returns what it wrote. */
async function saidTo(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(args);
  expect([code, stderr]).toEqual([0, stderr]);
  return stdout + stderr;
}

it.each<[string, () => string[]]>([
  ['list completed', () => ['list', name, 'completed']],
  ['list failed', () => ['list', name, 'failed']],
  ['list --search', () => ['list', name, '--search', 'payload:iban']],
  ['show of a completed job', () => ['show', name, ids[0]!]],
  ['show of a dead letter', () => ['show', name, ids[1]!]],
  ['batch', () => ['batch', name, batchId]],
  ['batches', () => ['batches', name]],
  ['audit', () => ['audit', name]],
  ['errors', () => ['errors', name]],
  ['schedules', () => ['schedules', name]],
  ['stats', () => ['stats', name]],
  ['doctor', () => ['doctor', name]],
])('%s', async (_, args) => {
  for (const flags of [[], ['--json'], ['--verbose']]) {
    const said = await saidTo([...args(), ...flags]);
    expect(said).not.toContain(SECRET);
    expect(said.length).toBeGreaterThan(0);
  }
});

it.each([[[]], [['--json']]])('tail %j: progress, results and errors', async (flags) => {
  await startWorker(queue, work);
  const { over, ran } = cliHere(['tail', name, '--count', '4', ...flags]);
  await eventually(() => (ran.stdout + ran.stderr).includes('Listening'));
  await (await queue.enqueue({ iban: SECRET })).result();
  await (await queue.enqueue({ iban: SECRET, fails: true }, { maxAttempts: 1 })).result().catch(() => undefined);
  const { code, stdout, stderr } = await over;
  expect([code, stderr]).toEqual([0, stderr]);
  expect(stdout).toMatch(/completed/);
  expect(stdout + stderr).not.toContain(SECRET);
});
