#!/usr/bin/env node
// The command `npx nest-job-queue`.
import { main } from './cli/program.js';

// A reader that stops early (`| head`) is no error.
process.stdout.on('error', () => process.exit(0));
void run();

async function run(): Promise<void> {
  const code = await main(process.argv);
  // A connection to a frozen server would keep the process. The output is flushed first.
  process.stderr.write('', () => process.stdout.write('', () => process.exit(code)));
}
