// The proxy's URL keeps the user and the database of the client's URL.
import { describe, expect, it } from '@jest/globals';
import { FaultProxy } from './fault-proxy.js';
import { startOwnRedis } from '../redis/own-redis.js';
import { connect } from '../redis/redis.js';
import { eventually } from './wait.js';

describe('the proxy of the faults', () => {
  it.each([
    ['redis://ada:se%40cret@redis.example.com:7000/2', /^redis:\/\/ada:se%40cret@127\.0\.0\.1:\d+\/2$/],
    ['redis://:secret@redis.example.com?db=2', /^redis:\/\/:secret@127\.0\.0\.1:\d+\?db=2$/],
    ['redis://[::1]/3', /^redis:\/\/127\.0\.0\.1:\d+\/3$/],
    ['redis://redis.example.com', /^redis:\/\/127\.0\.0\.1:\d+$/],
  ])('imitates %s', async (url, expected) => {
    expect((await FaultProxy.start(url)).url).toMatch(expected);
  });

  it('lets a client in by its password, into its database', async () => {
    const server = await startOwnRedis({ args: ['--requirepass', 'secret'] });
    const direct = server.url.replace('//', '//:secret@') + '/2';
    const proxy = await FaultProxy.start(direct);
    await connect({}, proxy.url).set('which', 'two');
    expect(await connect({}, direct).get('which')).toBe('two');
  });

  it('shares the bandwidth of the link, and changes nothing that passes', async () => {
    const proxy = await FaultProxy.start();
    const [one, other] = [connect({}, proxy.url), connect({}, proxy.url)];
    await Promise.all([one.ping(), other.ping()]);
    const text = Array.from({ length: 5_000 }, (_, i) => `${i}`.padStart(10)).join('');
    const key = `bandwidth-${process.pid}`;
    proxy.limitBandwidth(100_000);
    const begun = performance.now();
    await one.set(key, text, 'EX', 60); // half a second up, and then twice as much down
    expect(await Promise.all([one.get(key), other.get(key)])).toEqual([text, text]);
    expect(performance.now() - begun).toBeGreaterThan(1_300);
    expect(proxy.passed.down).toBeGreaterThan(2 * text.length);
    expect(proxy.struck).toBeGreaterThan(2);
    const waiting = one.get(key);
    await eventually(() => proxy.waiting > 0);
    proxy.limitBandwidth();
    expect(await waiting).toBe(text);
  });

  it('counts the requests that it keeps from their answer, and no others', async () => {
    const proxy = await FaultProxy.start();
    const client = connect({ retryStrategy: null }, proxy.url);
    client.on('error', () => undefined);
    await client.ping();
    expect([proxy.struck, proxy.waiting]).toEqual([0, 0]);
    const cut = client.ping().catch(() => 'cut');
    await proxy.asked();
    expect(proxy.waiting).toBe(1);
    proxy.cut();
    expect(await cut).toBe('cut');
    expect([proxy.struck, proxy.waiting]).toEqual([1, 0]);
  });

  it.each<[what: string, harm: (proxy: FaultProxy) => unknown]>([
    ['swallowed', (proxy) => proxy.pause()],
    ['delayed', (proxy) => proxy.delay(1)],
    ['lost with its reply', (proxy) => void proxy.loseReplyTo('PING')],
    ['lost with all replies', (proxy) => void proxy.loseReplies()],
  ])('counts a request that is %s', async (_, harm) => {
    const proxy = await FaultProxy.start();
    const client = connect({ retryStrategy: null }, proxy.url);
    client.on('error', () => undefined);
    await client.ping();
    harm(proxy);
    expect(proxy.struck).toBe(0);
    client.call('PING').catch(() => undefined);
    await eventually(() => proxy.struck === 1);
    client.disconnect();
  });

  it('refuses TLS', async () => {
    await expect(FaultProxy.start('rediss://redis.example.com')).rejects.toThrow(
      'expects a URL that begins with redis://, found rediss://',
    );
  });
});
