// A producer in a new process, such as a function or a command. It enqueues once, and then 2,000 times, one after the other. Redis has the
// scripts already. Arguments: the contestant; the URL of Redis; the name of the queue.
import { loadPeer } from '../peers/index.mjs';
import { payload } from '../fleet/payload.mjs';

const MORE = 2_000;
const [contestant, url, queue] = process.argv.slice(2);

const peer = await loadPeer(contestant);
const options = { url, queue, keep: 1_000, events: true, concurrency: 1 };
const importedMs = performance.now();
const session = await peer.open(options);
await session.enqueueOne(payload(0));
const firstMs = performance.now() - importedMs;
const rssOfOne = residentMb();
const began = performance.now();
for (let n = 1; n <= MORE; n++) await session.enqueueOne(payload(n));
const perSecond = (MORE * 1_000) / (performance.now() - began);
process.stdout.write(JSON.stringify({ firstMs, rssOfOne, perSecond, rssOfMany: residentMb() }), () =>
  process.exit(0),
);

function residentMb() {
  globalThis.gc();
  return process.memoryUsage().rss / 2 ** 20;
}
