// The messages of each server for a missing permission.
import { expect, it } from '@jest/globals';
import { RedisPermissionError } from '#queue/errors/redis-errors.js';
import { explainRefusal } from '#queue/redis/connection-errors.js';

const MESSAGES: [string, string][] = [
  // Redis 7.0
  ["NOPERM this user has no permissions to run the 'get' command", 'the command get'],
  ["NOPERM this user has no permissions to run the 'config|get' command", 'the command config|get'],
  ['NOPERM this user has no permissions to access one of the keys used as arguments', "the queue's keys"],
  ['NOPERM this user has no permissions to access one of the channels used as arguments', "the queue's channel"],
  [
    "ERR The user executing the script can't run this command or subcommand script: 88eb99, on @user_script:1.",
    'a command that a script runs',
  ],
  [
    "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 6d, on @user_script:1.",
    "the queue's keys, inside a script",
  ],
  [
    "ERR The user executing the script can't publish to the channel mentioned in the command script: d6, on @user_script:1.",
    "publish to the queue's channel",
  ],
  // Redis 8, Valkey 8 and 9, Redict 7.3
  ["NOPERM User queue has no permissions to run the 'get' command", 'the command get'],
  ['NOPERM No permissions to access a key', "the queue's keys"],
  ['NOPERM No permissions to access a channel', "the queue's channel"],
  [
    "ERR ACL failure in script: User queue has no permissions to run the 'lpush' command script: on @user_script:1.",
    'a command that a script runs: lpush',
  ],
  [
    'ERR ACL failure in script: No permissions to access a key script: 6dd3, on @user_script:1.',
    "the queue's keys, inside a script",
  ],
  [
    'ERR ACL failure in script: No permissions to access a channel script: on @user_script:1.',
    "publish to the queue's channel",
  ],
];

it.each(MESSAGES)('%s', (message, missing) => {
  const error = explainRefusal(Object.assign(new Error(message), { name: 'ReplyError' }));
  expect(error).toBeInstanceOf(RedisPermissionError);
  expect(error).toMatchObject({ missing: [missing] });
});

it('the reader of permissions leaves another error as it is', () => {
  const error = Object.assign(new Error('ERR syntax error'), { name: 'ReplyError' });
  expect(explainRefusal(error)).toBe(error);
});
