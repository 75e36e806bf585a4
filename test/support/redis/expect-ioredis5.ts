// Fails a test file whose library or tests run on another ioredis than the oldest supported one.
import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { isOfOurCopy } from '#queue/transport/script-runner.js';

const require = createRequire(import.meta.url);
const { Redis: Oldest } = require('ioredis5') as typeof import('ioredis');
const client = new Redis({ lazyConnect: true });

if (Redis !== Oldest || !isOfOurCopy(client)) {
  throw new Error(
    'expect-ioredis5: expected ioredis5 in the library and in the tests, found another copy of ioredis.',
  );
}
client.disconnect();
