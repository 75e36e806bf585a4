// A worker process of the flow benchmark. It reports the start and the end of each job. Its wall clock may be wrong by
// `clockOffsetMs`.
import { createRequire } from 'node:module';
import { monotonicUs } from '../fleet/payload.mjs';

const {
  url,
  queue: name,
  concurrency,
  handlerMs = 0,
  clockOffsetMs = 0,
  tellsAll = true,
} = JSON.parse(process.argv[2]);

if (clockOffsetMs !== 0) {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...given) {
      super(...(given.length > 0 ? given : [RealDate.now() + clockOffsetMs]));
    }

    static now() {
      return RealDate.now() + clockOffsetMs;
    }
  };
}

// Imported after the clock was changed, so that the library sees only the wrong one.
const { JobQueue, Worker } = await import('../../dist/esm/core.js');
const { Redis } = createRequire(new URL('../../package.json', import.meta.url))('ioredis');
const redis = new Redis(url, { maxRetriesPerRequest: null });
const queue = new JobQueue(redis, name);

async function handle({ payload }) {
  const startedUs = monotonicUs();
  if (handlerMs > 0) await new Promise((resolve) => setTimeout(resolve, handlerMs));
  if (tellsAll || payload.tell) process.send({ run: { startedUs, endedUs: monotonicUs(), payload } });
}

const worker = new Worker([{ queue, concurrency, handlers: { [name]: handle } }]);
await worker.start();
process.send({ ready: true });
process.on('disconnect', async () => {
  await worker.stop();
  queue.close();
  redis.disconnect();
  process.exit(0);
});
