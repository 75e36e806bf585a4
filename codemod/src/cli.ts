#!/usr/bin/env node
// npx nest-job-queue-codemod bullmq src --dry-run
import { EXIT } from './report.js';
import { run } from './run.js';

try {
  process.exitCode = run(process.argv.slice(2), {
    out: (text) => process.stdout.write(text),
    error: (text) => process.stderr.write(text),
    progress: (text) => process.stderr.write(text),
  });
} catch (error) {
  process.stderr.write(`nest-job-queue-codemod: ${(error as Error).message}.\n`);
  process.exitCode = EXIT.failed;
}
