// Groups and batches on the real command line.
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { connect } from '../support/redis/redis.js';
import { newQueue } from '../support/worker/workers.js';
import { cli, cliOnScreen } from './run-cli.js';

const HOSTILE = 'red\u001B[31m\nforged';

it('lists groups with the reason that holds each back, and pauses and resumes one', async () => {
  const queue = newQueue();
  expect(await cli(['groups', queue.name])).toMatchObject({ code: EXIT.notFound });
  await queue.enqueueMany([
    { payload: 1, group: HOSTILE },
    { payload: 2, group: 'acme' },
    { payload: 3, group: 'acme' },
  ]);
  expect(await cli(['pause', queue.name, '--group', 'acme'])).toMatchObject({ stdout: 'paused\n' });
  const { stdout } = await cli(['groups', queue.name]);
  expect(stdout).toMatch(/acme +2 +\S.* 0 +paused (now|\d+ s ago)/);
  expect(stdout).toContain('red\\x1b[31m\\nforged');
  expect(stdout).not.toContain('\u001B');
  const listed = await cli(['groups', queue.name, '--by', 'depth', '--limit', '1', '--json']);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'acme', pending: 2 }]);
  expect(listed.stderr).toBe('');
  const first = await cli(['groups', queue.name, '--limit', '1']);
  expect(first).toMatchObject({ code: EXIT.ok, stderr: 'There may be more: --offset 1.\n' });
  const jobs = await cli(['list', queue.name, 'pending', '--limit', '2', '--offset', '1']);
  expect(jobs).toMatchObject({ code: EXIT.ok, stderr: 'There may be more: --offset 3.\n' });
  expect(await cli(['resume', queue.name, '--group', 'acme'])).toMatchObject({ stdout: 'resumed\n' });
  expect(await queue.groups.get('acme')).toMatchObject({ pausedAt: null });
  expect(await cli(['groups', queue.name, '--by', 'luck'])).toMatchObject({
    code: EXIT.usage,
    stderr: expect.stringContaining("expected 'depth' or 'age'"),
  });
});

it('says of a group that as many of its jobs run as may, by the limits of all groups', async () => {
  const queue = newQueue();
  await queue.limits.set({ groups: { maxRunning: 1 } });
  await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'acme' })));
  await queue.claim();
  expect((await cli(['groups', queue.name])).stdout).toMatch(/acme +1 +\S.* 1 +1 run, as many as may/);
}, 60_000);

it('shows batches with their jobs, and cancels those that have not ended', async () => {
  const queue = newQueue();
  const mail = newQueue();
  const batch = queue.batch({ id: 'pages', then: { name: queue.name }, onFailure: { queue: mail.name } });
  await batch.addMany(
    queue.name,
    [1, 2].map((payload) => ({ payload, id: `page-${payload}` })),
  );
  const [first] = await queue.claimMany(1);
  await queue.fail(first!, new Error(HOSTILE), { final: true });
  expect((await cli(['batches', queue.name])).stdout).toMatch(/pages +(now|\d+ s ago) +0 +1 +1 +2 +– +open/);
  expect((await cli(['batches', queue.name, '--offset', '1'])).stdout).toBe('No further batch is at work.\n');
  const ended = ['batches', queue.name, '--ended'];
  expect((await cli(ended)).stdout).toContain('No batch has ended within the last week.');
  await queue.batch({ id: 'empty' }).seal();
  expect((await cli(ended)).stdout).toMatch(/empty +(now|\d+ s ago) +0 +0 +0 +0 +(now|\d+ s ago) +ended/);
  await queue.batch({ id: 'a-batch-whose-name-has-no-room-for-its-begin' }).seal();
  const narrow = stripVTControlCharacters((await cliOnScreen(ended).over).stdout);
  expect(narrow).toMatch(/its-begin +0 +0 +0 +0 +(now|\d+ s ago)\s/);
  const { stdout } = await cli(['batch', queue.name, 'pages', '--limit', '1']);
  expect(stdout).toContain('Jobs may still join; 1 of 2 jobs has not ended. Nothing follows before it is sealed.');
  expect(stdout).toMatch(/page-1 +\S+ +failed +red\\x1b/);
  expect(stdout).toContain('More jobs: --offset 1');
  expect(stdout).toMatch(new RegExp(`onFailure +${mail.name} .*waits for the batch`));
  expect(stdout).not.toContain('\u001B');
  expect((await cli(['show', queue.name, 'page-2'])).stdout).toContain(`pages of ${queue.name} (member)`);
  expect(await cli(['batch', queue.name, 'pages', '--cancel'])).toMatchObject({
    code: EXIT.usage,
    stderr: expect.stringContaining('cancel 1 job of batch pages. Pass --yes'),
  });
  const cancelled = await cli(['batch', queue.name, 'pages', '--cancel', '--yes', '--json']);
  expect(JSON.parse(cancelled.stdout)).toMatchObject({ id: 'pages', stopped: true });
  await batch.seal();
  const { followUps } = JSON.parse((await cli(['batch', queue.name, 'pages', '--json'])).stdout);
  expect(followUps).toMatchObject([
    { kind: 'then', queue: queue.name, state: 'not for this end' },
    { kind: 'onFailure', queue: mail.name, state: 'pending' },
  ]);
  await connect().hset(`queue:${mail.name}:sweep`, 'layout', 99);
  expect(await cli(['batch', queue.name, 'pages'])).toMatchObject({
    code: EXIT.ok,
    stdout: expect.stringMatching(new RegExp(`onFailure +${mail.name} .*unreadable`)),
  });
  await connect().hdel(`queue:${mail.name}:sweep`, 'layout');
  expect(await cli(['batch', queue.name, 'other'])).toMatchObject({ code: EXIT.notFound });
}, 60_000);
