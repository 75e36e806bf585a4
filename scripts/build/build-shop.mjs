// Builds the shop if a source is newer than its build.
import { buildExample } from './build-example.mjs';

await buildExample('shop', 'main.js');
