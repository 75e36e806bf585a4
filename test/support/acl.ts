// Redis users with few rights.
import type { Redis, RedisOptions } from 'ioredis';
import { SCRIPT_COMMANDS } from '../../src/queue/rights.js';
import { connect } from './redis.js';

/** What a queue needs of a Redis user; docs/reliability.md prints the same. */
export const MINIMAL_RIGHTS = [
  'resetkeys',
  '~queue:*',
  'resetchannels',
  '&queue:*',
  '-@all',
  ...'+eval +evalsha +bzpopmin +info +ping +subscribe +unsubscribe +client|setname'.split(' '),
  ...SCRIPT_COMMANDS.filter((command) => command !== 'pubsub').map((command) => `+${command}`),
  ...'+pubsub|numsub +pubsub|numpat'.split(' '),
].join(' ');

/** What the doctor needs beside: to find a job that is in no list, it looks at all keys. */
export const DOCTOR_RIGHTS = '+scan +zscan +hscan';

/** A connection of the user `queue`, who has these rights and no others; its password is `pw` unless they say. */
export async function createUser(
  admin: Redis,
  url: string,
  rights: string,
  options: RedisOptions = {},
): Promise<Redis> {
  await admin.call('ACL', 'SETUSER', 'queue', 'reset', 'on', '>pw', ...rights.split(' '));
  const user = connect({ username: 'queue', password: 'pw', ...options }, url);
  user.on('error', () => undefined);
  return user;
}
