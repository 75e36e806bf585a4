// Builds the shop where a source is newer than what was built.
import { buildExample } from './build-example.mjs';

await buildExample('shop', 'main.js');
