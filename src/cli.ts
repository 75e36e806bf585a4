#!/usr/bin/env node
// The command `npx nest-job-queue`.
import { main } from './cli/program.js';

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', () => process.exit(0));
void run();

async function run(): Promise<void> {
  process.exitCode = await main(process.argv);
}
