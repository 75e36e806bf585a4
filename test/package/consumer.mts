// An ES-module app that installed the package (compiled and run by scripts/check-package.mjs).
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as imported from 'nest-job-queue';

const required = createRequire(import.meta.url)('nest-job-queue') as typeof imported;

assert.deepEqual(new Set(Object.keys(required)), new Set(Object.keys(imported)));

// One copy for import and require, wherever Node can require an ES module: two would mean two injection tokens.
if (process.features.require_module) {
  for (const [name, value] of Object.entries(imported)) {
    assert.equal((required as Record<string, unknown>)[name], value, `${name} exists twice`);
  }
}
console.log(`import: ${Object.keys(imported).length} exports`);
