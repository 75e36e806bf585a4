// node scripts/run-example.mjs NAME ARGS…: builds an example if its sources are newer, and runs its demo. Uses the
// Redis of REDIS_URL, or starts one and stops it afterwards.
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
// Runs in this process, so that signals have fewer hops.
process.argv.splice(2, Infinity, 'node', demo, ...args);
await import('./redis/with-redis.mjs');
