// The command that prints what a job streams.
import { expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import type { JobQueue } from '#queue/job-queue.js';
import { eventually, gate } from '../support/faults/wait.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { cli, cliHere } from './run-cli.js';

/** Runs a job that streams a first part, and a second one once the gate is open. */
async function startStream(queue: JobQueue) {
  const go = gate();
  await startWorker(queue, async function* () {
    yield 'two\nlines';
    yield { iban: 'DE02' };
    yield Buffer.from([0, 1]);
    await go.promise;
    yield ' and more';
  });
  const { id } = await queue.enqueue({});
  await eventually(async () => (await queue.get(id))?.stream?.entries === 3);
  return { id, go };
}

it('prints what is stored, as text and as JSON, and the rest behind an item', async () => {
  const queue = newQueue();
  const { id, go } = await startStream(queue);
  expect(await cli(['stream', queue.name, id])).toMatchObject({
    code: EXIT.ok,
    stderr: '',
    stdout: 'two\nlines{"iban":"DE02"}\n[2 bytes]\n',
  });
  const { stdout } = await cli(['stream', queue.name, id, '--json']);
  const items = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string });
  expect(items).toMatchObject([{ data: 'two\nlines' }, { data: { iban: 'DE02' } }, { bytes: 'AAE=' }]);
  expect((await cli(['stream', queue.name, id, '--after', items[1]!.id])).stdout).toBe('[2 bytes]\n');
  expect((await cli(['show', queue.name, id])).stdout).toMatch(
    /stream +3 entries, shown by: npx nest-job-queue stream /,
  );
  go.open();
});

it('follows a job until its end', async () => {
  const queue = newQueue();
  const { id, go } = await startStream(queue);
  const { over, ran } = cliHere(['stream', queue.name, id, '--follow']);
  await eventually(() => ran.stdout.includes('[2 bytes]'));
  go.open();
  expect(await over).toMatchObject({ code: EXIT.ok, stderr: 'The job is completed.\n' });
  expect(ran.stdout).toMatch(/\[2 bytes\] and more\n$/);
});

it('hides what the queue hides', async () => {
  const queue = newQueue({ redact: ['iban'] });
  const { id, go } = await startStream(queue);
  const { stdout } = await cli(['stream', queue.name, id]);
  expect(stdout).toBe('[redacted]{"iban":"[redacted]"}\n[redacted]\n');
  go.open();
});

it('refuses an unknown job, and an item that is none', async () => {
  const queue = newQueue();
  const { id, go } = await startStream(queue);
  expect(await cli(['stream', queue.name, 'unknown'])).toMatchObject({ stdout: '', code: EXIT.notFound });
  const { stderr } = await cli(['stream', queue.name, id, '--after', 'last']);
  expect(stderr).toContain('expected the id of an item of the stream');
  go.open();
});
