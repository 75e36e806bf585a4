// One Redis for the whole run. Test files share it and stay apart by queue name; nobody flushes it.
import { describeRedis, ensureRedis } from '../../scripts/redis-server.mjs';

export default async function globalSetup() {
  const redis = await ensureRedis({ quiet: true });
  globalThis.testRedis = redis;
  process.env.TEST_REDIS_URL = redis.url;
  process.stderr.write(`${describeRedis(redis)}\n`);
}
