#!/usr/bin/env node
// The command `npx nest-job-queue`.
import { main } from './cli/program.js';

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', () => process.exit(0));
void run();

async function run(): Promise<void> {
  const code = await main(process.argv);
  // A connection to a frozen server would keep the process. What was written goes out first.
  process.stderr.write('', () => process.stdout.write('', () => process.exit(code)));
}
