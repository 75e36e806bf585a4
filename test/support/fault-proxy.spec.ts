// The proxy leads to whom a client's URL names, as the user and to the database that it names.
import { describe, expect, it } from '@jest/globals';
import { FaultProxy } from './fault-proxy.js';
import { startOwnRedis } from './own-redis.js';
import { connect } from './redis.js';

describe('the proxy of the faults', () => {
  it.each([
    ['redis://ada:se%40cret@redis.example.com:7000/2', /^redis:\/\/ada:se%40cret@127\.0\.0\.1:\d+\/2$/],
    ['redis://:secret@redis.example.com?db=2', /^redis:\/\/:secret@127\.0\.0\.1:\d+\?db=2$/],
    ['redis://[::1]/3', /^redis:\/\/127\.0\.0\.1:\d+\/3$/],
    ['redis://redis.example.com', /^redis:\/\/127\.0\.0\.1:\d+$/],
  ])('stands in for %s', async (url, expected) => {
    expect((await FaultProxy.start(url)).url).toMatch(expected);
  });

  it('lets a client in by its password, into its database', async () => {
    const server = await startOwnRedis({ args: ['--requirepass', 'secret'] });
    const direct = server.url.replace('//', '//:secret@') + '/2';
    const proxy = await FaultProxy.start(direct);
    await connect({}, proxy.url).set('which', 'two');
    expect(await connect({}, direct).get('which')).toBe('two');
  });

  it('refuses TLS', async () => {
    await expect(FaultProxy.start('rediss://redis.example.com')).rejects.toThrow(
      'expects a URL that begins with redis://, found rediss://',
    );
  });
});
