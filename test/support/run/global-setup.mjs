// One Redis, and one bundle of the command line, for the whole run. Test files share the Redis, and stay apart by database
// and queue name, so no test may flush it.
import { bundle } from '../bundle.mjs';
import { openTempFolder } from './temp-folder.mjs';
import { describeRedis, ensureRedis } from '../../../scripts/redis/redis-server.mjs';

const DATABASES = 4_096;

export default async function globalSetup() {
  globalThis.testFolder = openTempFolder();
  const [redis] = await Promise.all([
    ensureRedis({ quiet: true, args: ['--databases', String(DATABASES)] }).catch(endWithAdvice),
    bundle('src/cli.ts', '.cache/cli/cli.mjs', () => false),
  ]);
  globalThis.testRedis = redis;
  process.env.TEST_REDIS_URL = redis.url;
  if (redis.pid !== undefined) process.env.TEST_REDIS_DATABASES = String(DATABASES);
  process.stderr.write(`${describeRedis(redis)}\n`);
}

/** Ends the run with the line that says what to install, because Jest would add a stack. */
function endWithAdvice(error) {
  process.stderr.write(`${error.message.split('\n')[0]}\n`);
  process.exit(1);
}
