// The example shop, started as one starts the demo server of the Redis documentation's job-queue pattern.
import { startOwnRedis, type OwnRedis } from '../redis/own-redis.js';
import { buildShop, shopData, startProcess } from '../browser/shop.js';

/** Returns its URL, the token that opens its page, and its Redis. */
export async function startPatternDemo(): Promise<{ url: string; token: string; redis: OwnRedis }> {
  buildShop();
  const redis = await startOwnRedis();
  const { hostname, port } = new URL(redis.url);
  // Exactly the flags that the demo has.
  const flags = {
    host: '127.0.0.1',
    port: '0',
    'redis-host': hostname,
    'redis-port': port,
    'visibility-ms': '1000',
    workers: '0',
    'queue-name': 'demo',
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const env = { SHOP_DATA: shopData(), REDIS_URL: '' };
  const shop = startProcess('node', ['examples/shop/dist/main.js', ...args], env);
  const [, url, token] = await shop.prints(/The shop is open: (\S+)\/\?token=(\S+)/);
  return { url: url!, token: token!, redis };
}
