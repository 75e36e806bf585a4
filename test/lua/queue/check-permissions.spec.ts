import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { scriptCommands } from '#queue/digests.generated.js';
import { clusterScripts, luaScripts } from '#queue/lua.generated.js';
import { commandsOf } from '../../../scripts/build/embed-lua.mjs';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { permissionsCall } from '#queue/scripts/preparation.js';
import { ScriptRunner } from '#queue/transport/script-runner.js';
import { createUser, MINIMAL_PERMISSIONS } from '../../support/redis/acl.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';

const keys = new QueueKeys('jobs');
const everything = 'on nopass ~queue:* &queue:* -@all +@all';

it('finds the name of every command in the texts of the scripts', () => {
  const texts = [luaScripts, clusterScripts].flatMap((scripts) =>
    Object.entries(scripts).flatMap(([name, text]) => (name.startsWith('migrate') ? [] : [text])),
  );
  expect(commandsOf(texts)).toEqual([...scriptCommands, 'spublish'].toSorted()); // only in a Cluster, see WAKE_COMMANDS
  const named = texts.flatMap((text) => text.match(/redis\.p?call\(\s*(?:[\w.]+ and '\w+' or )?'/g) ?? []);
  expect(named).toHaveLength(texts.flatMap((text) => text.match(/redis\.p?call\(/g) ?? []).length);
});

it('is documented', () => {
  const text = readFileSync(new URL('../../../docs/redis.md', import.meta.url), 'utf8');
  const [, permissions] = /```\nACL SETUSER queue on >password ([^`]+)```/.exec(text)!;
  expect(permissions!.trim().split(/\s+/).toSorted()).toEqual(MINIMAL_PERMISSIONS.split(' ').toSorted());
});

it('finds each command that is refused, and no other', async () => {
  const server = await startOwnRedis();
  const admin = connect({}, server.url);
  const user = await createUser(admin, server.url, everything);
  const runner = new ScriptRunner(user);
  expect(await runner.run(permissionsCall([keys]))).toEqual([]);
  for (const command of scriptCommands) {
    await admin.call('ACL', 'SETUSER', 'queue', `-${command}`);
    expect(await runner.run(permissionsCall([keys]))).toEqual([{ queue: 0, command }]);
    await admin.call('ACL', 'SETUSER', 'queue', `+${command}`);
  }
});

it('finds a channel that is refused', async () => {
  const server = await startOwnRedis();
  const user = await createUser(connect({}, server.url), server.url, 'on nopass ~queue:* resetchannels +@all');
  expect(await new ScriptRunner(user).run(permissionsCall([keys]))).toEqual([{ queue: 0, command: 'publish' }]);
});

it('asks in a Cluster for the channels of wakes, and for no others beside that of events', async () => {
  const server = await startOwnRedis();
  const commands = ['publish', 'spublish', 'ssubscribe', 'pubsub|shardnumsub'];
  const refusedWith = async (channels: string) => {
    const permissions = `on nopass ~queue:* resetchannels ${channels} +@all`;
    const runner = new ScriptRunner(await createUser(connect({}, server.url), server.url, permissions), () => true);
    return (await runner.run(permissionsCall([keys], commands))).map(({ command }) => command);
  };
  expect(await refusedWith('&queue:jobs:events &queue:jobs:wake:*')).toEqual([]);
  expect(await refusedWith('&queue:jobs:events')).toEqual(['spublish', 'ssubscribe']);
});

it('finds nothing where the user may do everything', async () => {
  expect(await new ScriptRunner(connect()).run(permissionsCall([keys]))).toEqual([]);
});

it('checks several queues in one call, and finds the one whose channel is refused', async () => {
  const server = await startOwnRedis();
  const permissions = 'on nopass ~queue:* &queue:jobs:* &queue:other:* +@all';
  const runner = new ScriptRunner(await createUser(connect({}, server.url), server.url, permissions));
  const queues = ['jobs', 'mail', 'other'].map((name) => new QueueKeys(name));
  const missing = await runner.run(permissionsCall(queues, ['get', 'publish']));
  expect(missing).toEqual([{ queue: 1, command: 'publish' }]);
});
