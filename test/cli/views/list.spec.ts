// The list of jobs: what each job is, and since when. Names stay whole on a pipe.
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { newQueue } from '../../support/worker/workers.js';
import { cli, cliOnScreen } from '../run-cli.js';

const LONG = `order-${'x'.repeat(110)}-end`;

/** Returns the cells of a table by the names of its columns. */
function cellsOf(stdout: string): Record<string, string>[] {
  const [head, ...rows] = stdout.trimEnd().split('\n').map((line) => line.trim().split(/ {2,}/)); // prettier-ignore
  return rows.map((row) => Object.fromEntries(head!.map((name, i) => [name, row[i] ?? ''])));
}

describe('list', () => {
  it('labels a job by its payload, and says its group and since when it waits', async () => {
    const queue = newQueue();
    await queue.enqueue({ to: 'ada', lines: [1, 2] }, { id: 'a1', group: 'acme' });
    const [job] = cellsOf((await cli(['list', queue.name, 'pending'])).stdout);
    expect(job).toEqual({
      id: 'a1',
      when: expect.stringMatching(/^enqueued (now|\d+ s ago)$/),
      attempts: expect.stringMatching(/^0/),
      group: 'acme',
      label: 'to: ada, lines: [2]',
    });
  });

  it('cuts no id and no error on a pipe, and an id in its middle on a terminal', async () => {
    const queue = newQueue();
    await queue.enqueue({}, { id: LONG });
    const [job] = await queue.claimMany(1);
    await queue.fail(job!, new Error(LONG), { final: true });
    const [piped] = cellsOf((await cli(['list', queue.name, 'failed'])).stdout);
    expect(piped).toMatchObject({ id: LONG, 'last error': LONG });
    const onScreen = cliOnScreen(['list', queue.name, 'failed']);
    const lines = stripVTControlCharacters((await onScreen.over).stdout).split('\n');
    expect(lines[1]).toMatch(/^order-x+…-end {2}failed /);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  });
});

describe('figures', () => {
  it('have their thousands apart, and an idle queue its own sign', async () => {
    const queue = newQueue();
    await queue.enqueueMany(Array.from({ length: 1_200 }, () => ({ payload: 1 })));
    expect((await cli(['stats', queue.name])).stdout).toMatch(/ 1,200 /);
    const idle = newQueue();
    await idle.enqueue(1, { delayMs: 3_600_000 });
    expect((await cli(['health', idle.name])).stdout).toMatch(/^⋯ .* idle: /);
  });
});
