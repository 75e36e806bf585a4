// What the errors of a Redis that refuses say, and how they are found within the errors of a handler.
import { expect, it } from '@jest/globals';
import { isFrom, RedisOutOfMemoryError, RedisStateError } from '#queue/errors/errors.js';
import {
  explainState,
  remedyOfRefusal,
  stateErrorIn,
  withRemedy,
  wrongKeysInWords,
  wrongKeysRemedy,
} from '#queue/errors/redis-errors.js';

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
const caused = (cause: unknown) => new Error('outer', { cause });
const FULL = "OOM command not allowed when used memory > 'maxmemory'.";

it.each([
  [FULL, /^Free memory/],
  ["READONLY You can't write against a read only replica.", /^Connect to the master/],
  ['CLUSTERDOWN The cluster is down', /^CLUSTER INFO/],
  ['MISCONF Redis is configured to save RDB snapshots', /^Look at the log and the disk/],
  ['NOREPLICAS Not enough good replicas to write.', /^Look at the replicas/],
])('says what to do about "%s"', (message, remedy) => {
  const words = remedyOfRefusal(message);
  expect(words).toMatch(remedy);
  expect(withRemedy(message)).toBe(`${message.replace(/\.$/, '')}. ${words}`);
  expect(withRemedy(withRemedy(message))).toBe(withRemedy(message));
});

it.each(['ERR unknown command', 'LOADING Redis is loading the dataset in memory', 'the ROOM is full'])(
  'adds nothing to "%s"',
  (message) => {
    expect([remedyOfRefusal(message), withRemedy(message)]).toEqual([undefined, message]);
  },
);

it.each([
  'READONLY x',
  'MISCONF x',
  'NOREPLICAS x',
  'CLUSTERDOWN x',
  'MASTERDOWN x',
  'LOADING x',
  'TRYAGAIN x',
  'BUSY x',
])('explains the reply "%s" as a state of Redis', (message) => {
  const error = explainState(reply(message), 'Redis at h:1') as RedisStateError;
  expect(error).toBeInstanceOf(RedisStateError);
  expect(error).not.toBeInstanceOf(RedisOutOfMemoryError);
  expect(error).toMatchObject({ reply: message, cause: { message } });
  expect(error.message).toBe(withRemedy(`Redis at h:1 refused a call: ${message}`));
});

it('explains a full Redis as an error of its own', () => {
  const error = explainState(reply(FULL), 'Redis at h:1');
  expect(error).toBeInstanceOf(RedisOutOfMemoryError);
  expect((error as Error).message).toMatch(/^Redis at h:1 is out of memory \(maxmemory\) and refused a call: OOM /);
});

it.each([
  ['a reply about something else', reply('ERR no such key')],
  ['a reply whose text only contains such a word', reply('ERR not READONLY')],
  ['a reply whose first word only begins so', reply('BUSYGROUP Consumer Group name already exists')],
  ['an error that is no reply', new Error('READONLY x')],
  ['a value that is no error', { name: 'ReplyError', message: 'READONLY x' }],
  ['nothing', undefined],
])('leaves %s as it is', (_what, error) => {
  expect(explainState(error, 'Redis')).toBe(error);
});

it('finds the refusal that caused the error of a handler, up to four errors deep', () => {
  const refusal = new RedisStateError('READONLY x');
  let error: unknown = refusal;
  for (let depth = 0; depth < 5; depth++) {
    expect(stateErrorIn(error)).toBe(refusal);
    error = caused(error);
  }
  expect(stateErrorIn(error)).toBeUndefined();
});

it('finds none in an error that is its own cause, in one that cannot be read, and behind what is no error', () => {
  const own = new Error('own');
  own.cause = own;
  const unreadable = Object.defineProperty(new Error('x'), 'cause', {
    get() {
      throw new Error('unreadable');
    },
  });
  const behind = caused({ cause: new RedisStateError('READONLY x') });
  for (const error of [own, unreadable, behind, undefined, 'READONLY']) expect(stateErrorIn(error)).toBeUndefined();
});

it('names three keys of a wrong type, and counts the others', () => {
  const keys = ['a', 'b', 'c', 'd', 'e'].map((key) => ({ key, expected: 'list', found: 'hash' }));
  const named = (count: number) => wrongKeysInWords(keys.slice(0, count));
  expect(named(1)).toBe('The key a has the wrong type: expected list, found hash');
  expect(named(3)).toMatch(
    /^The key a has .*; the key b has .*; the key c has the wrong type: expected list, found hash$/,
  );
  expect(named(4)).toMatch(/; the key c has [^;]*, and 1 more$/);
  expect(named(5)).toMatch(/; the key c has [^;]*, and 2 more$/);
  expect(named(0)).toMatch(/^A key of the queue/);
  expect(wrongKeysRemedy(keys)).toMatch(/^See it with `TYPE a`/);
  expect(wrongKeysRemedy([])).toMatch(/^Find it with `nest-job-queue doctor <queue>`/);
});

it('finds the error that parks a job among ten errors of one chain, and ends in a chain that has no end', () => {
  const parked = new Error('parked');
  let error: Error = parked;
  for (let depth = 0; depth < 10; depth++) {
    expect(isFrom(error, parked)).toBe(true);
    error = caused(error);
  }
  expect(isFrom(error, parked)).toBe(false);
  const own = new Error('own');
  own.cause = own;
  for (const each of [own, undefined, { cause: parked }]) expect(isFrom(each, parked)).toBe(false);
});
