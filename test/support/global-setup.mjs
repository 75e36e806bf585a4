// One Redis for the whole run. Test files share it, and stay apart by database and queue name, so no test may flush it.
import { describeRedis, ensureRedis } from '../../scripts/redis/redis-server.mjs';

const DATABASES = 4_096;

export default async function globalSetup() {
  const redis = await ensureRedis({ quiet: true, args: ['--databases', String(DATABASES)] });
  globalThis.testRedis = redis;
  process.env.TEST_REDIS_URL = redis.url;
  if (redis.pid !== undefined) process.env.TEST_REDIS_DATABASES = String(DATABASES);
  process.stderr.write(`${describeRedis(redis)}\n`);
}
