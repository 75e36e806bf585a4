// Which errors pass without a change to the setup. The start of a worker waits for their end.
import { expect, it } from '@jest/globals';
import { InvalidOptionError, RedisUnsuitableError } from '#queue/errors/errors.js';
import { isPassing } from '#queue/redis/passing-errors.js';
import { unansweredError } from '#queue/redis/response-timeout.js';

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });

it.each<[string, unknown]>([
  ['a server that gives no answer', unansweredError('Redis gave no answer')],
  ['a connection that was cut', new Error('read ECONNRESET')],
  ['a server that loads', reply('LOADING Redis is loading the dataset in memory')],
  ['a replica', reply("READONLY You can't write against a read only replica.")],
])('the error of %s passes', (_, error) => {
  expect(isPassing(error)).toBe(true);
});

it.each<[string, unknown]>([
  ['a server that is not suitable', new RedisUnsuitableError('Redis 6 is too old')],
  ['a wrong option', new InvalidOptionError('jobs', 'a number', 'none')],
  ['a bug', new TypeError('x is not a function')],
  ['a command that the server refuses', reply('ERR unknown command')],
  ['no error', 'LOADING'],
])('the error of %s stays', (_, error) => {
  expect(isPassing(error)).toBe(false);
});
