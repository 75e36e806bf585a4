// The command that measures a job: it asks, waits for a worker, and writes the file or shows the functions.
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import type { JobQueue } from '#queue/job-queue.js';
import { eventually } from '../support/faults/wait.js';
import { learn } from '../support/worker/learn.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { cli, cliHere } from './run-cli.js';

const FILE = join(tmpdir(), `${process.pid}.heapprofile`);
afterEach(() => rmSync(FILE, { force: true }));

/** Burns the CPU, under a name that a profile shows. */
function burnsForTheCommand(): number {
  let sum = 0;
  for (const until = Date.now() + 60; Date.now() < until;) sum += Math.sqrt(sum + 1);
  return sum;
}

/** Lets a worker measure a job once the command has asked. */
async function measured(queue: JobQueue) {
  const { worker } = await startWorker(queue, () => burnsForTheCommand());
  return async () => {
    await eventually(async () => (await queue.profiles.get())?.state === 'asked');
    await learn(worker);
    return queue.enqueue({});
  };
}

it('waits for a worker, and writes what it measured', async () => {
  const queue = newQueue();
  const run = await measured(queue);
  const command = cliHere(['profile', queue.name, queue.name, '--heap', '--for', '10s', '--out', FILE, '--json']);
  const job = await run();
  const { code, stdout } = await command.over;
  expect([code, JSON.parse(stdout)]).toMatchObject([
    EXIT.ok,
    { kind: 'heap', forMs: 10_000, jobId: job.id, file: FILE },
  ]);
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toHaveProperty('head');
});

it('shows the functions that took most, of a profile that somebody else has waited for', async () => {
  const queue = newQueue();
  const run = await measured(queue);
  expect(await cli(['profile', queue.name, '--ask'])).toMatchObject({
    code: EXIT.ok,
    stdout: expect.stringMatching(/^asked/),
  });
  await run();
  await eventually(async () => (await queue.profiles.get())?.endedAt);
  const { stdout } = await cli(['profile', queue.name, '--last', '--top']);
  expect(stdout).toMatch(/time +function +place\n[^]*burnsForTheCommand +.*profile\.spec/);
  const { functions } = JSON.parse((await cli(['profile', queue.name, '--last', '--top', '--json'])).stdout) as {
    functions: { name: string; share: number }[];
  };
  // On a busy machine the start of the profiler may take more of the time.
  expect(functions.find(({ name }) => name === 'burnsForTheCommand')?.share).toBeGreaterThan(0.05);
});

it.each([
  ['--last', '--ask'],
  ['--last', '--heap'],
  ['--top', '--out', FILE],
  ['--ask', '--out', FILE],
  ['--ask', '--top'],
])('refuses %s beside %s', async (...args) => {
  const queue = newQueue();
  await queue.enqueue({});
  expect(await cli(['profile', queue.name, ...args])).toMatchObject({ code: EXIT.usage });
});
