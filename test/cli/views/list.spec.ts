// The list of jobs: what each job is, and since when. Names stay whole on a pipe.
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { JobQueue } from '#queue/job-queue.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { leaveBroken, newQueue } from '../../support/worker/workers.js';
import { cli, cliOnScreen } from '../run-cli.js';

const LONG = `order-${'x'.repeat(110)}-end`;

/** Returns the cells of a table by the names of its columns. */
function cellsOf(stdout: string): Record<string, string>[] {
  const [head, ...rows] = stdout.trimEnd().split('\n').map((line) => line.trim().split(/ {2,}/)); // prettier-ignore
  return rows.map((row) => Object.fromEntries(head!.map((name, i) => [name, row[i] ?? ''])));
}

/** Returns the ids of a list in JSON. */
function ids({ stdout }: { stdout: string }): string[] {
  return (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id);
}

describe('list', () => {
  it('labels a job by its payload, and says its group and since when it waits', async () => {
    const queue = newQueue();
    await queue.enqueue({ to: 'ada', lines: [1, 2] }, { id: 'a1', group: 'acme' });
    const [job] = cellsOf((await cli(['list', queue.name, 'pending'])).stdout);
    expect(job).toEqual({
      id: 'a1',
      when: expect.stringMatching(/^enqueued (now|\d+ s ago)$/),
      group: 'acme',
      label: 'to: ada, lines: [2]',
    });
  });

  it('shows a job whose state another program wrote', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    leaveBroken(queue);
    await connect().hset(`queue:${queue.name}:job:${id}`, 'status', '9007199254740993');
    const { code, stdout } = await cli(['list', queue.name, 'pending']);
    expect([code, cellsOf(stdout)]).toEqual([EXIT.ok, [expect.objectContaining({ id })]]);
  });

  it('cuts no id and no error on a pipe, and an id in its middle on a terminal', async () => {
    const queue = newQueue();
    await queue.enqueue({}, { id: LONG });
    const [job] = await queue.claimMany(1);
    await queue.fail(job!, new Error(LONG), { final: true });
    const [piped] = cellsOf((await cli(['list', queue.name, 'failed'])).stdout);
    expect(piped).toMatchObject({ id: LONG, attempts: expect.stringMatching(/^1/), 'last error': LONG });
    const onScreen = cliOnScreen(['list', queue.name, 'failed']);
    const lines = stripVTControlCharacters((await onScreen.over).stdout).split('\n');
    expect(lines[1]).toMatch(/^order-x+…-end {2}failed /);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  });
});

describe('list --search', () => {
  const prefix = uniqueQueueName();
  const [mail, bills] = ['mail', 'bills'].map((name) => new JobQueue(connect(), name, { prefix }));

  beforeAll(async () => {
    await mail!.enqueue({ customer: 4, note: 'x' }, { id: 'm1' });
    await mail!.enqueue({ customer: 5 }, { id: 'm2' });
    await mail!.enqueue({ customer: 4, text: 'x'.repeat(70_000) }, { id: 'long' });
    await bills!.enqueue({ customer: 4 }, { id: 'b1', maxAttempts: 1 });
    await bills!.fail((await bills!.claim())!, new Error('410 Gone'), { final: true });
  });

  const search = (text: string, ...args: string[]) =>
    cli(['list', ...args, '--search', text, '--prefix', prefix, '--json']);

  it('finds jobs in all queues and states, dead letters first, and counts the rest', async () => {
    const ran = await search('payload.customer:4');
    expect([ran.code, ids(ran)]).toEqual([EXIT.ok, ['b1', 'm1']]);
    expect(ran.stderr).toBe('Searched 4 jobs. 1 payload is too long or encrypted to be searched.\n');
    const [row] = cellsOf((await cli(['list', '--search', 'error:"410 Gone"', '--prefix', prefix])).stdout);
    expect(row).toMatchObject({ queue: 'bills', id: 'b1', 'last error': expect.stringContaining('410 Gone') });
  });

  it('looks in one queue, in one state, and ends at its limit', async () => {
    expect(ids(await search('payload.customer:4', 'mail'))).toEqual(['m1']);
    expect(ids(await search('customer', 'bills', 'pending'))).toEqual([]);
    expect(ids(await search('state:pending', 'mail', '--offset', '1', '--limit', '1'))).toEqual(['m2']);
    const cut = await search('state:pending', '--limit', '2');
    expect([ids(cut), cut.stderr]).toEqual([['m1', 'm2'], expect.stringContaining('There may be more;')]);
  });

  it.each([
    [['error.x:1'], 'search: expected error: without a path'],
    [['x'.repeat(501)], 'search: expected a search of at most 500 characters'],
    [['x', '--limit', '1001'], '--limit: expected at most 1,000'],
    [['x', '--name', 'mail'], '--search and --name exclude each other'],
  ])('refuses %j', async ([text, ...args], words) => {
    const ran = await search(text!, ...args);
    expect(ran).toMatchObject({ code: EXIT.usage, stdout: '', stderr: expect.stringContaining(words) });
  });

  it('names a queue that it cannot read, and searches the others', async () => {
    const redis = connect();
    await redis.rpush(`${prefix}:odd:stats`, 'no hash');
    const ran = await search('id:m2');
    await redis.del(`${prefix}:odd:stats`);
    expect(ids(ran)).toEqual(['m2']);
    expect(ran.stderr).toMatch(/^odd is unreadable: /);
  });
});

it('figures have their thousands apart, and an idle queue its own sign', async () => {
  const queue = newQueue();
  await queue.enqueueMany(Array.from({ length: 1_200 }, () => ({ payload: 1 })));
  expect((await cli(['stats', queue.name])).stdout).toMatch(/ 1,200 /);
  const idle = newQueue();
  await idle.enqueue(1, { delayMs: 3_600_000 });
  expect((await cli(['health', idle.name])).stdout).toMatch(/^⋯ .* idle: /);
});
