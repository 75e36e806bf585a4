// node bench/slots/pings.mjs: what messages of Redis cost handlers that wait for a timer. Compares two bare loops: one
// sends a PING in each turn of the event loop in which a handler ends. Prints the shares of docs/internals/performance.md.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedisServer } from '../../scripts/redis/redis-server.mjs';
import { median } from '../report/stats.mjs';

const CONCURRENCIES = [1, 2, 5, 10, 20, 50];
const HANDLERS_MS = [1, 5, 20];
const ROUNDS = 3;
const ROUND_MS = 800;

/** Returns the handlers that ended in a second. */
async function rateOf({ concurrency, handlerMs }, onEnd) {
  const total = Math.ceil(ROUND_MS / handlerMs) * concurrency;
  let next = 0;
  const started = performance.now();
  const slot = async () => {
    while (next++ < total) {
      await sleep(handlerMs);
      onEnd();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, slot));
  return (total / (performance.now() - started)) * 1_000;
}

/** Returns a function that sends one PING for all its calls of a turn. */
function pinging(redis) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    queueMicrotask(() => {
      isAsked = false;
      void redis.ping();
    });
  };
}

const server = await startRedisServer();
const redis = new Redis(server.url);
for (const handlerMs of HANDLERS_MS) {
  for (const concurrency of CONCURRENCIES) {
    const [bare, pinged] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      bare.push(await rateOf({ concurrency, handlerMs }, () => {}));
      pinged.push(await rateOf({ concurrency, handlerMs }, pinging(redis)));
    }
    console.log(`${handlerMs} ms, ${concurrency} slots: ${(median(pinged) / median(bare)).toFixed(2)}`);
  }
}
redis.disconnect();
await server.stop();
