// A Redis user with the permissions that docs/cli.md prints: each command that it names reads, and none changes anything.
import { readFileSync } from 'node:fs';
import { expect, it, jest } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { eventually } from '../support/faults/wait.js';
import { createUser } from '../support/redis/acl.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { cli, cliRunning } from './run-cli.js';

jest.setTimeout(120_000); // many commands, one after another

it('reads all that the docs say, and changes nothing', async () => {
  const [, section] = readFileSync('docs/cli.md', 'utf8').split('## A Redis user that may only read');
  const [, permissions] = /ACL SETUSER reader on >password ([^`]*)```/.exec(section!)!;
  const server = await startOwnRedis();
  const admin = connect({}, server.url);
  const queue = newQueue({ auditTrail: {} }, admin);
  await startWorker(queue, () => 1);
  const { id } = await queue.enqueue({}, { group: 'acme', metadata: { tenant: 'acme' } });
  await queue.result(id);
  const later = await queue.enqueue({}, { group: 'acme', delayMs: 3_600_000 });
  await queue.groups.pause('bolt');
  await queue.enqueue({}, { group: 'bolt' }); // it waits, so the names of workers are read
  await queue.schedules.upsert('nightly', { cron: '0 3 * * *' });
  const batch = queue.batch({ id: 'pages', then: { name: queue.name } });
  await batch.addMany(queue.name, [{ payload: 1 }, { payload: 2 }]);
  await createUser(admin, server.url, permissions!.trim().replaceAll(/\s+/g, ' '));
  const env = { REDIS_URL: `redis://queue:pw@${new URL(server.url).host}` };
  const reads: Record<string, string[][]> = {
    queues: [[]],
    stats: [[], [queue.name]],
    health: [[], [queue.name]],
    list: [
      [queue.name, 'completed'],
      [queue.name, 'completed', '--metadata', 'tenant=acme', '--newer-than', '600000'],
      [queue.name, 'scheduled'],
    ],
    show: [
      [queue.name, id],
      [queue.name, later.id],
    ],
    stream: [[queue.name, id]],
    batch: [[queue.name, 'pages']],
    topics: [[]],
    audit: [[queue.name]],
    top: [['--count', '1']],
  };
  const [named] = section!.split('```');
  const commands = [...named!.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name!);
  expect(commands).toEqual(expect.arrayContaining(Object.keys(reads)));
  for (const command of commands.filter((name) => name !== 'tail')) {
    for (const args of reads[command] ?? [[queue.name]]) {
      const ran = await cli([command, ...args], env);
      expect([command, args, ran]).toEqual([command, args, expect.objectContaining({ stderr: '' })]);
      expect([EXIT.ok, EXIT.warning]).toContain(ran.code);
    }
  }
  const tail = cliRunning(['tail', queue.name, '--count', '1'], env);
  await tail.said('Listening');
  const event = JSON.stringify({ id: '1', status: 'completed' });
  const state = { isOver: false };
  const over = tail.over.finally(() => (state.isOver = true));
  await eventually(async () => (await admin.publish(`queue:${queue.name}:events`, event)) >= 0 && state.isOver);
  expect((await over).code).toBe(EXIT.ok);
  for (const args of [
    ['pause', queue.name],
    ['promote', queue.name, later.id],
    ['limits', queue.name, '--max-running', '3'],
  ]) {
    const refused = await cli(args, env);
    expect(refused).toMatchObject({ code: EXIT.failed, stderr: expect.stringContaining('lacks permissions') });
  }
  expect((await queue.stats()).pausedAt).toBeNull();
  await queue.remove(later.id);
});
