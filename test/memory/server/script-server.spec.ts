// The server around the scripts: waits, channels, and the keys that expire.
import { expect, it } from '@jest/globals';
import { LuaTable } from '#memory/lua/values.js';
import { ScriptServer } from '#memory/server/script-server.js';

function newServer() {
  const clock = { now: 1_000 };
  const server = new ScriptServer(() => clock.now);
  const send = (line: string) => {
    const [name = '', ...args] = line.split(' ');
    const reply = server.send(name, args);
    return reply instanceof LuaTable ? reply.items : reply;
  };
  const taken: string[] = [];
  /** Waits, and notes the name and the marker once it ends. */
  const wait = (name: string, ...keys: string[]) =>
    server.wait({
      keys,
      worker: name,
      end: (key, member, score) => taken.push(`${name} ${key} ${member} ${score}`),
    });
  return { clock, server, send, taken, wait };
}

it('gives a marker to the wait that came first, after the step that set it', () => {
  const { server, send, taken, wait } = newServer();
  wait('a', 'wake');
  wait('b', 'wake');
  server.step(() => {
    send('ZADD wake 5 m');
    expect(taken).toEqual([]);
  });
  expect(taken).toEqual(['a wake m 5']);
  send('ZADD wake 6 n 7 o');
  expect(taken).toEqual(['a wake m 5', 'b wake n 6']);
  expect(send('ZRANGE wake 0 -1')).toEqual(['o']);
});

it('gives a marker that is there at once, by the order of the keys', () => {
  const { send, taken, wait } = newServer();
  send('ZADD second 1 s');
  send('ZADD first 2 f');
  wait('a', 'first', 'second');
  wait('b', 'first', 'second');
  wait('c', 'first', 'second');
  expect(taken).toEqual(['a first f 2', 'b second s 1']);
});

it('gives nothing to a wait that has ended, or whose process is gone', () => {
  const { server, send, taken, wait } = newServer();
  wait('a', 'wake')();
  wait('b', 'wake');
  server.disconnect('b');
  send('ZADD wake 1 m');
  expect(taken).toEqual([]);
  expect(send('ZCARD wake')).toBe(1);
});

it('delivers messages after the step, each to those who listen then', () => {
  const { server, send } = newServer();
  const heard: string[] = [];
  const end = server.subscribe('events', (message) => heard.push(message));
  server.step(() => {
    expect(send('PUBLISH events one')).toBe(1);
    expect(send('PUBLISH others one')).toBe(0);
    expect(heard).toEqual([]);
  });
  expect([heard, send('PUBSUB NUMSUB events others')]).toEqual([['one'], ['events', 1, 'others', 0]]);
  end();
  expect([send('PUBLISH events two'), heard]).toEqual([0, ['one']]);
});

it('forgets keys that have expired, although nobody asks for them', () => {
  const { clock, server, send } = newServer();
  for (let i = 0; i < 1_000; i++) send(`SET key-${i} v PX ${i < 900 ? 10 : 100}`);
  clock.now += 50;
  for (let step = 0; step < 200; step++) send('TIME');
  expect(server.keys.size).toBe(100);
});

it('takes the lifetime of a key from it, and the key with its last item', () => {
  const { clock, send } = newServer();
  send('HSET h f v');
  send('PEXPIRE h 10');
  send('HDEL h f');
  send('HSET h g w');
  clock.now += 20;
  expect([send('HGETALL h'), send('PTTL h')]).toEqual([['g', 'w'], -1]);
});

it('throws for a command that it does not know', () => {
  const { send } = newServer();
  expect(() => send('FLUSHALL')).toThrow("ERR unknown command 'FLUSHALL'");
  expect(() => send('toString')).toThrow('ERR unknown command');
  expect(() => send('XREAD STREAMS s 0')).toThrow('ERR unknown command');
});
