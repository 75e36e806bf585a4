// node scripts/run-example.mjs NAME ARGS…
// Builds an example where its sources are newer, and runs its demo on the Redis that REDIS_URL names or on one started
// for it.
import { fileURLToPath } from 'node:url';
import { buildExample } from './build/build-example.mjs';

const NAMES = ['streams-article', 'reliable-queue'];

const [name, ...args] = process.argv.slice(2);
if (!NAMES.includes(name)) {
  console.error(`usage: npm run example -- ${NAMES.join(' | ')}`);
  process.exit(2);
}
await buildExample(name, 'demo.js');
const demo = fileURLToPath(new URL(`../examples/${name}/dist/demo.js`, import.meta.url));
// In this process, so that signals have one way less to go.
process.argv.splice(2, Infinity, 'node', demo, ...args);
await import('./redis/with-redis.mjs');
