// A CommonJS app that installed the package (compiled and run by scripts/check-package.mjs).
import assert = require('node:assert');
import library = require('nest-job-queue');

assert.ok(library);
console.log(`require: ${Object.keys(library).length} exports`);
